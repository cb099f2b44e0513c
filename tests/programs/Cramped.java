// Shows: class loaders that define classes where there is little stack left, and others where there is enough.
// not-run
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;

public class Cramped {
    static class Loader extends ClassLoader {
        Loader() {
            super(Cramped.class.getClassLoader());
        }

        Class<?> define(String name, byte[] bytes) {
            return defineClass(name, bytes, 0, bytes.length);
        }

        // So that the JVM asks it.
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            return super.loadClass(name, resolve);
        }
    }

    public static class Deep {
    }

    public static class Later implements Runnable {
        @Override
        public void run() {
        }
    }

    static byte[] bytes(String name) throws Exception {
        try (InputStream in = ClassLoader.getSystemResourceAsStream(name + ".class")) {
            return in.readAllBytes();
        }
    }

    static volatile int depth;

    static void below(int levels, Runnable last) {
        if (levels == 0) {
            last.run();
            return;
        }
        below(levels - 1, last);
        depth++;
    }

    /** How often Later.run was called. */
    static int requested(int step) throws Exception {
        byte[] deep = bytes("Cramped$Deep");
        byte[] later = bytes("Cramped$Later");
        int calls = 0;
        boolean[] overflows = new boolean[1];
        for (int levels = 0; !overflows[0]; levels += step) {
            int wanted = levels;
            Loader loader = new Loader();
            Thread thread = new Thread(null, () -> {
                try {
                    below(wanted, () -> {
                        try {
                            loader.define("Cramped$Deep", deep);
                        } catch (StackOverflowError | LinkageError e) {
                            // Nothing is to be seen of it but what becomes of the other class.
                        }
                    });
                } catch (StackOverflowError e) {
                    overflows[0] = true;
                }
            }, "cramped", 256 * 1024);
            thread.start();
            thread.join();
            ((Runnable) loader.define("Cramped$Later", later).getDeclaredConstructor().newInstance()).run();
            calls++;
        }
        return calls;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(requested(Integer.parseInt(line)));
        }
    }
}
