// Shows: snapshots and pauses of a thread whose outermost frame is of a method that has been redefined since: below it every frame has its context.
import cprof.CProf;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;

class Redefined {
    static Instrumentation instrumentation;

    public static void premain(String options, Instrumentation instrumentation) {
        Redefined.instrumentation = instrumentation;
    }

    static class Calls {
        static int sum;

        static void outer(String snapshot) {
            sum++;
            inner(snapshot);
            sum += 2;
        }

        static void inner(String snapshot) {
            sum++;
            CProf.snapshot(snapshot);
            sum += 2;
            CProf.pause();
            sum += 3;
            CProf.resume();
            sum += 4;
        }
    }

    static void redefine() throws Exception {
        byte[] code;
        try (InputStream in = Redefined.class.getResourceAsStream("Redefined.class")) {
            code = in.readAllBytes();
        }
        byte[] before = "main is as it was".getBytes(StandardCharsets.UTF_8);
        byte[] after = "main is different".getBytes(StandardCharsets.UTF_8);
        String text = new String(code, StandardCharsets.ISO_8859_1);
        int at = text.indexOf(new String(before, StandardCharsets.ISO_8859_1));
        System.arraycopy(after, 0, code, at, after.length);
        instrumentation.redefineClasses(new ClassDefinition(Redefined.class, code));
    }

    public static void main(String[] arguments) throws Exception {
        redefine();
        Calls.outer(arguments[0]);
        System.out.println("main is as it was");
    }
}
