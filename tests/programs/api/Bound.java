import cprof.CProf;
import java.util.concurrent.CountDownLatch;

/** Virtual threads: some wait while another asks for a snapshot, and one ends the program. */
class Bound {
    static void await(CountDownLatch go) {
        try {
            go.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        late();
    }

    static void late() {}

    /** Thread.startVirtualThread, which the oldest JDKs do not have. */
    static Thread start(Runnable run) throws ReflectiveOperationException {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run);
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        Thread[] waiting = new Thread[20];
        for (int i = 0; i < waiting.length; i++) waiting[i] = start(() -> await(go));
        for (Thread thread : waiting) while (thread.getState() != Thread.State.WAITING) Thread.sleep(1);
        start(() -> System.out.println(CProf.snapshot(args[0]))).join();
        go.countDown();
        for (Thread thread : waiting) thread.join();
        start(() -> System.exit(7)).join();
    }
}
