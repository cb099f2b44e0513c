import cprof.CProf;
import java.util.function.IntUnaryOperator;

/** Reads its own counts: before, between and after calls, from within one, and of methods that do not run. */
public final class Reading {
    private Reading() {}

    public static void main(String[] args) {
        System.out.println(CProf.bytecodes("Reading.work"));
        work(10);
        long once = CProf.bytecodes("Reading.work");
        work(10);
        long twice = CProf.bytecodes("Reading.work(I)I");
        System.out.println(once + " " + (twice - once) + " " + CProf.bytecodes("Reading.nobody"));
        // The call that asks is counted up to here.
        System.out.println(within() > 0);
        CProf.pause();
        work(10);
        CProf.resume();
        try {
            work(-1);
        } catch (IllegalArgumentException e) {
            // counted up to the throw
        }
        System.out.println(CProf.bytecodes("Reading.work"));
    }

    static int work(int n) {
        if (n < 0) throw new IllegalArgumentException();
        IntUnaryOperator square = x -> x * x;
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += square.applyAsInt(i);
        }
        return sum;
    }

    static long within() {
        return CProf.bytecodes("Reading.within");
    }
}
