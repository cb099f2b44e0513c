// Shows: nothing by itself: a little of everything that the agent has to do with, for tests/tests/whole/faults.rs.
// not-run
import java.util.function.IntUnaryOperator;

class Plain {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int fails(int n) {
        try {
            if (n % 2 == 0) throw new IllegalArgumentException("even");
            return n;
        } catch (IllegalArgumentException e) {
            return -n;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int offset = args.length;
        IntUnaryOperator twice = n -> 2 * n + offset;
        int[] sums = new int[3];
        Thread[] threads = new Thread[sums.length];
        for (int i = 0; i < threads.length; i++) {
            int mine = i;
            threads[i] = new Thread(() -> {
                for (int n = 0; n < 10; n++) sums[mine] += twice.applyAsInt(fails(n + mine)) + fib(mine + 5);
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        for (int sum : sums) System.out.println("sum " + sum);
        System.exit(7);
    }
}
