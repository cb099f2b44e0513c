// Shows: an exception that leaves main: every frame is left by it, the default handler prints, the exit code is 1.
// alone
// exit: 1
// roots: Uncaught.main
// only: Uncaught.main
// expect: Uncaught.measured(I)I calls=11 thrown=11
// expect: Uncaught.main([Ljava/lang/String;)V calls=1 thrown=1
class Uncaught {
    static int measured(int n) {
        if (n == 0) throw new IllegalStateException("uncaught");
        return measured(n - 1) + 1;
    }

    public static void main(String[] args) {
        System.out.println("Uncaught");
        measured(10);
    }
}
