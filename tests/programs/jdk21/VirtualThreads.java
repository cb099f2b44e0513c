// Shows: virtual threads that sleep, yield, lock and throw; contexts follow them across carriers.
// timing: VirtualThreads.pause
// only: VirtualThreads.work
// expect: VirtualThreads.work(I)I calls=200 thrown=20
// expect: VirtualThreads.step(I)I calls=20000 thrown=0
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.ReentrantLock;

class VirtualThreads {
    static final ReentrantLock LOCK = new ReentrantLock();
    static int shared;

    static int step(int i) {
        return i * 3;
    }

    static int twice(int n) {
        int sum = 0;
        for (int i = 0; i < 50; i++) sum += step(i);
        return sum;
    }

    static int work(int n) throws InterruptedException {
        int sum = twice(n);
        pause(n);
        sum += twice(n);
        if (n % 10 == 0) throw new IllegalStateException();
        return sum;
    }

    // What the library executes for a pause depends on timing: not compared (see `timing:` above).
    static void pause(int n) throws InterruptedException {
        Thread.yield();
        if (n % 4 == 0) Thread.sleep(1);
        LOCK.lock();
        try {
            shared++;
            Thread.yield();
        } finally {
            LOCK.unlock();
        }
    }

    static int measured() throws InterruptedException {
        int sum = 0;
        try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Integer>> all = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                int n = i;
                all.add(pool.submit(() -> work(n)));
            }
            for (Future<Integer> f : all) {
                try {
                    sum += f.get();
                } catch (ExecutionException e) {
                    sum++;
                }
            }
        }
        return sum;
    }

    /** Links what a future does when it is done. Linked by virtual threads at once, all carriers may wait for a monitor whose owner has none (seen on JDK 25). */
    static void link() {
        new FutureTask<>(() -> 0).run();
        new FutureTask<>(() -> { throw new IllegalStateException(); }).run();
    }

    public static void main(String[] args) throws InterruptedException {
        link();
        System.out.println("VirtualThreads " + measured() + " " + shared);
    }
}
