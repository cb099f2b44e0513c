// Shows: Reference.get (which the interpreter replaces), ThreadLocal, WeakHashMap, clone, identity, instanceof, checkcast on arrays.
// expect: References.touch(Ljava/lang/ref/Reference;)I calls=20000 thrown=0
import java.lang.ref.Reference;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;

class References {
    static final ThreadLocal<int[]> LOCAL = ThreadLocal.withInitial(() -> new int[1]);

    static int touch(Reference<String> r) {
        String s = r.get();
        return s == null ? 0 : s.length();
    }

    static int measured() {
        String strong = "strong";
        Reference<String> weak = new WeakReference<>(strong), soft = new SoftReference<>(strong);
        int sum = 0;
        for (int i = 0; i < 10000; i++) {
            sum += touch(weak) + touch(soft) + LOCAL.get()[0]++;
            Object o = i % 2 == 0 ? new int[2] : new String[] {"a"};
            if (o instanceof Object[]) sum += ((String[]) o.getClass().cast(o)).clone().length;
            else sum += ((int[]) o).clone().length;
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println("References " + measured());
    }
}
