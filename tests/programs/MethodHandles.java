// Shows: method handles invoked exactly and generically, combinators, constant call sites linked once, VarHandles of fields and arrays.
// expect: MethodHandles.target(II)I calls=20001 thrown=2000
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;

class MethodHandles {
    int field;
    static final MethodHandle TARGET, GUARDED, INSERTED;
    static final VarHandle FIELD, ARRAY;

    static {
        try {
            var lookup = java.lang.invoke.MethodHandles.lookup();
            MethodType two = MethodType.methodType(int.class, int.class, int.class);
            TARGET = lookup.findStatic(MethodHandles.class, "target", two);
            INSERTED = java.lang.invoke.MethodHandles.insertArguments(TARGET, 1, 5);
            GUARDED = java.lang.invoke.MethodHandles.catchException(TARGET, ArithmeticException.class,
                java.lang.invoke.MethodHandles.dropArguments(
                    java.lang.invoke.MethodHandles.constant(int.class, -1), 0, ArithmeticException.class));
            FIELD = lookup.findVarHandle(MethodHandles.class, "field", int.class);
            ARRAY = java.lang.invoke.MethodHandles.arrayElementVarHandle(int[].class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static int target(int a, int b) {
        return a / b;
    }

    static int measured() throws Throwable {
        int sum = 0;
        for (int i = 0; i < 10000; i++) {
            sum += (int) INSERTED.invokeExact(i);
            sum += (int) GUARDED.invokeExact(i, i % 5);
        }
        Object boxed = TARGET.invoke((Integer) 8, (short) 2);
        sum += (Integer) boxed;
        MethodHandles m = new MethodHandles();
        int[] array = new int[4];
        for (int i = 0; i < 10000; i++) {
            sum += (int) FIELD.getAndAdd(m, 2);
            FIELD.setVolatile(m, i);
            if (FIELD.compareAndSet(m, i, i + 1)) sum++;
            sum += (int) ARRAY.getAcquire(array, i & 3);
            ARRAY.setRelease(array, i & 3, i);
        }
        return sum;
    }

    public static void main(String[] args) throws Throwable {
        System.out.println("MethodHandles " + measured());
    }
}
