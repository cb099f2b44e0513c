// Shows: nothing by itself: a Java agent that has Byte Buddy count calls of Serve.fib, and exceptions of Serve.refuse, by advice within
// their code. Loaded again with the argument "reset", it gives the classes their code back. With "replace" it has Byte Buddy make
// another body for Serve.refuse instead. See tests/tests/whole/agents.rs.
// not-run
import java.lang.instrument.Instrumentation;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.agent.builder.AgentBuilder.RedefinitionStrategy;
import net.bytebuddy.agent.builder.ResettableClassFileTransformer;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.dynamic.DynamicType.Builder;
import net.bytebuddy.implementation.FixedValue;
import net.bytebuddy.matcher.ElementMatchers;

public class Advised {
    public static int entered;
    public static int thrown;
    // Each loading has an Instrumentation of its own; the first one knows the transformer.
    private static Instrumentation first;
    private static ResettableClassFileTransformer transformer;

    static final class Entry {
        @Advice.OnMethodEnter
        static void enter() {
            entered++;
        }
    }

    static final class Exit {
        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(@Advice.Thrown Throwable exception) {
            if (exception != null) thrown++;
        }
    }

    /** What the advice counted; begins anew. */
    static String seen() {
        String seen = entered + " entered, " + thrown + " thrown";
        entered = 0;
        thrown = 0;
        return seen;
    }

    public static void premain(String argument, Instrumentation instrumentation) {
        agentmain(argument, instrumentation);
    }

    public static void agentmain(String argument, Instrumentation instrumentation) {
        if ("reset".equals(argument)) {
            if (!transformer.reset(first, RedefinitionStrategy.RETRANSFORMATION)) throw new IllegalStateException("not reset");
            return;
        }
        first = instrumentation;
        transformer = new AgentBuilder.Default()
            .disableClassFormatChanges()
            .with(RedefinitionStrategy.RETRANSFORMATION)
            .with(AgentBuilder.Listener.StreamWriting.toSystemError().withErrorsOnly())
            .type(ElementMatchers.named("Serve"))
            .transform((builder, type, loader, module, domain) -> "replace".equals(argument) ? replace(builder) : advise(builder))
            .installOn(instrumentation);
    }

    private static Builder<?> advise(Builder<?> builder) {
        return builder
            .visit(Advice.to(Entry.class).on(ElementMatchers.named("fib")))
            .visit(Advice.to(Exit.class).on(ElementMatchers.named("refuse")));
    }

    private static Builder<?> replace(Builder<?> builder) {
        return builder.method(ElementMatchers.named("refuse")).intercept(FixedValue.value(1));
    }
}
