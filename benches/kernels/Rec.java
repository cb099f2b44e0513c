package kernels;

/** Recursion and nothing else: Fibonacci, Ackermann, and Takeuchi's function. */
final class Rec implements Kernel {
    private static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    private static int ackermann(int m, int n) {
        if (m == 0) {
            return n + 1;
        }
        return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
    }

    private static int tak(int x, int y, int z) {
        return y < x ? tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y)) : z;
    }

    @Override
    public long run() {
        long sum = 0;
        for (int i = 0; i < 24; i++) {
            sum = sum * 31 + fib(28 + i % 2);
            sum = sum * 31 + ackermann(2, 250 + i);
            sum = sum * 31 + tak(16 + i % 2, 9, 4);
        }
        return sum;
    }
}
