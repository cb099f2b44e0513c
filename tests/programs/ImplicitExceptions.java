// Shows: every exception the JVM itself throws at a bytecode, thousands of times, so that compiled code would throw preallocated
// ones (OmitStackTraceInFastThrow) and lose the constructor calls.
// expect: ImplicitExceptions.provoke(I[ILjava/lang/Object;)I calls=64000 thrown=48000
// expect: java.lang.ArithmeticException.<init>(Ljava/lang/String;)V calls=28000 thrown=0
// expect: java.lang.NegativeArraySizeException.<init>(Ljava/lang/String;)V calls=8000 thrown=0
class ImplicitExceptions {
    static Object[] strings = new String[1];
    int field;

    static int provoke(int i, int[] a, Object o) {
        switch (i & 7) {
            case 0: return a[1] / a[0];
            case 1: return a[i];
            case 2: return ((ImplicitExceptions) null).field + i;
            case 3: return ((String) o).length();
            case 4: strings[0] = o; return 1;
            case 5: return new int[-i].length;
            case 6: return a.length;
            default: return o.hashCode() == 0 ? 0 : 1;
        }
    }

    static int caughtInside(int i, int[] a, Object o) {
        int n = 0;
        try {
            n = i;
            n += a[i];
            n += 5;
        } catch (ArrayIndexOutOfBoundsException e) {
            n++;
        }
        try {
            n %= a[0];
            n++;
        } catch (ArithmeticException e) {
            n--;
        }
        try {
            n += ((Integer) o).intValue();
        } catch (ClassCastException e) {
            n ^= 1;
        }
        return n;
    }

    static int measured() {
        int sum = 0;
        int[] a = {0, 5, 7};
        Object o = new Object();
        for (int i = 0; i < 64000; i++) {
            try {
                sum += provoke(i, (i & 7) == 1 ? new int[0] : a, (i & 7) == 7 ? "x" : o);
            } catch (ArithmeticException | ArrayIndexOutOfBoundsException e) {
                sum++;
            } catch (RuntimeException e) {
                sum += 2;
            }
        }
        for (int i = 0; i < 20000; i++) sum += caughtInside(i % 5, a, o);
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("ImplicitExceptions " + measured());
    }
}
