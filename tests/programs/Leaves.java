// Shows: leaf methods with branches, loops, and exceptions, methods of one bytecode, empty methods, getters and constants.
// expect: Leaves.empty()V calls=30000 thrown=0 bytecodes=30000
// expect: Leaves.constant()I calls=30000 thrown=0 bytecodes=60000
// expect: Leaves.get()I calls=30000 thrown=0 bytecodes=90000
// expect: Leaves.set(I)V calls=30000 thrown=0 bytecodes=120000
// expect: Leaves.sign(I)I calls=30000 thrown=0
// expect: Leaves.nullable(LLeaves;)I calls=30000 thrown=3000 bytecodes=87000
class Leaves {
    int x = 1;

    static void empty() {
    }

    static int constant() {
        return 42;
    }

    int get() {
        return x;
    }

    void set(int y) {
        x = y;
    }

    static int sign(int x) {
        return x > 0 ? 1 : x < 0 ? -1 : 0;
    }

    // aload_0 getfield ireturn: the 3000 that throw end after two.
    static int nullable(Leaves l) {
        return l.x;
    }

    static int bits(int x) {
        int n = 0;
        while (x != 0) {
            x &= x - 1;
            n++;
        }
        return n;
    }

    static int find(int[] a, int x) {
        for (int i = 0; i < a.length; i++) if (a[i] == x) return i;
        return -1;
    }

    static int measured() {
        Leaves l = new Leaves();
        int[] a = {5, 4, 3, 2, 1};
        int sum = 0;
        for (int i = 0; i < 30000; i++) {
            empty();
            l.set(l.get() + constant() + sign(i - 5));
            try {
                sum += nullable(i % 10 == 0 ? null : l);
            } catch (NullPointerException e) {
                sum++;
            }
            sum += bits(i & 15) + find(a, i & 7);
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Leaves " + measured());
    }
}
