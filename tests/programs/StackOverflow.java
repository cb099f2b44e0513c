// Shows: StackOverflowError deep below, caught far above, in the middle and in every frame; contexts afterwards are right again.
// How deep differs between runs and compilers, so the program counts for itself and tells (expectations on stderr).
// alone
// self-checking
class StackOverflow {
    static int calls, entered, finals, guarded, mutual;

    static void plain() {
        calls++;
        plain();
    }

    static void finallyEach(int a, long b) {
        entered++;
        try {
            finallyEach(a + 1, b);
        } finally {
            finals++;
        }
    }

    static int guard(int n) {
        guarded++;
        try {
            return guard(n + 1);
        } catch (StackOverflowError e) {
            return n;
        }
    }

    static synchronized void even(double d) {
        mutual++;
        odd(d);
    }

    static synchronized void odd(double d) {
        mutual++;
        even(d);
    }

    static void after() {
    }

    static void measured() {
        for (int i = 0; i < 4; i++) {
            try {
                plain();
            } catch (StackOverflowError e) {
                after();
            }
            try {
                finallyEach(0, 1);
            } catch (StackOverflowError e) {
                after();
            }
            try {
                even(0.5);
            } catch (StackOverflowError e) {
                after();
            }
        }
    }

    public static void main(String[] args) {
        measured();
        guard(0);
        System.err.println("expect: StackOverflow.plain()V calls=" + calls + " thrown=" + calls);
        System.err.println("expect: StackOverflow.finallyEach(IJ)V calls=" + entered + " thrown=" + entered);
        System.err.println("expect: StackOverflow.even(D)V+StackOverflow.odd(D)V calls=" + mutual + " thrown=" + mutual);
        System.err.println("expect: StackOverflow.after()V calls=12 thrown=0 bytecodes=12");
        System.out.println("StackOverflow " + (guarded > 500) + (entered >= finals));
    }
}
