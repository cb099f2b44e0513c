// Shows: stack overflows that the deepest frame itself catches, where there is no room to enter what was caught in the tree.
// not-run
class Deepest {
    static int calls, catches;

    static int f(int depth) {
        calls++;
        try {
            return f(depth + 1);
        } catch (StackOverflowError e) {
            catches++;
            return depth;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int rounds = Integer.parseInt(args[0]);
        Thread thread = new Thread(null, () -> {
            for (int i = 0; i < rounds; i++) f(0);
            System.out.println(calls + " " + catches);
            // Before the thread ends, and nothing is thrown any more where there is room.
            System.exit(0);
        }, "deep", 512 << 10);
        thread.start();
        thread.join();
    }
}
