// Shows: a thread that waits for the monitor of a synchronized method while cprof leaves and comes again, and enters the method then.
// not-run
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;

public class Waits {
    static CountDownLatch held;
    static CountDownLatch released;
    static Thread waiting;
    static volatile int sum;

    synchronized void enter(int times) {
        for (int i = 0; i < times; i++) sum += step(i);
    }

    int step(int i) {
        return i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 3;
    }

    static void hold(Waits target) {
        synchronized (target) {
            held.countDown();
            for (;;) {
                try {
                    released.await();
                    return;
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
        }
    }

    static int work(int times) {
        int result = 0;
        for (int i = 0; i < times; i++) result += i;
        return result;
    }

    static Object requested(String what) throws Exception {
        if (what.equals("hold")) {
            Waits target = new Waits();
            held = new CountDownLatch(1);
            released = new CountDownLatch(1);
            new Thread(() -> hold(target)).start();
            held.await();
            waiting = new Thread(() -> target.enter(300));
            waiting.start();
            while (waiting.getState() != Thread.State.BLOCKED) Thread.sleep(1);
            return "held";
        }
        if (what.equals("release")) {
            released.countDown();
            waiting.join();
            return sum;
        }
        int calls = Integer.parseInt(what);
        for (int i = 0; i < calls; i++) work(10);
        return calls;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(requested(line));
        }
    }
}
