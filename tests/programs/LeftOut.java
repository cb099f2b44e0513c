// Shows: a class that the user left out when cprof came is not touched: its lambda without captures stays the object that it was.
// Natives of such classes are counted where they are called.
// not-run
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

class LeftOut {
    static class Own {
        int mix(int i) {
            return System.identityHashCode(this) ^ i;
        }
    }

    static class Counted {
        static int measured(int times) {
            Own own = new Own();
            int same = 0;
            for (int i = 0; i < times; i++) {
                // Inherited from Object, by way of a class that is left out.
                if (own.getClass() == Own.class) same++;
                if (own.mix(i) != System.identityHashCode(own) + times) same++;
            }
            return same;
        }
    }

    static Runnable linked() {
        return () -> { };
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Counted.measured(1);
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("lambda")) {
                System.out.println(System.identityHashCode(linked()));
            } else {
                Counted.measured(Integer.parseInt(line));
                System.out.println("measured");
            }
        }
    }
}
