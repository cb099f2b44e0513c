import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Ends badly in every way but a crash: a thread dies, memory runs out and is caught, a shutdown hook runs, main throws. */
public class Uncaught {
    public static void main(String[] args) throws InterruptedException {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook"), "hook"));
        Thread dying = new Thread(() -> recurse(new AtomicInteger(), 0), "dying");
        dying.setUncaughtExceptionHandler((thread, thrown) -> System.out.println(thread.getName() + " died of " + thrown.getClass().getName()));
        dying.start();
        dying.join();
        List<long[]> hoard = new ArrayList<>();
        try {
            while (true) {
                hoard.add(new long[2_000_000]);
            }
        } catch (OutOfMemoryError e) {
            hoard.clear();
            System.out.println("out of memory");
        }
        throw new IllegalStateException("the end", new RuntimeException("its cause"));
    }

    private static int recurse(AtomicInteger depth, int sum) {
        return recurse(depth, sum + depth.incrementAndGet()) + 1;
    }
}
