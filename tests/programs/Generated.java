// Shows: what javac does not write, assembled by tests/src/assemble/odd.rs: subroutines (jsr, ret, also nested and left by an exception), a
// handler that is entered by fall-through and by a jump as well, a backward jump to bytecode 0, methods over 8000 bytes and close to
// 64 KB, a switch as the first instruction, goto_w, jsr_w, dup2_x1 and swap, an exception range that covers its own
// handler, a constructor that reuses the local of `this` before and after super(), with
// stack maps and without, and behind code that nothing leads to, one that has `this` in another local alone, longs stored across the parameters,
// synchronized as scalac writes it, and with an exception between catching one and releasing the monitor.
// expect: Assembled.subroutine(I)I calls=20000 thrown=5000 bytecodes=295000
// expect: Assembled.handlerByFlow(I)I calls=20000 thrown=0
// expect: Assembled.loopToStart(I)I calls=3000 thrown=0 bytecodes=69000
// expect: AssembledReuse.<init>(I)V calls=20000 thrown=10000 bytecodes=355000
// expect: AssembledMaps.<init>(I)V calls=20000 thrown=10000 bytecodes=355000
// expect: AssembledDead.<init>(I)V calls=20000 thrown=5000 bytecodes=185000
// expect: AssembledForgets.<init>(I)V calls=20000 thrown=5000 bytecodes=215000
// expect: AssembledMaps.wideOverParameters(I)I calls=20000 thrown=5000 bytecodes=350000
// expect: AssembledMonitors.lock(I)I calls=20000 thrown=3333 bytecodes=320001
// expect: AssembledMonitors.lateUnlock(I)I calls=20000 thrown=0 bytecodes=286662
// expect: AssembledHuge.huge(I)I calls=10 thrown=0 bytecodes=90270
// expect: AssembledLimit.limit(I)I calls=1 thrown=0 bytecodes=65028
class Generated {
    static int measured() {
        int sum = 0;
        for (int i = 0; i < 20000; i++) {
            try {
                sum += Assembled.subroutine(i);
            } catch (ArithmeticException e) {
                sum++;
            }
            sum += Assembled.handlerByFlow(i & 3);
            sum += Assembled.firstIsSwitch(i & 7);
            sum += Assembled.selfCovering(i & 3);
            try {
                sum += AssembledMonitors.lock(i);
            } catch (ArithmeticException e) {
                sum++;
            }
            sum += AssembledMonitors.lateUnlock(i);
            try {
                if (new AssembledReuse(i & 3) != null) sum += 3;
            } catch (ArithmeticException e) {
                sum++;
            }
            try {
                if (new AssembledMaps(i & 3) != null) sum += 3;
            } catch (ArithmeticException e) {
                sum++;
            }
            try {
                if (new AssembledDead(i & 3) != null) sum += 3;
            } catch (ArithmeticException e) {
                sum++;
            }
            try {
                if (new AssembledForgets(i & 3) != null) sum += 3;
            } catch (ArithmeticException e) {
                sum++;
            }
            try {
                sum += AssembledMaps.wideOverParameters(i & 3);
            } catch (ArithmeticException e) {
                sum++;
            }
        }
        for (int i = 0; i < 3000; i++) sum += Assembled.loopToStart(5);
        for (int i = 0; i < 10; i++) sum += AssembledHuge.huge(i);
        sum += AssembledLimit.limit(1);
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Generated " + measured());
    }
}
