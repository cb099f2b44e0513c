// Shows: System.exit from below, with frames still active: their calls count, they have no exit, and what they had executed counts.
// measured .. down(0): 101 calls of down, of which none returns.
// down: iload_0 ifne iload_0 iconst_1 isub invokestatic = 6 for 100 of them; the last iload_0 ifne iconst_3 invokestatic = 4.
// alone
// exit: 3
// roots: ExitDeep.hook
// only: ExitDeep.measured
// timing: java.lang.Thread.join(
// expect: ExitDeep.down(I)I calls=101 thrown=0 bytecodes=604
// expect: ExitDeep.hook()V calls=1 thrown=0 bytecodes=1
// expect: ExitDeep.measured()I calls=1 thrown=0 bytecodes=2
class ExitDeep {
    static int down(int n) {
        if (n == 0) System.exit(3);
        return down(n - 1) + 1;
    }

    static void hook() {
    }

    static int measured() {
        return down(100);
    }

    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(ExitDeep::hook));
        System.out.println("ExitDeep");
        measured();
    }
}
