// Shows: classes defined by a loader of the program's own, the same class twice, parallel names in the tree; a loader that throws;
// a class that links to one that is missing; interface static initialisation order.
// expect: Loaders$Mine.findClass(Ljava/lang/String;)Ljava/lang/Class; calls=31 thrown=11
// expect: Loaders$Loaded.run()V calls=20 thrown=0
import java.io.InputStream;

class Loaders {
    public static class Loaded implements Runnable {
        static int runs;

        @Override
        public void run() {
            runs++;
        }
    }

    static class Mine extends ClassLoader {
        final byte[] bytes;

        Mine(byte[] bytes) {
            super(null);
            this.bytes = bytes;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.equals("Loaders$Loaded")) return defineClass(name, bytes, 0, bytes.length);
            if (name.startsWith("Loaders$Missing")) throw new ClassNotFoundException(name);
            throw new Error(name);
        }
    }

    static int measured() throws Exception {
        byte[] bytes;
        try (InputStream in = Loaders.class.getResourceAsStream("Loaders$Loaded.class")) {
            bytes = in.readAllBytes();
        }
        int sum = 0;
        for (int i = 0; i < 20; i++) {
            Runnable r = (Runnable) new Mine(bytes).loadClass("Loaders$Loaded").getDeclaredConstructor().newInstance();
            r.run();
            sum += r instanceof Loaded ? 1 : 2;
        }
        Mine none = new Mine(bytes);
        for (int i = 0; i < 10; i++) {
            try {
                none.loadClass("Loaders$Missing" + i);
            } catch (ClassNotFoundException e) {
                sum += 3;
            }
        }
        try {
            none.loadClass("Loaders$Other");
        } catch (Error e) {
            sum += e.getMessage().length();
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        System.out.println("Loaders " + measured());
    }
}
