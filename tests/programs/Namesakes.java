// Shows: 200 threads of each of two names whose trees are returned to the same list, one at a time. See tests/tests/whole/limits.rs.
// not-run
class Namesakes {
    static int work(int n) {
        return n < 2 ? n : work(n - 1) + work(n - 2);
    }

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 200; i++) {
            for (String name : new String[] {"worker-1", "job-t"}) {
                Thread thread = new Thread(() -> work(6), name);
                thread.start();
                thread.join();
            }
        }
    }
}
