// Shows: threads that are stopped (Thread.stop, JDK 17) when they have just begun, with long names. See tests/tests/whole/overflow.rs.
// not-run
import java.util.Random;

class Stops {
    static volatile int sink;

    static int step(int i) {
        return 2 * i + Integer.toString(i).length();
    }

    static void steps(int count) {
        for (int i = 0; i < count; i++) sink += step(i);
    }

    @SuppressWarnings({"deprecation", "removal"})
    public static void main(String[] args) throws InterruptedException {
        Random random = new Random(1);
        for (long end = System.nanoTime() + 3_000_000_000L; System.nanoTime() < end; ) {
            StringBuilder name = new StringBuilder();
            while (name.length() < 500) name.append((char) ('a' + random.nextInt(26)));
            Thread thread = new Thread(() -> steps(2000), name.toString());
            thread.setUncaughtExceptionHandler((stopped, error) -> steps(20));
            thread.start();
            long until = System.nanoTime() + random.nextInt(60_000);
            while (System.nanoTime() < until) Thread.onSpinWait();
            thread.stop();
            thread.join();
        }
        System.out.println("Stops");
    }
}
