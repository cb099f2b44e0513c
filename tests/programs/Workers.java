// Shows: nothing by itself: works on several threads until it is killed, without a break if it is told `busy`, and prints how often
// it has called tick. See tests/tests/whole/live.rs.
// not-run
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

class Workers {
    static volatile long sink;

    static int tick(int n) {
        return n + 1;
    }

    static long work(Random random) {
        int[] numbers = random.ints(100).toArray();
        Arrays.sort(numbers);
        Map<String, Integer> map = new HashMap<>();
        for (int number : numbers) map.merge("k" + number % 10, 1, Integer::sum);
        try {
            return Integer.parseInt(map.size() % 2 == 0 ? "7" : "x");
        } catch (NumberFormatException e) {
            return deep(20);
        }
    }

    static int deep(int n) {
        return n == 0 ? 0 : deep(n - 1) + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        boolean aborts = List.of(args).contains("abort"), busy = List.of(args).contains("busy");
        if (aborts) System.loadLibrary("upcalls");
        for (int i = 0; i < 2; i++) {
            Random random = new Random(i);
            Thread thread = new Thread(() -> {
                for (int done = 0; ; done++) {
                    sink += work(random);
                    if (!busy && done % 16 == 0) LockSupport.parkNanos(2_000_000);
                }
            }, "worker-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        for (int n = 0, lines = 0; ; lines++) {
            for (int i = 0; i < 1000; i++) n = tick(n);
            System.out.println(n);
            if (aborts && lines == 20) abort();
            Thread.sleep(1);
        }
    }

    static native void abort();
}
