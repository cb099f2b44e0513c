// Shows: lambdas and method references of every kind, captured and not, linked in the measured code and then hot.
// expect: Lambdas.lambda$measured$0(I)I calls=20000 thrown=0 bytecodes=80000
class Lambdas {
    int base = 3;

    static int twice(int x) {
        return 2 * x;
    }

    int plus(int x) {
        return base + x;
    }

    static int measured() {
        java.util.function.IntUnaryOperator constant = x -> x + 1;
        Lambdas self = new Lambdas();
        int captured = self.base;
        java.util.function.IntUnaryOperator[] all = {
            constant, x -> x + captured, Lambdas::twice, self::plus, x -> self.plus(twice(x)),
        };
        java.util.function.Supplier<Lambdas> maker = Lambdas::new;
        java.util.function.ToIntFunction<String> length = String::length;
        java.util.function.IntFunction<int[]> array = int[]::new;
        Runnable failing = () -> { throw new IllegalStateException(); };
        int sum = 0;
        for (int i = 0; i < 20000; i++) {
            sum += constant.applyAsInt(i);
            sum += all[1 + i % 4].applyAsInt(i);
        }
        for (int i = 0; i < 2000; i++) {
            sum += maker.get().base + length.applyAsInt("four") + array.apply(3).length;
            try {
                failing.run();
            } catch (IllegalStateException e) {
                sum++;
            }
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Lambdas " + measured());
    }
}
