import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** An agent that retransforms all classes to the bytes they have, in batches as cprof does: what the JVM itself takes when a profiler comes or leaves. */
public class Retransform {
    private static final int BATCH = 1000;

    public static void agentmain(String options, Instrumentation instrumentation) throws Exception {
        List<Class<?>> classes = new ArrayList<>();
        for (Class<?> c : instrumentation.getAllLoadedClasses()) {
            if (instrumentation.isModifiableClass(c)) classes.add(c);
        }
        for (int from = 0; from < classes.size(); from += BATCH) {
            List<Class<?>> batch = classes.subList(from, Math.min(from + BATCH, classes.size()));
            instrumentation.retransformClasses(batch.toArray(new Class<?>[0]));
        }
    }
}
