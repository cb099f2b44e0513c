// Shows: constructors that fail inside super(...) and this(...), where no handler can be, and what goes on being called then: by native code
// (the JVM wraps the exception, on JDK 17), and by a class that a test excludes, whose calls stay below their true caller.
// expect: SuperFails$Base.<init>(I)V calls=1628 thrown=891
// expect: SuperFails.after(I)I calls=1962 thrown=0
import java.lang.reflect.InvocationTargetException;

class SuperFails {
    static int after(int x) {
        return x + 1;
    }

    static int check(int x) {
        if (x == 1) throw new IllegalArgumentException();
        return x;
    }

    static class Base {
        Base(int x) {
            if (x == 0) throw new IllegalStateException();
        }
    }

    static class Middle extends Base {
        Middle(int x) {
            super(check(x));
        }

        Middle() {
            this(0);
        }
    }

    public static class Last extends Middle {
        Last(int x) {
            super(x);
        }

        public Last() {
        }
    }

    /** Makes others of its superclass and of its own before it is made itself, and after. */
    static class Nested extends Base {
        int tried;

        Nested(int x) {
            super(x % 3 + Catches.made(x % 2));
            try {
                new Base(x % 2);
            } catch (IllegalStateException e) {
                tried = after(x);
            }
            if (x > 4) tried += after(new Nested(x - 5).tried);
        }
    }

    /** A test excludes it. */
    static class Catches {
        static int made(int x) {
            try {
                new Last(x);
                return after(1);
            } catch (IllegalArgumentException e) {
                return after(2);
            } catch (IllegalStateException e) {
                return after(after(-2));
            }
        }
    }

    static int measured() {
        int sum = 0;
        // Fewer than make JDK 17 generate classes for reflection.
        for (int i = 0; i < 10; i++) {
            try {
                Last.class.getDeclaredConstructor().newInstance();
            } catch (InvocationTargetException e) {
                sum = after(sum);
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }
        for (int i = 0; i < 500; i++) {
            sum += Catches.made(i % 3);
            try {
                sum += new Nested(i % 7).tried;
            } catch (IllegalStateException e) {
                sum += after(i);
            }
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("SuperFails " + measured());
    }
}
