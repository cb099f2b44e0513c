// Shows: a native thread that attaches, calls and detaches again and again (native/attaches.c), each time as another thread.
// not-run
class Attaches {
    static int calls;

    static void called() {
        calls++;
    }

    /** In one native thread, so many times in turn. */
    static native void attach(int times);

    public static void main(String[] arguments) {
        System.loadLibrary("upcalls");
        attach(Integer.parseInt(arguments[0]));
        System.out.println(calls);
    }
}
