// Shows: one method called by invokevirtual, invokeinterface and invokespecial from one caller; calls of each kind that fail on null or
// reach a native method, which leave it open, without call sites, which of the kinds those were that called.
// expect: Kinds$Base.value(I)I calls=20000 thrown=0
// expect: Kinds$Sub.nullable(LKinds$Base;LKinds$Valued;I)I calls=3000
// expect: Kinds$Base.hashCode()I calls=7500
// expect: Kinds$Own.remainder(I)I calls=3000
class Kinds {
    interface Valued {
        int value(int x);

        int hashCode();
    }

    static class Plain implements Valued {
        public int value(int x) {
            return x;
        }
    }

    static class Base implements Valued {
        public int value(int x) {
            return x + 1;
        }

        @Override
        public int hashCode() {
            return 7;
        }
    }

    static class Sub extends Base {
        // Each execution calls: counts of sites tell the kinds. Base.value is called 2 + 1 + 2 times.
        int certain(Base b, Valued v, int x) {
            int sum = b.value(x) + b.value(twice(x));
            sum += v.value(x);
            for (int i = 0; i < 2; i++) sum += super.value(x);
            return sum;
        }

        static int twice(int x) {
            return x + x;
        }

        // Base.value is called 1 to 3 times.
        int nullable(Base b, Valued v, int x) {
            int sum = super.value(x);
            sum += b.value(x);
            return sum + v.value(x);
        }

        // Object.hashCode is native, Base.hashCode is not.
        int identity(Object o, Valued v) {
            return o.hashCode() + v.hashCode();
        }
    }

    static class Own {
        // The first is Object's whatever happens, so all calls of Base.hashCode are the second's.
        int hash(Base b) {
            return super.hashCode() > b.hashCode() ? 1 : 1;
        }

        // The constructor of ArithmeticException is called by invokespecial in every third call, and in every sixth by the JVM.
        static int remainder(int x) {
            try {
                if (x % 3 == 1) throw new ArithmeticException("one");
                return 7 / (x % 6);
            } catch (ArithmeticException e) {
                return 0;
            }
        }
    }

    static int measured() {
        Sub sub = new Sub();
        Base base = new Base();
        Own own = new Own();
        Plain plain = new Plain();
        int sum = 0;
        for (int i = 0; i < 3000; i++) {
            // Five calls of Base.value, of which plain takes one in every third round.
            sum += sub.certain(base, i % 3 == 0 ? plain : base, i);
            // 1, 2 and 3 calls: a null receiver ends the round.
            try {
                sum += sub.nullable(i % 3 == 0 ? null : base, i % 3 == 1 ? null : base, i);
            } catch (NullPointerException e) {
                sum++;
            }
            sum += sub.identity(i % 2 == 0 ? base : plain, base) == 14 ? 1 : 0;
            sum += own.hash(base) + Own.remainder(i);
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("Kinds " + measured());
    }
}
