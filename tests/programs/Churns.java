// Shows: nothing by itself: defines classes in new loaders and drops them, as many as it is told. See tests/tests/whole/loaders.rs.
// not-run
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicInteger;

class Churns {
    /** How many loaders cprof has asked for its runtime class, as it does when it finds their classes in a running JVM. */
    static final AtomicInteger asked = new AtomicInteger();

    static final class Loader extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals("java.lang.CProfRuntime")) asked.incrementAndGet();
            return super.loadClass(name, resolve);
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** The class under a long name, so that it is seen whether a name stays behind. */
    static byte[] renamed() throws Exception {
        byte[] bytes = Churns.class.getResourceAsStream("Churned.class").readAllBytes();
        byte[] name = "Churned".getBytes("US-ASCII");
        // In the constant pool, alone: CONSTANT_Utf8, its length, itself.
        for (int at = 3;; at++) {
            if (bytes[at - 3] == 1 && bytes[at - 2] == 0 && bytes[at - 1] == name.length
                    && Arrays.equals(bytes, at, at + name.length, name, 0, name.length)) {
                var all = new ByteArrayOutputStream();
                var out = new DataOutputStream(all);
                out.write(bytes, 0, at - 2);
                out.writeUTF("Churned".repeat(1000));
                out.write(bytes, at + name.length, bytes.length - at - name.length);
                return all.toByteArray();
            }
        }
    }

    static Object churn(byte[] bytes) throws ReflectiveOperationException {
        var constructor = new Loader().define(bytes).getDeclaredConstructor();
        constructor.setAccessible(true);
        var object = (Runnable) constructor.newInstance();
        object.run();
        return object;
    }

    /** How many classes the JVM has collected before a file was there. */
    static volatile long collected;

    /** Drops what is kept when all loaders have been asked. */
    static void collectUntil(File file, List<Object> kept) {
        while (asked.get() < kept.size()) Thread.yield();
        kept.clear();
        var classes = ManagementFactory.getClassLoadingMXBean();
        while (true) {
            System.gc();
            long now = classes.getUnloadedClassCount();
            if (file.exists()) return;
            collected = now;
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] bytes = renamed();
        var kept = new ArrayList<Object>();
        System.out.println("ready");
        var requests = new Scanner(System.in);
        while (requests.hasNextLine()) {
            String request = requests.nextLine();
            if (request.equals("collect")) {
                System.gc();
            } else if (request.startsWith("collect until ")) {
                var collector = new Thread(() -> collectUntil(new File(request.substring(14)), kept));
                collector.setDaemon(true);
                collector.start();
            } else if (request.equals("collected")) {
                System.out.println(collected);
                continue;
            } else if (request.startsWith("keep ")) {
                for (int i = Integer.parseInt(request.substring(5)); i > 0; i--) kept.add(churn(bytes));
            } else {
                for (int i = Integer.parseInt(request); i > 0; i--) churn(bytes);
            }
            System.out.println("done");
        }
    }
}

class Churned implements Runnable {
    @Override
    public void run() {
        Runnable nothing = () -> {};
        nothing.run();
    }
}
