// Shows: reflective calls (past the inflation threshold of 17), constructors, fields, exceptions wrapped, proxies, annotations
// read; callbacks stay below their true caller.
// expect: Reflection.target(I)I calls=6000 thrown=1000
// expect: Reflection$Handler.invoke(Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;)Ljava/lang/Object; calls=3000 thrown=300
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

class Reflection {
    public static int target(int x) {
        if (x % 6 == 0) throw new IllegalStateException();
        return x + 1;
    }

    public Reflection() {
    }

    public int field = 2;

    interface Greeter { int greet(int x); }

    static class Handler implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            int x = (Integer) arguments[0];
            if (x % 10 == 0) throw new IllegalArgumentException();
            return x * 2;
        }
    }

    static int body() throws Exception {
        Method target = Reflection.class.getMethod("target", int.class);
        var constructor = Reflection.class.getDeclaredConstructor();
        var field = Reflection.class.getField("field");
        int sum = 0;
        for (int i = 0; i < 6000; i++) {
            try {
                sum += (Integer) target.invoke(null, i);
            } catch (InvocationTargetException e) {
                sum += e.getCause() instanceof IllegalStateException ? 1 : 1000;
            }
            if (i % 10 == 0) sum += field.getInt(constructor.newInstance());
        }
        Greeter g = (Greeter) Proxy.newProxyInstance(Reflection.class.getClassLoader(), new Class<?>[] {Greeter.class}, new Handler());
        for (int i = 0; i < 3000; i++) {
            try {
                sum += g.greet(i);
            } catch (IllegalArgumentException e) {
                sum++;
            }
        }
        return sum;
    }

    static int measured() throws Exception {
        return body();
    }

    public static void main(String[] args) throws Exception {
        body(); // loads and links: Cold, Lambdas and MethodHandles show that
        System.out.println("Reflection " + measured());
    }
}
