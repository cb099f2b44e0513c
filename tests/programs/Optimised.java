// Shows: what C2 likes to remove: objects that do not escape, dead code and calls without effect, loop-invariant calls, lock
// coarsening and elision, unswitched and unrolled loops, branches never taken until late (uncommon traps), overriders loaded late
// (deoptimisation), on-stack replacement in one long loop.
// expect: Optimised.pure(I)I calls=41000 thrown=0
// expect: Optimised$Late.value()I calls=1000 thrown=0
class Optimised {
    static class Base { int value() { return 1; } }
    static class Late extends Base { @Override int value() { return 2; } }
    record Pair(int a, int b) { int sum() { return a + b; } }

    static int pure(int x) {
        return x * 31;
    }

    static int virtual(Base b) {
        return b.value();
    }

    static int rare(int i, Object o) {
        if (i == 39990) return o.toString().length();
        if (i > 39995) throw new IllegalStateException();
        return o instanceof Late ? 3 : 4;
    }

    static int measured() {
        int sum = 0;
        Base base = new Base();
        StringBuffer locked = new StringBuffer();
        for (int i = 0; i < 40000; i++) {
            pure(5);
            if (new Pair(i, 1).sum() == -1) sum += 100;
            if (i < 20000) sum += virtual(base);
            if (i % 100 == 0) {
                locked.append('a');
                locked.append('b');
                locked.setLength(0);
            }
            try {
                sum += rare(i, base instanceof Late ? locked : "abc");
            } catch (IllegalStateException e) {
                sum += 7;
            }
        }
        Base late = new Late();
        for (int i = 0; i < 1000; i++) sum += virtual(late) + pure(i);
        long total = 0;
        for (int i = 0; i < 60000; i++) {
            total += (i ^ sum) & 7;
            if (total % 1000003 == 1) total++;
        }
        return sum + (int) total;
    }

    public static void main(String[] args) {
        System.out.println("Optimised " + measured());
    }
}
