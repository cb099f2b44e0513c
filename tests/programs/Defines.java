// Shows: a program that ends while threads of its own define class after class, each with other bytes, and call their methods.
// not-run
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

class Defines {
    public static class Small implements Runnable {
        static String name() {
            return "number 00000000";
        }

        static int outer(int i) {
            return inner(i) + 1;
        }

        static int inner(int i) {
            return i * 2;
        }

        @Override
        public void run() {
            int sum = 0;
            for (int i = 0; i < 50; i++) sum += outer(i);
            if (sum != 2500) throw new IllegalStateException(name());
        }
    }

    static class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass("Defines$Small", bytes, 0, bytes.length);
        }
    }

    static void define(byte[] bytes, int at, int worker) {
        try {
            for (int i = 0; ; i++) {
                byte[] others = bytes.clone();
                byte[] number = String.format("%d%07d", worker, i).getBytes(StandardCharsets.ISO_8859_1);
                System.arraycopy(number, 0, others, at, number.length);
                ((Runnable) new Loader().define(others).getConstructor().newInstance()).run();
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] bytes;
        try (InputStream in = Defines.class.getResourceAsStream("Defines$Small.class")) {
            bytes = in.readAllBytes();
        }
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf("00000000");
        for (int i = 0; i < 3; i++) {
            int worker = i;
            Thread thread = new Thread(() -> define(bytes, at, worker));
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(400);
        System.exit(7);
    }
}
