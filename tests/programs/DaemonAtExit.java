// Shows: a daemon thread that waits, with frames active, when the VM ends; a non-daemon thread that outlives main.
// wait: 20 rounds, then for ever in Object.wait.
// alone
// roots: DaemonAtExit.outlives
// expect: DaemonAtExit.outlives()V calls=1 thrown=0
// expect: DaemonAtExit.tick()V calls=25 thrown=0 bytecodes=125
class DaemonAtExit {
    static volatile int ticks;
    static final Object LOCK = new Object();
    static boolean waiting;

    static void tick() {
        ticks++;
    }

    static void measured() {
        for (int i = 0; i < 20; i++) tick();
        try {
            synchronized (LOCK) {
                waiting = true;
                LOCK.notifyAll();
                while (true) LOCK.wait();
            }
        } catch (InterruptedException e) {
            tick();
        }
    }

    static void outlives() {
        for (int i = 0; i < 5; i++) tick();
        System.out.println("DaemonAtExit");
    }

    public static void main(String[] args) throws InterruptedException {
        Thread daemon = new Thread(DaemonAtExit::measured);
        daemon.setDaemon(true);
        daemon.start();
        synchronized (LOCK) {
            while (!waiting) LOCK.wait();
        }
        new Thread(DaemonAtExit::outlives).start();
    }
}
