// Shows: after a stack overflow every finally block has run, also those of the deepest frames, where there is hardly room to count.
// not-run
class Held {
    static long entered, left;

    static int down(int k) {
        entered++;
        try {
            return down(k + 1) + 1;
        } finally {
            left++;
        }
    }

    /** So that what is called for has another place on the stack each time. */
    static void below(int frames, long other) {
        if (frames > 0) {
            below(frames - 1, other);
            return;
        }
        try {
            down(0);
        } catch (StackOverflowError e) {
            // The next begins anew.
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread thread = new Thread(null, () -> {
            for (int i = 0; i < 24; i++) below(i, 0);
        }, "deep", 400 * 1024);
        thread.start();
        thread.join();
        System.out.println(entered + " " + left);
    }
}
