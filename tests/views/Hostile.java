import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;

/** Runs methods of classes and threads whose names would do harm in a page that took them for markup. */
public class Hostile {
    /** Defines a class from its bytes. */
    static final class Definer extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** The bytes of a class under another name, which is as long. */
    static byte[] renamed(String from, String to) throws Exception {
        byte[] bytes;
        try (InputStream in = Hostile.class.getResourceAsStream("/" + from + ".class")) {
            bytes = in.readAllBytes();
        }
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        if (from.length() != to.length() || !text.contains(from)) {
            throw new IllegalArgumentException(from);
        }
        return text.replace(from, to).getBytes(StandardCharsets.ISO_8859_1);
    }

    static Runnable instance(String template, String name) throws Exception {
        Constructor<?> constructor = new Definer().define(renamed(template, name)).getDeclaredConstructor();
        constructor.setAccessible(true);
        return (Runnable) constructor.newInstance();
    }

    public static void main(String[] args) throws Exception {
        String image = "<img src=x onerror=alert(1)>";
        String script = "</script><script>alert(2)<";
        Runnable[] runs = {
            instance("TemplateWithTwentyEightChars", image),
            instance("TemplateWithTwentySixChars", script),
        };
        for (Runnable run : runs) {
            run.run();
        }
        Thread thread = new Thread(runs[0], "</title></script><svg onload=alert(3)>\"'&amp;");
        thread.start();
        thread.join();
        System.out.println("done");
    }
}

class TemplateWithTwentyEightChars implements Runnable {
    private int sum;

    public void run() {
        for (int i = 0; i < 1000; i++) {
            sum += i;
        }
    }
}

class TemplateWithTwentySixChars implements Runnable {
    private int product = 1;

    public void run() {
        for (int i = 1; i < 500; i++) {
            product *= i;
        }
    }
}
