package kernels;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Runs one kernel in several threads at once, each with data of its own: {@code Scaling <kernel> <threads> <warm-up
 * iterations> <timed iterations>}.
 *
 * <p>Prints the wall-clock time of a timed iteration in nanoseconds, from the first thread's begin to the last one's end, and the
 * sum of all checksums. With as many free cores as threads, it takes as long with several as with one if they share nothing.
 */
public final class Scaling {
    private Scaling() {}

    public static void main(String[] args) throws Exception {
        if (args.length != 4 || !Driver.KERNELS.containsKey(args[0])) {
            System.err.println("usage: Scaling <kernel> <threads> <warm-up iterations> <timed iterations>; kernels: "
                    + String.join(" ", Driver.KERNELS.keySet()));
            System.exit(2);
        }
        int count = Integer.parseInt(args[1]);
        int warmUp = Integer.parseInt(args[2]);
        int timed = Integer.parseInt(args[3]);
        AtomicLong sum = new AtomicLong();
        CyclicBarrier warm = new CyclicBarrier(count + 1);
        Thread[] threads = new Thread[count];
        for (int t = 0; t < count; t++) {
            threads[t] = new Thread(() -> {
                Kernel kernel = Driver.KERNELS.get(args[0]).get();
                for (int i = 0; i < warmUp; i++) sum.addAndGet(kernel.run());
                try {
                    warm.await();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                for (int i = 0; i < timed; i++) sum.addAndGet(kernel.run());
            });
            threads[t].start();
        }
        warm.await();
        long start = System.nanoTime();
        for (Thread thread : threads) thread.join();
        System.out.println((System.nanoTime() - start) / timed + " " + sum);
    }
}
