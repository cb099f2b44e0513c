// Shows: threads that have nothing to do with each other, each with a method cache of its own, and one that gets the tree of another.
// expect: Cores.fib(I)I calls=41805
// expect: Cores.measured()I calls=5
class Cores {
    // 2 F(19) - 1 = 8361 calls for n = 18, five times.
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int near(int x) {
        return x + 1;
    }

    static int twice(int x) {
        return near(x) + near(x + 1);
    }

    static int thrice(int x) {
        return twice(x) + near(x);
    }

    static int often(int x) {
        return thrice(x) * twice(x);
    }

    static int far(int x) {
        int sum = 0;
        for (int i = 0; i < 3; i++) sum += often(x) * i;
        return sum;
    }

    static int thrower(int x) {
        if (x % 3 == 0) throw FIXED;
        return near(x);
    }

    static final RuntimeException FIXED = new RuntimeException("fixed");

    static int measured() {
        int sum = fib(18);
        for (int i = 0; i < 5000; i++) {
            try {
                sum += far(i) + thrower(i);
            } catch (RuntimeException e) {
                sum += near(i);
            }
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        int expected = measured(); // everything is loaded now
        int[] found = new int[4];
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            int mine = i;
            threads[i] = new Thread(() -> found[mine] = measured());
        }
        for (int i = 0; i < 3; i++) threads[i].start();
        for (int i = 0; i < 3; i++) threads[i].join();
        threads[3].start();
        threads[3].join();
        for (int f : found) if (f != expected) throw new AssertionError(f + " instead of " + expected);
        System.out.println(expected);
    }
}
