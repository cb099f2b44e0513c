// Shows: pattern switches over sealed types with guards and nested record patterns, switch on strings with null, MatchException.
// expect: Patterns.eval(LPatterns$Expr;)I calls=28000 thrown=0
class Patterns {
    sealed interface Expr permits Num, Add, Neg, Mul { }
    record Num(int v) implements Expr { }
    record Add(Expr a, Expr b) implements Expr { }
    record Neg(Expr e) implements Expr { }
    record Mul(Expr a, Expr b) implements Expr { }
    enum Kind { A, B, C }

    static int eval(Expr e) {
        return switch (e) {
            case Num n -> n.v;
            case Neg(Num(var v)) when v > 2 -> -v;
            case Neg n -> -eval(n.e);
            case Add(Num(var a), Num(var b)) -> a + b;
            case Add(var a, var b) -> eval(a) + eval(b);
            case Mul(Expr a, Expr b) -> eval(a) * eval(b);
        };
    }

    static int kind(Object o) {
        return switch (o) {
            case null -> 0;
            case Kind k when k == Kind.A -> 1;
            case Kind.B -> 2;
            case Kind k -> 3;
            case Integer i when i > 10 -> 4;
            case Integer i -> i;
            case String s -> s.length();
            case int[] a -> a.length;
            default -> -1;
        };
    }

    record Throwing(int x) {
        public int x() {
            if (x % 2 == 0) throw new IllegalStateException();
            return x;
        }
    }

    static int body() {
        Expr e = new Add(new Mul(new Num(3), new Neg(new Num(1))), new Add(new Num(1), new Num(2)));
        Expr f = new Neg(new Num(7));
        int sum = 0;
        for (int i = 0; i < 4000; i++) sum += eval(e) + eval(f);
        Object[] some = {null, Kind.A, Kind.B, Kind.C, 5, 50, "abc", new int[2], 1L};
        for (int i = 0; i < 10000; i++) sum += kind(some[i % some.length]);
        for (int i = 0; i < 1000; i++) {
            try {
                Object o = new Throwing(i);
                if (o instanceof Throwing(var x)) sum += x;
            } catch (MatchException m) {
                sum++;
            }
        }
        return sum;
    }

    static int measured() {
        return body();
    }

    public static void main(String[] args) {
        body(); // loads and links: Cold, Lambdas and MethodHandles show that
        System.out.println("Patterns " + measured());
    }
}
