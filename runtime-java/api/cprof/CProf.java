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
     * @return whether it was written; if not, the reason is on the standard error stream
     */
    public static boolean snapshot(String path) {
        return false;
    }

    /** Leaves what all threads execute from here on out of profiles, until {@link #resume}. */
    public static void pause() {
    }

    /** Counts again after {@link #pause}. */
    public static void resume() {
    }
}
