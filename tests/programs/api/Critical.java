import cprof.CProf;
import java.util.concurrent.CountDownLatch;
import java.util.zip.Deflater;

/**
 * More virtual threads than one of the runtime's lists has room for wait, while others fill the heap and one is in critical regions of
 * JNI most of the time; snapshots are taken meanwhile.
 */
class Critical {
    static final int WAITING = 3000;
    static volatile boolean done;
    static volatile Object kept;
    static volatile long sum;

    /** Compiled code has none of these, but where the JVM makes them for who looks at the heap. */
    static class Pair {
        final int a, b;

        Pair(int a, int b) {
            this.a = a;
            this.b = b;
        }
    }

    static void await(CountDownLatch go) {
        try {
            go.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void allocate() {
        for (int i = 0; !done; i++) {
            Pair pair = new Pair(i, i + 1);
            kept = new byte[256 + (i & 1023)];
            sum += pair.a ^ pair.b;
        }
    }

    static void compress() {
        byte[] in = new byte[1 << 20], out = new byte[1 << 21];
        for (int i = 0; i < in.length; i++) in[i] = (byte) (i * i >>> 7);
        while (!done) {
            Deflater deflater = new Deflater(9);
            deflater.setInput(in);
            deflater.finish();
            sum += deflater.deflate(out);
            deflater.end();
        }
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        Thread[] waiting = new Thread[WAITING];
        for (int i = 0; i < WAITING; i++) waiting[i] = Bound.start(() -> await(go));
        for (Thread thread : waiting) while (thread.getState() != Thread.State.WAITING) Thread.sleep(1);
        Thread[] busy = {new Thread(Critical::allocate), new Thread(Critical::allocate), new Thread(Critical::compress)};
        for (Thread thread : busy) thread.start();
        Thread.sleep(500);
        for (int i = 0; i < 10; i++) System.out.println(CProf.snapshot(args[0]));
        done = true;
        for (Thread thread : busy) thread.join();
        go.countDown();
        for (Thread thread : waiting) thread.join();
    }
}
