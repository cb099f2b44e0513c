// Shows: interface calls on eight receivers from one site, each with a body small enough to be inlined.
// expect: Megamorphic.apply(LMegamorphic$F;I)I calls=40000 thrown=0
// expect: Megamorphic$F3.f(I)I calls=5000 thrown=0 bytecodes=20000
class Megamorphic {
    interface F { int f(int x); }
    static class F0 implements F { public int f(int x) { return x; } }
    static class F1 implements F { public int f(int x) { return -x; } }
    static class F2 implements F { public int f(int x) { return x + x; } }
    static class F3 implements F { public int f(int x) { return x * 3; } }
    static class F4 implements F { public int f(int x) { return x > 4 ? 4 : x; } }
    static class F5 implements F { public int f(int x) { return x & 5; } }
    static class F6 implements F { int seen; public int f(int x) { return seen += x; } }
    static class F7 implements F { public int f(int x) { int s = 0; while (x > 1000) { x -= 1000; s++; } return s; } }

    static int apply(F f, int x) {
        return f.f(x);
    }

    static int measured() {
        F[] all = {new F0(), new F1(), new F2(), new F3(), new F4(), new F5(), new F6(), new F7()};
        int sum = 0;
        for (int i = 0; i < 40000; i++) sum += apply(all[i & 7], i);
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Megamorphic " + measured());
    }
}
