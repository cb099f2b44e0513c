package linearscan;

/**
 * A method cache as the published profiler simulated it: one for all threads, looked up under a lock, by a search through the
 * names of its blocks. Geometry 4k/16.
 *
 * <p>On the boot class path, as the code that calls it is in every class; it calls nothing itself.
 */
public final class Cache {
    private static final int BLOCKS = 16;
    private static final int BLOCK_SIZE = 256;
    /** Most methods that can be told apart. */
    public static final int METHODS = 1 << 18;

    /** Bytes of code by method, whose numbers begin with 1. */
    public static final int[] CODE_LENGTH = new int[METHODS];
    public static long lookups, misses;

    private static final int[] names = new int[BLOCKS];
    private static int next;

    private Cache() {}

    /** A method is entered, or returned to. */
    public static synchronized void look(int method) {
        lookups++;
        for (int i = 0; i < BLOCKS; i++) {
            if (names[i] == method) return;
        }
        misses++;
        int name = method;
        for (int left = CODE_LENGTH[method]; left > 0; left -= BLOCK_SIZE) {
            names[next] = name;
            name = 0;
            next = (next + 1) % BLOCKS;
        }
    }
}
