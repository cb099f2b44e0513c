// Shows: nothing by itself: runs until it is told to stop by a signal. See tests/tests/whole/ending.rs.
// not-run
class Spins {
    static int step(int i) {
        return i + 1;
    }

    static int measured() throws InterruptedException {
        int i = 0;
        for (; i < 1000; i++) step(i);
        System.out.println("ready");
        while (true) Thread.sleep(1000);
    }

    public static void main(String[] args) throws InterruptedException {
        measured();
    }
}
