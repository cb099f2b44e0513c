// Shows: objects and arrays of every kind of instruction that makes them, made or not; tests/tests/whole/allocations.rs knows how many.
// expect: Makes.<init>()V calls=100 thrown=0
class Makes {
    static Object made;

    static class Fails {
        static {
            if (made != null) throw new IllegalStateException();
        }
    }

    static void objects(int n) {
        for (int i = 0; i < n; i++) made = new Makes();
        for (int i = 0; i < n; i++) made = Integer.valueOf(1000 + i);
    }

    static void arrays(int n) {
        for (int i = 0; i < n; i++) made = new int[i];
        for (int i = 0; i < n; i++) made = new String[i][];
        for (int i = 0; i < n; i++) made = new long[2][3][];
        for (int i = 0; i < n; i++) made = new short[] { 1, 2, 3 }.clone();
    }

    static int refused(int n) {
        int refused = 0;
        for (int i = 0; i < n; i++) {
            try {
                made = new double[i - n / 2];
            } catch (NegativeArraySizeException e) {
                refused++;
            }
        }
        for (int i = 0; i < n; i++) {
            try {
                made = new Fails();
            } catch (LinkageError e) {
                refused++;
            }
        }
        return refused;
    }

    static int measured() {
        objects(100);
        arrays(100);
        return refused(100);
    }

    public static void main(String[] args) {
        // Loads classes.
        objects(1);
        arrays(1);
        System.out.println("Makes " + measured());
    }
}
