// Shows: nothing by itself: numbers from a generator that is a continuation of the JDK's. See tests/tests/whole/continuations.rs.
// not-run
import jdk.internal.vm.Continuation;
import jdk.internal.vm.ContinuationScope;

class Generates {
    static final ContinuationScope SCOPE = new ContinuationScope("numbers");
    static int number;

    static void generate() {
        for (int i = 0; i < 10; i++) {
            number = i;
            Continuation.yield(SCOPE);
        }
    }

    static int twice(int n) {
        return 2 * n;
    }

    public static void main(String[] args) {
        Continuation numbers = new Continuation(SCOPE, Generates::generate);
        int sum = 0;
        for (numbers.run(); !numbers.isDone(); numbers.run()) sum += twice(number);
        System.out.println(sum);
    }
}
