// Shows: a thread that ends before the VM has told cprof that it is initialised: started by an agent in Java that stands before it.
// not-run
class Early extends Thread {
    int sum;

    int half(int i) {
        return i % 2 == 0 ? i / 2 : once(i);
    }

    int once(int i) {
        return 3 * i + 1;
    }

    @Override
    public void run() {
        for (int i = 0; i < 3000; i++) sum += half(i);
    }

    public static void premain(String options) throws InterruptedException {
        Early early = new Early();
        early.start();
        early.join();
        System.out.println(early.sum);
    }
}
