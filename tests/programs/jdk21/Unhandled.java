// Shows: virtual threads whose handler of uncaught exceptions throws. See tests/tests/whole/overflow.rs.
// not-run
class Unhandled {
    static void fails() {
        throw new IllegalStateException();
    }

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 100; i++) {
            Thread thread = Thread.ofVirtual().unstarted(Unhandled::fails);
            thread.setUncaughtExceptionHandler((failed, error) -> {
                throw new IllegalArgumentException();
            });
            thread.start();
            thread.join();
        }
    }
}
