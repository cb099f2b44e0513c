// Ends while a thread of it pauses and resumes, over and over. tests/tests/whole/api.rs runs it.
import cprof.CProf;
import java.util.concurrent.CountDownLatch;

class Restless {
    public static void main(String[] args) throws InterruptedException {
        CountDownLatch often = new CountDownLatch(20);
        Thread restless = new Thread(() -> {
            while (true) {
                CProf.pause();
                CProf.resume();
                often.countDown();
            }
        });
        restless.setDaemon(true);
        restless.start();
        often.await();
    }
}
