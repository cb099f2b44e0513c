// Steers its own profile through the public API; tests/tests/whole/api.rs runs it with and without the agent.
import cprof.CProf;

class Steered {
    static int step(int n) {
        return n + 1;
    }

    static int counted(int n) {
        return step(n);
    }

    static int leftOut(int n) {
        return step(n);
    }

    static int late(int n) {
        return step(n);
    }

    public static void main(String[] args) {
        int n = 0;
        for (int i = 0; i < 10; i++) n = counted(n);
        CProf.pause();
        for (int i = 0; i < 20; i++) n = leftOut(n);
        CProf.resume();
        for (int i = 0; i < 30; i++) n = counted(n);
        boolean written = CProf.snapshot(args[0]);
        for (int i = 0; i < 40; i++) n = late(n);
        System.out.println(n + " " + written);
    }
}
