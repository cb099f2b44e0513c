// Shows: Runtime.halt with a loop half way and two frames active.
// measured: 4 to start (iconst_0 istore_0 iconst_0 istore_1), 21 rounds up to the call of step ...; left to the oracle.
// alone
// exit: 4
// expect: HaltDeep.step(I)I calls=21 thrown=0
// expect: HaltDeep.measured()I calls=1 thrown=0
class HaltDeep {
    static int step(int i) {
        if (i == 20) {
            Runtime.getRuntime().halt(4);
        }
        return i * 2;
    }

    static int measured() {
        int sum = 0;
        for (int i = 0; i < 100; i++) sum += step(i);
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("HaltDeep");
        measured();
    }
}
