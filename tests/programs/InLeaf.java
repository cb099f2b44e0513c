// Shows: a frame of a method that can neither call nor throw, active at the end. See tests/tests/whole/cache_options.rs.
// not-run
class InLeaf {
    static int spin(int i) {
        while (i != 0) i = i * 3 | 1;
        return i;
    }

    static void measured() {
        spin(0);
        spin(1);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread daemon = new Thread(InLeaf::measured);
        daemon.setDaemon(true);
        daemon.start();
        StackTraceElement[] stack;
        do {
            Thread.sleep(20);
            stack = daemon.getStackTrace();
        } while (stack.length == 0 || !stack[0].getMethodName().equals("spin"));
    }
}
