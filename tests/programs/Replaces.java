// Shows: nothing by itself: a Java agent that gives a class the bytes of its file, whatever it is shown: as it is loaded if the agent
// comes with the JVM, else by retransformation. With "NAME gone" it does so no more, and the class gets back what it had. With
// "NAME FILE" it has the JVM redefine the class with a file that it must refuse, and with "NAME FILE too" does what it does by
// retransformation after that. See tests/tests/whole/agents.rs.
// not-run
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;

class Replaces implements ClassFileTransformer {
    private static Instrumentation first;
    private static Replaces replaces;
    private final String name;

    private Replaces(String name) {
        this.name = name;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> changed, ProtectionDomain domain, byte[] bytes) {
        if (!name.equals(this.name)) return null;
        try (InputStream file = loader.getResourceAsStream(name + ".class")) {
            return file.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static void premain(String argument, Instrumentation instrumentation) throws Exception {
        String[] words = argument.split(" ");
        if (words.length > 1) {
            refused(Class.forName(words[0]), Files.readAllBytes(Path.of(words[1])), instrumentation);
            if (words.length > 2) agentmain(words[0], instrumentation);
            return;
        }
        first = instrumentation;
        replaces = new Replaces(argument);
        first.addTransformer(replaces, true);
    }

    private static void refused(Class<?> changed, byte[] bytes, Instrumentation instrumentation) throws Exception {
        try {
            instrumentation.redefineClasses(new ClassDefinition(changed, bytes));
        } catch (UnsupportedOperationException e) {
            return;
        }
        throw new IllegalStateException("not refused");
    }

    public static void agentmain(String argument, Instrumentation instrumentation) throws Exception {
        String name = argument.split(" ")[0];
        if (argument.equals(name)) {
            premain(name, instrumentation);
        } else {
            first.removeTransformer(replaces);
        }
        instrumentation.retransformClasses(Class.forName(name));
    }
}
