// Shows: nothing by itself: a Java agent that gives a class the bytes of its file, whatever it is shown: as it is loaded if the agent comes with the JVM,
// else by retransformation. With "NAME gone" it does so no more, and the class gets back what it had. See tests/tests/whole/agents.rs.
// not-run
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
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

    public static void premain(String name, Instrumentation instrumentation) {
        first = instrumentation;
        replaces = new Replaces(name);
        first.addTransformer(replaces, true);
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
