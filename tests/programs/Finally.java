// Shows: try/finally in every shape: falling through, return, break, continue, a throw in finally, return in finally that
// swallows, nested, in loops, try with resources with suppressed exceptions, catch inside finally.
// expect: Finally.thrower(I)I calls=67000 thrown=15000
// thrower: 16000 each from plain, swallow and replace, 3 from each of 1000 loops, 13000 and 3000; a quarter of the first three and
// the last 3000 throw.
class Finally {
    static int trace;

    static int thrower(int x) {
        if (x % 4 == 0) throw new RuntimeException();
        return x;
    }

    static int plain(int x) {
        try {
            return thrower(x);
        } finally {
            trace++;
        }
    }

    static int swallow(int x) {
        try {
            return thrower(x);
        } finally {
            return trace;
        }
    }

    static int replace(int x) {
        try {
            thrower(x);
        } finally {
            if (x % 8 == 0) throw new IllegalStateException();
        }
        return 2;
    }

    static int loop(int x) {
        int n = 0;
        for (int i = x; ; i++) {
            try {
                n += thrower(i);
                if (i % 4 == 1) continue;
                if (i % 4 == 3) break;
            } catch (RuntimeException e) {
                n--;
            } finally {
                n += 2;
                try {
                    if (i % 4 == 2) throw new Error();
                } catch (Error e) {
                    n += 3;
                } finally {
                    trace ^= n;
                }
            }
        }
        return n;
    }

    record Resource(int x) implements AutoCloseable {
        Resource {
            if (x % 5 == 4) throw new IllegalArgumentException();
        }

        @Override
        public void close() {
            trace += 3;
            if (x % 3 == 0) throw new IllegalStateException("close");
        }
    }

    static int resources(int x) {
        try (Resource a = new Resource(x); Resource b = new Resource(x + 1)) {
            if (x % 7 == 0) throw new RuntimeException("body");
            return a.x + b.x;
        } catch (IllegalArgumentException e) {
            return 1;
        } catch (RuntimeException e) {
            return e.getSuppressed().length;
        }
    }

    static int measured() {
        int sum = 0;
        for (int i = 0; i < 16000; i++) {
            try {
                sum += plain(i);
            } catch (RuntimeException e) {
                sum++;
            }
            sum ^= swallow(i);
            try {
                sum += replace(i);
            } catch (IllegalStateException e) {
                sum += 2;
            } catch (RuntimeException e) {
                sum += 3;
            }
            if (i % 16 == 1) sum += loop(i);
        }
        for (int i = 0; i < 13000; i++) try { sum += thrower(4 * i + 1); } finally { trace++; }
        for (int i = 0; i < 3000; i++) try { thrower(4 * i); } catch (RuntimeException e) { sum++; }
        for (int i = 0; i < 2100; i++) sum += resources(i);
        return sum + trace;
    }

    public static void main(String[] args) {
        System.out.println("Finally " + measured());
    }
}
