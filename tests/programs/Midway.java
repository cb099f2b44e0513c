// Shows: a class whose loading takes as long as its loader wishes, so that cprof comes, or leaves, in the midst of it.
// not-run
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntUnaryOperator;

class Midway {
    public static class Base {}

    public static class Late extends Base implements IntUnaryOperator, Runnable {
        static volatile boolean end;
        int rounds;

        static int tick(int n) {
            return n + 1;
        }

        @Override
        public int applyAsInt(int times) {
            int n = 0;
            for (int i = 0; i < times; i++) n = tick(n);
            return n;
        }

        @Override
        public void run() {
            while (!end) rounds++;
        }
    }

    static final CountDownLatch BEGUN = new CountDownLatch(1);
    static final CountDownLatch MAY_END = new CountDownLatch(1);

    /** Loads Late itself, and before it Base, when it may. */
    static class Slow extends ClassLoader {
        static {
            registerAsParallelCapable();
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Midway$Base") && !name.equals("Midway$Late")) return super.loadClass(name, resolve);
            try (InputStream in = Midway.class.getResourceAsStream(name + ".class")) {
                if (name.equals("Midway$Base")) {
                    BEGUN.countDown();
                    MAY_END.await();
                }
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException | InterruptedException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static Object late;

    static void load() {
        try {
            late = new Slow().loadClass("Midway$Late").getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread loader = new Thread(Midway::load);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
                case "load" -> {
                    loader.start();
                    BEGUN.await();
                    System.out.println("loading");
                }
                case "finish" -> {
                    MAY_END.countDown();
                    loader.join();
                    System.out.println("loaded");
                }
                case "spin" -> {
                    Thread spinner = new Thread((Runnable) late);
                    spinner.setDaemon(true);
                    spinner.start();
                    System.out.println("spinning");
                }
                default -> System.out.println(((IntUnaryOperator) late).applyAsInt(Integer.parseInt(line)));
            }
        }
    }
}
