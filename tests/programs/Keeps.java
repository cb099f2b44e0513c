// Shows: nothing by itself: a Java agent that keeps the bytes of a class as they come to it, which may be after cprof, and has the JVM redefine the class
// with them, as agents do that put code back: at once if it comes with the JVM, else when it is called without an argument. With "changed" it changes them
// before, and with "own" it gives the class its own code. See tests/tests/whole/agents.rs.
// not-run
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;

class Keeps implements ClassFileTransformer {
    private static Class<?> changed;
    private static byte[] kept;
    private final String name;

    private Keeps(String name) {
        this.name = name;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> changed, ProtectionDomain domain, byte[] bytes) {
        if (name.equals(this.name)) kept = bytes.clone();
        return null;
    }

    public static void premain(String name, Instrumentation instrumentation) throws Exception {
        agentmain(name, instrumentation);
        agentmain("", instrumentation);
    }

    public static void agentmain(String name, Instrumentation instrumentation) throws Exception {
        if (name.isEmpty() || name.equals("own")) {
            byte[] bytes = name.isEmpty() ? kept : changed.getResourceAsStream(changed.getName() + ".class").readAllBytes();
            instrumentation.redefineClasses(new ClassDefinition(changed, bytes));
            return;
        }
        if (name.equals("changed")) {
            // The name of the source file.
            String text = new String(kept, StandardCharsets.ISO_8859_1);
            kept = text.replace(changed.getName() + ".java", changed.getName() + ".text").getBytes(StandardCharsets.ISO_8859_1);
            return;
        }
        kept = null;
        Keeps keeps = new Keeps(name);
        instrumentation.addTransformer(keeps, true);
        changed = Class.forName(name);
        // It was loaded before.
        if (kept == null) instrumentation.retransformClasses(changed);
        instrumentation.removeTransformer(keeps);
    }
}
