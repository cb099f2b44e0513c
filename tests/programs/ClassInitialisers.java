// Shows: class initialisers run by the VM below the bytecode that needs them: by static call, field, new, reflection, superclass,
// interface with default methods, recursive initialisation, and ones that fail (ExceptionInInitializerError, then NoClassDefFoundError).
// expect: ClassInitialisers$Bad.<clinit>()V calls=1 thrown=1
// expect: ClassInitialisers$Error1.<clinit>()V calls=1 thrown=1
// expect: ClassInitialisers$Child.<clinit>()V calls=1 thrown=0
// expect: ClassInitialisers$Iface.<clinit>()V calls=1 thrown=0
// expect: ClassInitialisers$Late.read()I calls=1 thrown=0
// expect: ClassInitialisers$LateBad.read()I calls=1 thrown=1
class ClassInitialisers {
    static int log;

    static int tick(int n) {
        log = log * 3 + n;
        return n;
    }

    static class Parent { static int p = tick(1); static void call() { } }
    interface Iface { int I = tick(2); default int d() { return I; } }
    static class Child extends Parent implements Iface { static int c = tick(3); int f = 4; }
    // A superclass is initialised before an interface whose methods its objects have already.
    interface Late { int X = tick(8); default int read() { return X; } }
    static class Early { static int e = new Later().read(); }
    static class Later extends Early implements Late { }
    interface LateBad { int X = tick(9) / (log - log); default int read() { return X; } }
    static class EarlyBad {
        static {
            try {
                new LaterBad().read();
            } catch (ExceptionInInitializerError e) {
                tick(10);
            }
        }
    }
    static class LaterBad extends EarlyBad implements LateBad { }
    static class Bad { static int b = tick(4) / (log - log); static int get() { return b; } }
    static class Error1 { static int b = fail(); static int fail() { throw new StackOverflowError(); } }
    static class One { static int one = tick(5) + Two.two; }
    static class Two { static int two = tick(6) + One.one; }
    static class ByReflection { static { tick(7); } }
    static class Constant { static final int K = 5; static { tick(100); } } // never initialised

    static int measured() throws Exception {
        int sum = Constant.K;
        sum += new Child().f + Child.c;
        Parent.call();
        for (int i = 0; i < 3000; i++) {
            try {
                sum += i % 2 == 0 ? Bad.get() : Bad.b;
            } catch (ExceptionInInitializerError e) {
                sum += 10;
            } catch (NoClassDefFoundError e) {
                sum++;
            }
        }
        try {
            sum += Error1.b;
        } catch (StackOverflowError e) {
            sum++;
        }
        sum += One.one + Two.two;
        new Later();
        try {
            new LaterBad();
        } catch (NoClassDefFoundError e) {
            sum++;
        }
        Class.forName("ClassInitialisers$ByReflection");
        try {
            Class.forName("ClassInitialisers$Missing");
        } catch (ClassNotFoundException e) {
            sum++;
        }
        return sum + log;
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ClassInitialisers " + measured());
    }
}
