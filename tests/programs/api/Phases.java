// Pauses, resumes and takes a snapshot while method caches are simulated; tests/tests/whole/steered_caches.rs runs it. No method but measured
// runs in two phases in one context, and what it executes itself in each is named there.
import cprof.CProf;

class Phases {
    static String snapshot;
    static boolean written;
    static int sum;

    static int near(int x) {
        return x + 1;
    }

    static int twice(int x) {
        return near(x) * near(x + 1);
    }

    // Larger than its siblings, so that it displaces some.
    static int large(int x) {
        int a = x * 3 + 1, b = a ^ x, c = b - a * 5, d = c + b * 7;
        if (a > b) a = twice(d) - c;
        if (b > c) b = near(a) + d;
        if (c > d) c = twice(b) ^ a;
        return a * 31 + b * 17 + c * 13 + d * 11 + twice(a - d) + near(b + c);
    }

    // With these, more methods than a cache of 16 blocks holds.
    static int a(int x) { return b(x ^ 1) + 1; }
    static int b(int x) { return c(x ^ 2) + 1; }
    static int c(int x) { return d(x ^ 3) + 1; }
    static int d(int x) { return e(x ^ 4) + 1; }
    static int e(int x) { return f(x ^ 5) + 1; }
    static int f(int x) { return g(x ^ 6) + 1; }
    static int g(int x) { return h(x ^ 7) + 1; }
    static int h(int x) { return i(x ^ 8) + 1; }
    static int i(int x) { return j(x ^ 9) + 1; }
    static int j(int x) { return k(x ^ 10) + 1; }
    static int k(int x) { return l(x ^ 11) + 1; }
    static int l(int x) { return m(x ^ 12) + 1; }
    static int m(int x) { return near(x ^ 13) + 1; }

    static int thrown(int x) {
        try {
            if (x % 3 == 0) throw FIXED;
            return large(x) + a(x);
        } catch (RuntimeException e) {
            return twice(x);
        }
    }

    static final RuntimeException FIXED = new RuntimeException("fixed");

    static void before(int n) {
        for (int i = 0; i < n; i++) sum += large(i) + a(i) + twice(i);
    }

    static void leftOut(int n) {
        for (int i = 0; i < n; i++) sum += thrown(i) - large(i);
    }

    static void between(int n) {
        for (int i = 0; i < n; i++) sum += thrown(i) ^ twice(i);
    }

    static void leftOutToo(int n) {
        for (int i = 0; i < n; i++) sum += twice(i) - thrown(i);
    }

    static void late(int n) {
        for (int i = 0; i < n; i++) sum -= large(i) * thrown(i);
    }

    static void pause() {
        CProf.pause();
    }

    static void resume() {
        CProf.resume();
    }

    static void pauseAgain() {
        CProf.pause();
    }

    static void resumeAgain() {
        CProf.resume();
    }

    static void snapshot() {
        written = CProf.snapshot(snapshot);
    }

    static void measured() {
        before(3000);
        pause();
        leftOut(5000);
        resume();
        between(2000);
        snapshot();
        late(7000);
        pauseAgain();
        leftOutToo(4000);
        resumeAgain();
    }

    public static void main(String[] args) {
        snapshot = System.getProperty("snapshot");
        CProf.resume(); // the class is loaded now
        measured();
        System.out.println(sum + " " + written);
    }
}
