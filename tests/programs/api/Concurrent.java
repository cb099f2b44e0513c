import cprof.CProf;

/** Several threads ask for counts at the same time, each of which stops all others. */
class Concurrent {
    static int step(int x) {
        return x + 1;
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[6];
        boolean[] wrong = new boolean[threads.length];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                long before = 0;
                for (int round = 0; round < 20; round++) {
                    step(round);
                    long now = CProf.bytecodes("Concurrent.step");
                    wrong[number] |= now <= before;
                    before = now;
                }
            });
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        for (boolean w : wrong) if (w) throw new AssertionError("counts do not grow");
        System.out.println(CProf.bytecodes("Concurrent.step"));
    }
}
