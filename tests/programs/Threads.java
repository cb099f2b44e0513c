// Shows: counts of several threads merged: raw threads, an executor, thread-local state, a thread that dies by an exception,
// contended locks, and threads started below measured code (whose contexts are not below it).
// roots: Threads.dies Threads.inPool
// expect: Threads.work(I)I calls=4 thrown=0
// expect: Threads.leaf(I)I calls=44000 thrown=400
// expect: Threads.dies()V calls=3 thrown=3
// expect: Threads.inPool(I)I calls=50 thrown=5
// only: Threads.work
// timing: jdk.internal.misc.Unsafe.getAndAddInt
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

class Threads {
    static int shared;
    static final Object LOCK = new Object();
    static final AtomicInteger TOTAL = new AtomicInteger();

    static int leaf(int i) {
        if (i % 100 == 99) throw new IllegalStateException();
        return i & 3;
    }

    static int work(int n) {
        int sum = 0;
        for (int i = 0; i < 10000; i++) {
            try {
                sum += leaf(i % 98 + (i % 100 == 0 ? 1 : 0) * (99 - i % 98));
            } catch (IllegalStateException e) {
                sum++;
            }
            if (i % 64 == 0) {
                synchronized (LOCK) {
                    shared++;
                }
            }
        }
        TOTAL.addAndGet(sum);
        for (int i = 0; i < 1000; i++) sum += leaf(i & 31);
        return sum;
    }

    static void dies() {
        throw new IllegalArgumentException("dies");
    }

    static int inPool(int n) {
        if (n % 10 == 0) throw new IllegalStateException();
        return n;
    }

    static int measured() throws InterruptedException {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int n = i;
            all.add(new Thread(() -> work(n), "worker-" + i));
        }
        for (int i = 0; i < 3; i++) {
            Thread dying = new Thread(Threads::dies, "dying-" + i);
            dying.setUncaughtExceptionHandler((t, e) -> TOTAL.incrementAndGet());
            all.add(dying);
        }
        for (Thread t : all) t.start();
        for (Thread t : all) t.join();
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Future<Integer>> results = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            int n = i;
            results.add(pool.submit(() -> inPool(n)));
        }
        int sum = TOTAL.get();
        for (Future<Integer> f : results) {
            try {
                sum += f.get();
            } catch (ExecutionException e) {
                sum += 1000;
            }
        }
        pool.shutdown();
        pool.awaitTermination(10, java.util.concurrent.TimeUnit.SECONDS);
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println("Threads " + measured() + " " + shared);
    }
}
