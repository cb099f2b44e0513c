// Shows: self recursion, mutual recursion, Ackermann, and recursion 2000 deep.
// fib(15): 2 F(16) - 1 = 1973 calls, of which 987 leaves of 6 bytecodes and 986 others of 13 (and one goto less, one more).
// even/odd: 1001 calls in turn; deep: 2001 contexts below each other.
// expect: Recursion.fib(I)I calls=1973 thrown=0 bytecodes=18740
// expect: Recursion.even(I)Z calls=501 thrown=0
// expect: Recursion.odd(I)Z calls=500 thrown=0
// expect: Recursion.deep(I)I calls=2001 thrown=0
class Recursion {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static boolean even(int n) {
        return n == 0 || odd(n - 1);
    }

    static boolean odd(int n) {
        return n != 0 && even(n - 1);
    }

    static int deep(int n) {
        return n == 0 ? 0 : 1 + deep(n - 1);
    }

    static int ackermann(int m, int n) {
        if (m == 0) return n + 1;
        if (n == 0) return ackermann(m - 1, 1);
        return ackermann(m - 1, ackermann(m, n - 1));
    }

    static int measured() {
        return fib(15) + (even(1000) ? 1 : 0) + deep(2000) + ackermann(2, 6);
    }

    public static void main(String[] args) {
        System.out.println("Recursion " + measured());
    }
}
