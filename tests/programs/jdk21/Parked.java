// Shows: nothing by itself: virtual threads that are parked when cprof comes; tests/tests/whole/attach.rs attaches to it. It goes on when it has
// read a line, and ends when its standard input does.
// not-run
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;

class Parked {
    static final int THREADS = 20;

    static void parked(CountDownLatch until) {
        try {
            until.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        CountDownLatch until = new CountDownLatch(1);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) threads[i] = Thread.ofVirtual().start(() -> parked(until));
        for (Thread thread : threads) while (thread.getState() != Thread.State.WAITING) Thread.sleep(1);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            until.countDown();
            for (Thread thread : threads) thread.join();
            System.out.println("done");
        }
    }
}
