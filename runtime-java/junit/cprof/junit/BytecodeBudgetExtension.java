package cprof.junit;

import cprof.CProf;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.opentest4j.TestAbortedException;

/**
 * Checks {@link BytecodeBudget}. What is compared is the count of the test method's own calls, before and after: neither JUnit's
 * code nor this extension's is in it, nor are other tests that run beside it.
 */
public final class BytecodeBudgetExtension implements BeforeTestExecutionCallback, AfterTestExecutionCallback {
    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(BytecodeBudgetExtension.class);

    /** What {@link CProf#bytecodes} answers then; less than that when there is one. */
    private static final long WITHOUT_AGENT = -1;
    private static final String UNREADABLE = "the agent could not read its counts; standard error, or a warning in the profile, says why";

    @Override
    public void beforeTestExecution(ExtensionContext context) {
        BytecodeBudget budget = context.getRequiredTestMethod().getAnnotation(BytecodeBudget.class);
        if (budget != null && budget.value() < Math.max(budget.atLeast(), 1)) {
            throw new IllegalArgumentException("no execution keeps to a budget of at least " + budget.atLeast() + " and at most "
                + budget.value() + " bytecodes");
        }
        long before = CProf.bytecodes(name(context.getRequiredTestMethod()));
        if (before == WITHOUT_AGENT) {
            uncounted(context, "ignore", "the tests do not run under the cprof agent");
        } else if (before < 0) {
            uncounted(context, "require", UNREADABLE);
        }
        context.getStore(NAMESPACE).put("before", before);
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        // JUnit calls this, too, where the test was aborted before it began.
        Object before = context.getStore(NAMESPACE).get("before");
        if (before == null || (Long) before < 0 || context.getExecutionException().isPresent()) {
            return;
        }
        Method method = context.getRequiredTestMethod();
        long after = CProf.bytecodes(name(method));
        if (after < 0) {
            uncounted(context, "require", after == WITHOUT_AGENT ? "the agent left while the test ran" : UNREADABLE);
            return;
        }
        long executed = after - (Long) before;
        if (executed <= 0) {
            // The method has run, so at least its return was executed.
            String named = method.getDeclaringClass().getName();
            uncounted(context, "require", "the agent did not count " + named
                + ": see its options root, include and exclude, and whether the recording was paused or began anew meanwhile");
            return;
        }
        BytecodeBudget budget = method.getAnnotation(BytecodeBudget.class);
        if (budget != null && (executed > budget.value() || executed < budget.atLeast())) {
            String bound = executed > budget.value() ? "at most " + budget.value() : "at least " + budget.atLeast();
            throw new AssertionError(method.getName() + " executed " + executed + " bytecodes; its budget is " + bound);
        }
    }

    /** What is to be done where the user wishes nothing is {@code usual}: who runs the agent wants budgets to be checked. */
    private static void uncounted(ExtensionContext context, String usual, String reason) {
        String wish = context.getConfigurationParameter("cprof.budgets").orElse(usual);
        switch (wish) {
            case "ignore":
                return;
            case "skip":
                throw new TestAbortedException("no bytecodes were counted: " + reason);
            case "require":
                throw new AssertionError("no bytecodes were counted: " + reason + " (cprof.budgets=ignore or skip allows that)");
            default:
                throw new IllegalArgumentException("cprof.budgets is " + wish + "; it may be ignore, skip or require");
        }
    }

    /** As {@link CProf#bytecodes} wants it, with the descriptor: tests may be overloaded. */
    private static String name(Method method) {
        String descriptor = MethodType.methodType(method.getReturnType(), method.getParameterTypes()).toMethodDescriptorString();
        return method.getDeclaringClass().getName() + "." + method.getName() + descriptor;
    }
}
