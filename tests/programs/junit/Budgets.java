import static org.junit.jupiter.api.Assertions.fail;

import cprof.junit.BytecodeBudget;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Under the agent four of these seven tests pass; tests/tests/whole/junit.rs runs them. */
class Budgets {
    /** 9 + 9n bytecodes. */
    static int work(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i;
        }
        return sum;
    }

    @BeforeEach
    void notMeasured() {
        work(10_000);
    }

    @Test
    @BytecodeBudget(value = 283, atLeast = 283)
    void exact() {
        work(30); // and 4 bytecodes here
    }

    @Test
    @BytecodeBudget(282)
    void beyond() {
        work(30);
    }

    @Test
    @BytecodeBudget(value = 10_000, atLeast = 284)
    void cheaper() {
        work(30);
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 20, 30})
    @BytecodeBudget(283)
    void each(int n) {
        work(n);
    }

    @Test
    @BytecodeBudget(value = 10, atLeast = 20)
    void cannotBeKept() {
    }

    @Test
    @BytecodeBudget(1)
    void failsByItself() {
        fail("for its own reason");
    }
}
