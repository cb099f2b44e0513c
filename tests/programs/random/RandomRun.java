// What the classes of tests/src/random use.
// not-run
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

public class RandomRun {
    /** How many calls may still lead to others. */
    public static int fuel;
    public static final Throwable failure = new Failure("made before");
    public static final Error error = new Error("made before");
    /** Where they were made is looked up now: when an agent has come, that method's lines are not known any more. */
    private static final int made = failure.getStackTrace().length + error.getStackTrace().length;
    /** How many calls of {@link #odd} until the JVM is halted; 0: it is not. */
    private static int left;
    private static boolean byAnother;
    private static final Throwable[] caught = new Throwable[100_000];
    private static int count;

    /** Runs the class that each line names; what is behind the name are its arguments. */
    public static void main(String[] arguments) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = requests.readLine()) != null; ) {
            String[] name = line.split(" ", 2);
            String[] its = name.length == 1 ? new String[0] : new String[] {name[1]};
            Class.forName(name[0]).getMethod("main", String[].class).invoke(null, (Object) its);
        }
    }

    public static class Failure extends RuntimeException {
        public Failure(String message) {
            super(message);
        }
    }

    public static class Base {
        final int number;

        public Base(int number) {
            this.number = number;
            if ((number & 3) == 3) throw (Failure) failure;
        }
    }

    /** Throws half the time. */
    public static int odd(int number) {
        if (--left == 0) halt();
        if ((number & 1) == 0) throw (Failure) failure;
        return number;
    }

    /** Ends the JVM with its frames as they are. */
    private static void halt() {
        if (!byAnother) Runtime.getRuntime().halt(5);
        synchronized (caught) {
            Thread halting = new Thread(RandomRun::haltNow);
            halting.start();
            while (true) {
                try {
                    caught.wait();
                } catch (InterruptedException ignored) {
                }
            }
        }
    }

    private static void haltNow() {
        // When the other one waits.
        synchronized (caught) {
            Runtime.getRuntime().halt(5);
        }
    }

    /** Links a call site, if its name is not that of a failure. */
    public static CallSite site(MethodHandles.Lookup lookup, String name, MethodType type) throws Exception {
        fail(name);
        return new ConstantCallSite(lookup.findStatic(RandomRun.class, name, type));
    }

    /** Computes a constant, if its name is not that of a failure. */
    public static Object constant(MethodHandles.Lookup lookup, String name, Class<?> type) {
        fail(name);
        if (type == int.class) return 5;
        return 5L;
    }

    private static void fail(String name) {
        if (name.equals("fails")) throw (Failure) failure;
        if (name.equals("breaks")) throw error;
    }

    /** Something has come to the driver. It is looked at when everything is over, as that is no part of what is measured. */
    public static int note(Throwable thrown) {
        caught[count++] = thrown;
        return count;
    }

    /** Has the JVM verify classes, but not initialise them. */
    public static int begin(String names) throws ClassNotFoundException, IOException {
        try (InputStream halt = RandomRun.class.getResourceAsStream("halt")) {
            if (halt != null) left = Integer.parseInt(new String(halt.readAllBytes()));
            byAnother = left % 2 == 0;
        }
        for (String name : names.split(" ")) Class.forName(name, false, RandomRun.class.getClassLoader()).getDeclaredMethods();
        return 0;
    }

    /** Prints what came out: the sum, and what was thrown where. */
    public static int end(String name, int sum) {
        int hash = 0;
        for (int i = 0; i < count; i++) {
            hash = hash * 31 + (caught[i].getClass() + " " + caught[i].getMessage()).hashCode();
            for (StackTraceElement at : caught[i].getStackTrace()) {
                // Callers of main were active when an agent came, and have no lines then.
                if (at.getClassName().equals(name) && at.getMethodName().equals("main")) break;
                hash = hash * 31 + at.toString().hashCode();
            }
        }
        System.out.println(name + " " + sum + " " + count + " " + hash);
        count = 0;
        return 0;
    }
}
