// Shows: a daemon thread that is still in the initialiser of a class of threads, one of which runs, when the VM ends. To ask that class for a field would
// be to wait for its initialiser.
// not-run
import java.util.concurrent.CountDownLatch;

class InitialisesAtExit {
    /** Both threads, one in run, the other in the class initialiser. It is not theirs: main would wait for that class. */
    static final CountDownLatch resting = new CountDownLatch(2);

    static class Worker extends Thread {
        static {
            Worker first = new Worker();
            first.setDaemon(true);
            first.start();
            rest();
        }

        @Override
        public void run() {
            rest();
        }
    }

    static void rest() {
        resting.countDown();
        try {
            Thread.sleep(100_000);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread initialises = new Thread(() -> new Worker());
        initialises.setDaemon(true);
        initialises.start();
        resting.await();
        // What is left of their ways is a few bytecodes.
        Thread.sleep(100);
        System.out.println("main ends");
    }
}
