// Takes snapshots while another thread runs; tests/tests/whole/caught.rs knows what each of its methods has executed after any number of calls.
import cprof.CProf;

class Caught {
    static volatile boolean going = true;
    static volatile int sink;

    // The two ways out differ in length, so that a return counted for the other one shows.
    static int choose(int x) {
        if (x == 0) return 1;
        int a = x * 3 + 1, b = a ^ x, c = b - a * 5;
        return c * 31 + b * 17 + a * 13;
    }

    static int loop(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            if (i == 2) continue;
            sum += i;
        }
        return sum;
    }

    static int select(int x) {
        switch (x) {
            case 0: return 5;
            case 1: x += 3; break;
            default: x *= 7;
        }
        return x;
    }

    static class Base {
        final int x;

        Base(int x) {
            if (x < 0) throw new IllegalArgumentException();
            this.x = x;
        }
    }

    static class Derived extends Base {
        Derived(int x) {
            super(x + 1);
        }
    }

    static void round() {
        sink = choose(0) + choose(1);
        sink = loop(5);
        sink = select(0) + select(1) + select(2);
        sink = new Derived(1).x;
    }

    static void work() {
        while (going) round();
    }

    public static void main(String[] args) throws Exception {
        Runnable work = Caught::work;
        Thread worker = args[0].equals("virtual")
                ? (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work)
                : new Thread(work);
        if (worker.getState() == Thread.State.NEW) worker.start();
        int written = 0;
        for (int i = 1; i < args.length; i++) {
            Thread.sleep(2);
            if (CProf.snapshot(args[i])) written++;
        }
        going = false;
        worker.join();
        System.out.println(written);
    }
}
