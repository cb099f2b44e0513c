// Shows: a class that the JVM cannot link yet, because another that it needs is missing.
// not-run
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.function.IntUnaryOperator;

class Unlinked {
    public static class Base {}

    public static class Missing extends Base {}

    /** To be verified needs Missing: whether that may stand for Base. */
    public static class Needy implements IntUnaryOperator {
        static Base either(int n) {
            return n > 0 ? new Missing() : new Base();
        }

        @Override
        public int applyAsInt(int times) {
            int n = 0;
            for (int i = 0; i < times; i++) n += either(i) instanceof Missing ? 1 : 2;
            return n;
        }
    }

    static boolean complete;

    static class Loader extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            boolean missing = name.equals("Unlinked$Missing");
            if (missing && !complete) throw new ClassNotFoundException(name);
            if (!missing && !name.equals("Unlinked$Needy")) return super.loadClass(name, resolve);
            try (InputStream in = Unlinked.class.getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Class<?> needy = null;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
                case "load" -> needy = new Loader().loadClass("Unlinked$Needy");
                case "complete" -> complete = true;
                default -> {
                    IntUnaryOperator operator = (IntUnaryOperator) needy.getDeclaredConstructor().newInstance();
                    System.out.println(operator.applyAsInt(Integer.parseInt(line)));
                    continue;
                }
            }
            System.out.println(line);
        }
    }
}
