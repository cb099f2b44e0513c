// Shows: 131,070 contexts, and says how much of /dev/shm is left then. See tests/tests/whole/full.rs.
// not-run
class Bushes {
    static void left(int n) {
        if (n > 0) {
            left(n - 1);
            right(n - 1);
        }
    }

    static void right(int n) {
        if (n > 0) {
            left(n - 1);
            right(n - 1);
        }
    }

    public static void main(String[] args) {
        left(15);
        right(15);
        System.out.println(new java.io.File("/dev/shm").getUsableSpace());
    }
}
