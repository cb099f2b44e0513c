// Shows: Runtime.halt below methods that call each other, in the thread that halts and in one that waits: where recursion or depth is folded, all the frames of
// a method are in the same contexts.
// measured: iload_0 ifne iload_0 iconst_1 isub invokestatic = 6, where n is 0 iload_0 ifne invokestatic = 3 (waiting or halting).
// odd: iload_0 iconst_1 isub invokestatic = 4.
// alone
// exit: 4
// expect: HaltRecursive.measured(I)I calls=20 thrown=0 bytecodes=114
// expect: HaltRecursive.odd(I)I calls=18 thrown=0 bytecodes=72
class HaltRecursive {
    static final Object LOCK = new Object();
    static boolean waiting;

    static int measured(int n) {
        return n == 0 ? last() : odd(n - 1) * 2;
    }

    static int odd(int n) {
        return measured(n - 1) + 1;
    }

    static int last() {
        if (!Thread.currentThread().isDaemon()) Runtime.getRuntime().halt(4);
        synchronized (LOCK) {
            waiting = true;
            LOCK.notifyAll();
            while (true) {
                try {
                    LOCK.wait();
                } catch (InterruptedException ignored) {
                }
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println("HaltRecursive");
        Thread daemon = new Thread(() -> measured(16));
        daemon.setDaemon(true);
        daemon.start();
        synchronized (LOCK) {
            while (!waiting) LOCK.wait();
        }
        measured(20);
    }
}
