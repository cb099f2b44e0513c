// Shows: how much of the processor's time an exception takes to leave constructors that nest as deep as asked, and methods that
// do; the shortest of ten times each, in microseconds.
// not-run
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class Chains {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    final Chains next;

    Chains(int left) {
        check(left);
        next = new Chains(left - 1);
    }

    static int call(int left) {
        check(left);
        return 1 + call(left - 1);
    }

    static void check(int left) {
        if (left == 0) throw new IllegalStateException();
    }

    static long timed(Runnable work) {
        long shortest = Long.MAX_VALUE;
        for (int turn = 0; turn < 10; turn++) {
            long begin = THREADS.getCurrentThreadCpuTime();
            try {
                work.run();
            } catch (IllegalStateException expected) {
                shortest = Math.min(shortest, THREADS.getCurrentThreadCpuTime() - begin);
            }
        }
        return shortest / 1000;
    }

    public static void main(String[] args) {
        int depth = Integer.parseInt(args[0]);
        System.out.println(timed(() -> new Chains(depth)) + " " + timed(() -> call(depth)));
    }
}
