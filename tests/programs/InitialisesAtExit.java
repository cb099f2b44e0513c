// Shows: a daemon thread that is still in the initialiser of a class of threads, one of which runs, when the VM ends. To ask that class for a field would
// be to wait for its initialiser.
// not-run
class InitialisesAtExit {
    static class Worker extends Thread {
        static {
            Worker first = new Worker();
            first.setDaemon(true);
            first.start();
            rest();
        }

        @Override
        public void run() {
            rest();
        }
    }

    static void rest() {
        try {
            Thread.sleep(100_000);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread initialises = new Thread(() -> new Worker());
        initialises.setDaemon(true);
        initialises.start();
        // Both sleep then, one in run, the other in <clinit>.
        Thread.sleep(300);
        System.out.println("main ends");
    }
}
