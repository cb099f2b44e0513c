// Shows: synchronized methods (static and not, also left by an exception), blocks, nested blocks, recursion on one lock.
// expect: Synchronized.add(I)V calls=20000 thrown=2000
// expect: Synchronized.global(I)I calls=20000 thrown=0
class Synchronized {
    int sum;
    static int total;

    synchronized void add(int x) {
        if (x % 10 == 3) throw new IllegalArgumentException("three");
        sum += x;
    }

    static synchronized int global(int x) {
        total += x;
        return total;
    }

    int blocks(Object a, int x) {
        synchronized (a) {
            synchronized (this) {
                if (x % 7 == 0) return 1;
                if (x % 7 == 1) throw new IllegalStateException();
                sum++;
            }
            sum--;
        }
        return sum & 3;
    }

    synchronized int nested(int n) {
        return n == 0 ? 0 : 1 + nested(n - 1);
    }

    static int measured() {
        Synchronized s = new Synchronized();
        Object lock = new Object();
        int caught = 0;
        for (int i = 0; i < 20000; i++) {
            try {
                s.add(i);
            } catch (IllegalArgumentException e) {
                caught++;
            }
            try {
                caught += s.blocks(lock, i);
            } catch (IllegalStateException e) {
                caught += 5;
            }
            global(i);
        }
        try {
            synchronized ((Object) null) {
                caught = 0;
            }
        } catch (NullPointerException e) {
            caught++;
        }
        try {
            lock.wait(1); // IllegalMonitorStateException from native code
        } catch (IllegalMonitorStateException | InterruptedException e) {
            caught++;
        }
        return caught + s.sum + s.nested(20) + total;
    }

    public static void main(String[] args) {
        System.out.println("Synchronized " + measured());
    }
}
