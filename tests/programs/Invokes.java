// Shows: invokestatic, invokespecial (constructor, private, super), invokevirtual (mono-, bi- and megamorphic, final),
// invokeinterface, interface default, static and private methods, super default calls, bridges and varargs.
// expect: Invokes$Shape.scale(I)I calls=30000 thrown=0
// expect: Invokes$Shape.twice(I)I calls=30000 thrown=0
class Invokes {
    interface Shape {
        int area();

        default int scale(int by) {
            return twice(area()) * by;
        }

        private int twice(int x) {
            return 2 * x;
        }

        static int unit() {
            return 1;
        }
    }

    static class Square implements Shape {
        final int side;

        Square(int side) {
            this.side = side;
        }

        public int area() {
            return side * side;
        }

        Object self() {
            return this;
        }
    }

    static class Tall extends Square {
        Tall(int side) {
            super(side + 1);
        }

        public int area() {
            return super.area() + hidden();
        }

        private int hidden() {
            return 3;
        }

        @Override
        Tall self() { // with a bridge
            return this;
        }

        @Override
        public int scale(int by) {
            return Shape.unit() + super.scale(by);
        }
    }

    static class A extends Square { A() { super(2); } public int area() { return 5; } }
    static class B extends Square { B() { super(3); } public int area() { return side; } }
    static final class C extends Square { C() { super(4); } public int area() { return side + super.area(); } }

    static int sum(int... values) {
        int sum = 0;
        for (int v : values) sum += v;
        return sum;
    }

    static int measured() {
        Square[] all = {new Square(1), new Tall(2), new A(), new B(), new C()};
        int sum = 0;
        for (int i = 0; i < 30000; i++) {
            Square s = all[i % all.length];
            sum += s.area();
            sum ^= s.scale(i & 3);
            if (s.self() == s) sum++;
        }
        return sum + sum(1, 2, 3) + sum();
    }

    public static void main(String[] args) {
        System.out.println("Invokes " + measured());
    }
}
