// Shows: Java called from native code: AccessController.doPrivileged, Class.forName initialisers, Object.clone, comparators
// in Arrays.sort, Thread.holdsLock; and a JNI library of our own that calls back, throws, clears and recurses (native/upcalls.c).
// expect: Upcalls.called(I)I calls=9000 thrown=3000
// expect: Upcalls.bounce(I)I calls=510 thrown=0
class Upcalls implements Cloneable {
    static native int callBack(int x);            // calls called(x), lets an exception through
    static native int callBackClearing(int x);    // calls called(x), clears an exception
    static native int recurse(int depth);         // calls bounce(depth), which calls recurse(depth - 1)
    native int construct(int x);                  // makes an instance: NewObject
    static native void throwNew(String message);  // ThrowNew: the exception's constructor runs below
    int x;

    Upcalls(int x) {
        if (x % 5 == 0) throw new IllegalArgumentException();
        this.x = x;
    }

    static int called(int x) {
        if (x % 3 == 0) throw new IllegalStateException();
        return x;
    }

    static int bounce(int depth) {
        return depth == 0 ? 0 : 1 + recurse(depth - 1);
    }

    static int compare(Integer a, Integer b) {
        return a % 10 == b % 10 ? a - b : a % 10 - b % 10;
    }

    static int measured() throws CloneNotSupportedException {
        int sum = 0;
        for (int i = 0; i < 4500; i++) {
            try {
                sum += callBack(i);
            } catch (IllegalStateException e) {
                sum += 2;
            }
            sum += callBackClearing(i);
        }
        for (int i = 0; i < 10; i++) sum += recurse(50);
        Upcalls self = new Upcalls(1);
        for (int i = 0; i < 1000; i++) {
            try {
                sum += self.construct(i);
            } catch (IllegalArgumentException e) {
                sum++;
            }
            try {
                throwNew("thrown natively");
            } catch (ArithmeticException e) {
                sum += e.getMessage().length();
            }
        }
        sum += ((Upcalls) self.clone()).x;
        Integer[] numbers = new Integer[500];
        for (int i = 0; i < numbers.length; i++) numbers[i] = i * 7919 % 503;
        java.util.Arrays.sort(numbers, Upcalls::compare);
        return sum + numbers[17];
    }

    public static void main(String[] args) throws CloneNotSupportedException {
        System.loadLibrary("upcalls");
        System.out.println("Upcalls " + measured());
    }
}
