// Shows: methods that C1, C2 or the interpreter replace by machine code, hot: Math, Objects, Arrays, System.arraycopy, Integer bits,
// boxing caches, Object.getClass/hashCode, Class.isInstance, CRC32, Thread.currentThread, Unsafe-backed atomics.
// expect: Intrinsics.body(I[I[I)I calls=20000 thrown=0
// expect: java.lang.Integer.bitCount(I)I calls=20000 thrown=0
// expect: java.util.Objects.checkIndex(II)I calls=20000 thrown=0
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

class Intrinsics {
    static final AtomicInteger ATOMIC = new AtomicInteger();

    static int body(int i, int[] a, int[] b) {
        int sum = Math.max(i, 7) + Math.min(i, 9) + Math.abs(-i) + Integer.bitCount(i) + Long.numberOfTrailingZeros(i);
        sum += Objects.checkIndex(i & 7, a.length) + Integer.reverseBytes(i) + Integer.numberOfLeadingZeros(i);
        sum += Math.addExact(i, 3) + Math.multiplyExact(i, 2) + (int) Math.multiplyHigh(i, 5L);
        sum += (int) Double.doubleToLongBits(i) + Float.floatToIntBits(i) + Integer.compare(i, 5) + Character.toLowerCase('A');
        System.arraycopy(a, 0, b, 1, 4);
        sum += Arrays.equals(a, b) ? 1 : 0;
        int[] c = Arrays.copyOf(a, 5);
        Arrays.fill(c, i);
        sum += c[4] + ATOMIC.getAndIncrement() + ATOMIC.addAndGet(2);
        sum += Integer.toString(i & 63).length() + Objects.requireNonNull(c).length;
        sum += ((Object) c).getClass() == int[].class ? 1 : 0;
        sum += Number.class.isInstance(a) ? 1 : 0;
        return sum;
    }

    static int boxing(int n) {
        Integer total = 0;
        Long big = 0L;
        for (int i = 0; i < n; i++) {
            total += i;
            big = big + total;
            Boolean odd = (i & 1) == 1;
            if (odd) total -= Character.valueOf((char) i).charValue() & 1;
        }
        return total + big.intValue();
    }

    static int measured() {
        int sum = 0;
        int[] a = {1, 2, 3, 4, 5, 6, 7, 8}, b = new int[8];
        for (int i = 0; i < 20000; i++) sum += body(i, a, b);
        for (int i = 0; i < 200; i++) sum += boxing(100);
        return sum;
    }

    public static void main(String[] args) {
        Long.valueOf(1); // initialised already when cprof is there
        System.out.println("Intrinsics " + measured());
    }
}
