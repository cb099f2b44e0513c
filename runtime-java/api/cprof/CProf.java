package cprof;

/**
 * Lets a program steer its own profile. Harmless without the cprof agent: {@link #snapshot} then answers false and the
 * others do nothing. Under the agent this class is replaced, as it loads, by one that does what is said here.
 */
public final class CProf {
    private CProf() {}

    /**
     * Writes a profile of everything counted so far; counting goes on.
     *
     * @param path the file to write, as in the agent's {@code out=}
     * @return whether it was written; if not, the reason is on the standard error stream, or where cprof was attached to the JVM in
     *     the profile's warnings; the last threads of a JVM that has ended are told none
     */
    public static boolean snapshot(String path) {
        return false;
    }

    /**
     * Leaves what all threads execute from here on out of profiles, until {@link #resume}. Pauses do not nest. Both stop all threads
     * for a moment and note what each has executed, as a snapshot does: some milliseconds, a twentieth of a second to a quarter for a
     * million contexts, and half a second with 20,000 virtual threads.
     */
    public static void pause() {
    }

    /** Counts again after {@link #pause}, however often that was called. */
    public static void resume() {
    }

    /**
     * The bytecodes that calls of a method have executed so far, with everything they called, in all threads. Exact; takes about
     * as long as a snapshot.
     *
     * @param method as in the agent's {@code root=}: {@code com.acme.Codec.encode}, a descriptor may follow; what fits no method has
     *     executed nothing
     * @return 0 when it was not called or is not counted; -1 without the agent; -2 when the counts could not be read, or contexts are
     *     folded so that they do not tell, whatever the method (the reason is then on the standard error stream, or in the profile's
     *     warnings)
     */
    public static long bytecodes(String method) {
        return -1;
    }
}
