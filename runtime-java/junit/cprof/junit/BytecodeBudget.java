package cprof.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * How many bytecodes a test method may execute, with everything it calls. Counted exactly, and without {@code @BeforeEach} and
 * {@code @AfterEach}, when the tests run under the cprof agent. What other threads do that the test starts or uses is not in it,
 * nor are the tests of a {@code @TestFactory}, which run when that has returned.
 *
 * <p>Without the agent nothing is counted. What happens then, the JUnit configuration parameter {@code cprof.budgets} says (a
 * system property, or a line of {@code junit-platform.properties}): {@code ignore}, the default, runs the test as if it had no
 * budget, {@code skip} aborts it, and {@code require} fails it. A test that the agent does not count fails unless that parameter
 * says otherwise.
 *
 * <p>Calls of a method are counted in all threads. So where JUnit runs tests in parallel, those with a budget run one after the other.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(BytecodeBudgetExtension.class)
@ResourceLock("cprof.junit.BytecodeBudget")
public @interface BytecodeBudget {
    /** The most bytecodes for one execution of the method. */
    long value();

    /** The least, for whoever wants to know when it becomes cheaper. */
    long atLeast() default 0;
}
