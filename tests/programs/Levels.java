// Shows: how much of the processor's time calls of more methods than a node has slots take near the first method of a thread, and as
// deep as asked; the shortest of ten times each, in microseconds.
// not-run
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class Levels {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    static int down(int levels) {
        return levels == 0 ? calls() : down(levels - 1);
    }

    static int calls() {
        int sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += a() + b() + c() + d() + e() + f() + g() + h() + j() + k() + l() + m() + n() + o() + p() + q() + r() + s() + t() + u();
        }
        return sum;
    }

    static int a() { return 1; }
    static int b() { return 1; }
    static int c() { return 1; }
    static int d() { return 1; }
    static int e() { return 1; }
    static int f() { return 1; }
    static int g() { return 1; }
    static int h() { return 1; }
    static int j() { return 1; }
    static int k() { return 1; }
    static int l() { return 1; }
    static int m() { return 1; }
    static int n() { return 1; }
    static int o() { return 1; }
    static int p() { return 1; }
    static int q() { return 1; }
    static int r() { return 1; }
    static int s() { return 1; }
    static int t() { return 1; }
    static int u() { return 1; }

    static long timed(int levels) {
        long shortest = Long.MAX_VALUE;
        for (int turn = 0; turn < 10; turn++) {
            long begin = THREADS.getCurrentThreadCpuTime();
            down(levels);
            shortest = Math.min(shortest, THREADS.getCurrentThreadCpuTime() - begin);
        }
        return shortest / 1000;
    }

    public static void main(String[] args) {
        System.out.println(timed(10) + " " + timed(Integer.parseInt(args[0])));
    }
}
