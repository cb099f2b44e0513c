// Shows: nothing by itself: threads, virtual threads and class loaders that come and go until its standard input ends. See tests/tests/whole/soak.rs.
// A line N is N rounds of counted work, all of it in new threads and new classes; it is answered when all of them have ended. 0 collects garbage.
// not-run
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Method;

class Soak {
    static final int THREADS = 20;
    static final int TICKS = 50;

    static int tick(int n) {
        return n + 1;
    }

    static void ticks() {
        int n = 0;
        for (int i = 0; i < TICKS; i++) n = tick(n);
        if (n != TICKS) throw new AssertionError();
    }

    static int other(int n) {
        return n < 2 ? n : other(n - 1) + other(n - 2);
    }

    // Defined anew by each loader.
    public static class Guest implements Runnable {
        static int runs;

        static void tick() {
            runs++;
        }

        @Override
        public void run() {
            for (int i = 0; i < TICKS; i++) tick();
        }
    }

    static final class Loader extends ClassLoader {
        final byte[] guest;

        Loader(byte[] guest) {
            this.guest = guest;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            return name.equals("Soak$Guest") ? defineClass(name, guest, 0, guest.length) : super.loadClass(name, resolve);
        }
    }

    static byte[] guest() throws IOException {
        try (InputStream in = Soak.class.getResourceAsStream("Soak$Guest.class")) {
            return in.readAllBytes();
        }
    }

    // Null before JDK 21.
    static Method virtual;

    static Thread start(boolean light, Runnable work) throws ReflectiveOperationException {
        if (light && virtual != null) return (Thread) virtual.invoke(null, work);
        Thread thread = new Thread(work);
        thread.start();
        return thread;
    }

    static void round(byte[] guest, Runnable work) throws Exception {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) threads[i] = start(i % 2 == 0, work);
        if (guest != null) {
            Runnable one = (Runnable) new Loader(guest).loadClass("Soak$Guest").getDeclaredConstructor().newInstance();
            start(false, one).join();
        }
        for (Thread thread : threads) thread.join();
    }

    // Goes on while the agent comes and leaves.
    static void background() {
        try {
            while (true) {
                round(null, () -> other(12));
                Thread.sleep(5);
            }
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        try {
            virtual = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            virtual = null;
        }
        byte[] guest = guest();
        Thread background = new Thread(Soak::background, "background");
        background.setDaemon(true);
        background.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int rounds = Integer.parseInt(line);
            if (rounds == 0) System.gc();
            for (int i = 0; i < rounds; i++) round(guest, Soak::ticks);
            System.out.println("done");
        }
    }
}
