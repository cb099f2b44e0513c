package kernels;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Runs one kernel: {@code Driver <kernel> <warm-up iterations> <timed iterations>}.
 *
 * <p>Prints one line per timed iteration: the CPU time of this thread in nanoseconds, and the checksum. Thread CPU
 * time leaves out the compiler and collector threads and time spent waiting for a core.
 */
public final class Driver {
    static final Map<String, Supplier<Kernel>> KERNELS = new TreeMap<>(Map.of(
            "Ray", Ray::new,
            "Rec", Rec::new,
            "Vis", Vis::new,
            "Lzw", Lzw::new,
            "Interp", Interp::new,
            "Coll", Coll::new,
            "Asm", Asm::new,
            "Num", Num::new));

    private Driver() {}

    public static void main(String[] args) {
        if (args.length != 3 || !KERNELS.containsKey(args[0])) {
            System.err.println("usage: Driver <kernel> <warm-up iterations> <timed iterations>; kernels: "
                    + String.join(" ", KERNELS.keySet()));
            System.exit(2);
        }
        Kernel kernel = KERNELS.get(args[0]).get();
        int warmUp = Integer.parseInt(args[1]);
        int timed = Integer.parseInt(args[2]);
        for (int i = 0; i < warmUp; i++) {
            kernel.run();
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long[] nanos = new long[timed];
        long[] sums = new long[timed];
        for (int i = 0; i < timed; i++) {
            long start = threads.getCurrentThreadCpuTime();
            sums[i] = kernel.run();
            nanos[i] = threads.getCurrentThreadCpuTime() - start;
        }
        for (int i = 0; i < timed; i++) {
            System.out.println(nanos[i] + " " + sums[i]);
        }
    }
}
