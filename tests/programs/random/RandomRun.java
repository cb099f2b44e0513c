// What the classes of tests/src/random use.
// not-run
public class RandomRun {
    /** How many calls may still lead to others. */
    public static int fuel;
    public static final Throwable failure = new Failure("made before");
    public static final Error error = new Error("made before");
    private static final Throwable[] caught = new Throwable[100_000];
    private static int count;

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
        if ((number & 1) == 0) throw (Failure) failure;
        return number;
    }

    /** Something has come to the driver. It is looked at when everything is over, as that is no part of what is measured. */
    public static int note(Throwable thrown) {
        caught[count++] = thrown;
        return count;
    }

    /** Has the JVM verify classes, but not initialise them. */
    public static int begin(String names) throws ClassNotFoundException {
        for (String name : names.split(" ")) Class.forName(name, false, RandomRun.class.getClassLoader()).getDeclaredMethods();
        return 0;
    }

    /** Prints what came out: the sum, and what was thrown where. */
    public static int end(String name, int sum) {
        int hash = 0;
        for (int i = 0; i < count; i++) {
            hash = hash * 31 + (caught[i].getClass() + " " + caught[i].getMessage()).hashCode();
            for (StackTraceElement at : caught[i].getStackTrace()) hash = hash * 31 + at.toString().hashCode();
        }
        System.out.println(name + " " + sum + " " + count + " " + hash);
        count = 0;
        return 0;
    }
}
