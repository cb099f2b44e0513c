// Pauses more than once; asks and ends in a pause. tests/tests/whole/api.rs runs it.
import cprof.CProf;

class Often {
    static int sum;

    static void work() {
        sum++;
    }

    static void works(int times) {
        for (int i = 0; i < times; i++) work();
    }

    static void round(String snapshot) {
        CProf.pause();
        works(1000);
        CProf.resume();
        works(3);
        CProf.pause();
        works(10);
        System.out.println(CProf.bytecodes("Often.work") + " " + CProf.snapshot(snapshot));
        works(20);
        CProf.resume();
        works(4);
    }

    public static void main(String[] args) {
        for (int i = 0; i < 5; i++) round(args[0]);
        CProf.pause();
        works(100);
        System.out.println(CProf.bytecodes("Often.work"));
    }
}
