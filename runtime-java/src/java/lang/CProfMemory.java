package java.lang;

import static java.lang.CProfLayout.*;
import static java.lang.CProfRuntime.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/** The arena's memory, given out in chunks to trees. */
final class CProfMemory {
    private static final int FIRST_CHUNK = 4096, LAST_CHUNK = 256 * 1024;
    /** Nanoseconds to wait for the agent's thread, which has none of the processor where a real-time thread has all of it. */
    private static final long PATIENCE = 5_000_000_000L;

    private CProfMemory() {}

    /**
     * Address of that many bytes in the tree's chunk; they are taken when the caller advances ROOT_FREE. 0: no room. They are zero, but
     * for the first {@link CProfTree#INTERRUPTED} where a caller was interrupted (Thread.stop) before it did that.
     *
     * <p>Beyond the limits, chunks are for what no count can do without ({@code overflow}): contexts as before would fill them in
     * no time.
     */
    @Hidden static long room(Unsafe u, long r, long size, boolean overflow) {
        boolean usable = overflow || !isFull(u);
        long free = u.getLong(null, r + ROOT_FREE);
        if (usable && free + size <= u.getLong(null, r + ROOT_FREE_END)) return free;
        CProfThreads.label(u, Thread.currentThread(), r);
        free = u.getLong(null, r + ROOT_FREE);
        if (usable && free + size <= u.getLong(null, r + ROOT_FREE_END)) return free;
        return chunk(u, r, size, overflow);
    }

    /** Whether more was given out than the limits allow, for overflow. */
    @Hidden private static boolean isFull(Unsafe u) {
        long top = u.getLongVolatile(null, header(TOP));
        return top > u.getLongVolatile(null, header(SOFT_LIMIT)) || top > u.getLongVolatile(null, header(LIMIT));
    }

    @Hidden private static long chunk(Unsafe u, long r, long size, boolean overflow) {
        long length = (long) u.getInt(null, r + ROOT_CHUNK_SIZE) << 1;
        if (length > LAST_CHUNK) length = LAST_CHUNK;
        // What is left is for all threads.
        if (overflow && isFull(u)) length = FIRST_CHUNK;
        // An index may be larger than a chunk; it then has one to itself but for the rest of the last page.
        if (length < size + CHUNK_HEADER) length = size + CHUNK_HEADER + CHUNK_ALIGN - 1 & -CHUNK_ALIGN;
        long chunk = take(u, length, overflow);
        if (chunk == 0) return 0;
        u.putInt(null, chunk + 4, ref(r));
        u.putLong(null, chunk + 8, length);
        u.putIntVolatile(null, chunk, KIND_CHUNK);
        // In this order: interrupted anywhere, the tree has either its old chunk, no room, or the new chunk.
        u.putLong(null, r + ROOT_FREE_END, 0);
        u.putLong(null, r + ROOT_FREE, chunk + CHUNK_HEADER);
        u.putLong(null, r + ROOT_FREE_END, chunk + length);
        if (length <= LAST_CHUNK) u.putInt(null, r + ROOT_CHUNK_SIZE, (int) length);
        return chunk + CHUNK_HEADER;
    }

    /** Takes bytes for a chunk off the arena; 0 when there are no more. */
    @Hidden static long take(Unsafe u, long length, boolean overflow) {
        for (;;) {
            long top = u.getLongVolatile(null, header(TOP));
            long next = top + length;
            if (!overflow && next > u.getLongVolatile(null, header(SOFT_LIMIT))) return 0;
            long limit = u.getLongVolatile(null, header(LIMIT)) + (overflow ? RESERVE : 0);
            if (next > limit && !grow(u, next)) return 0;
            if (u.compareAndSetLong(null, header(TOP), top, next)) return BASE + top;
        }
    }

    /** Makes at least that many bytes usable; false when that cannot be. As long as no native method is bound, a thread of the agent's sees what is wanted. */
    @Hidden private static boolean grow(Unsafe u, long top) {
        if (bound) return grow0(top);
        long begin = System.nanoTime();
        long wanted;
        do {
            wanted = u.getLongVolatile(null, header(WANTED));
            if (wanted == WANTED_NOBODY || System.nanoTime() - begin > PATIENCE) return bound && grow0(top);
        } while (wanted != WANTED_NOTHING || !u.compareAndSetLong(null, header(WANTED), WANTED_NOTHING, top));
        while (u.getLongVolatile(null, header(WANTED)) == top) {
            if (System.nanoTime() - begin > PATIENCE) {
                // It gets no processor, and would not the next time.
                u.compareAndSetLong(null, header(WANTED), top, WANTED_NOBODY);
            }
        }
        return u.getLongVolatile(null, header(LIMIT)) >= top || bound && grow0(top);
    }

    /** A new tree in a chunk of its own; 0 when there is no room. */
    @Hidden static long plant(Unsafe u) {
        long chunk = take(u, FIRST_CHUNK, true);
        if (chunk == 0) return 0;
        long r = chunk + CHUNK_HEADER;
        long index = r + ROOT_SIZE;
        int entries = 32;
        long free = index + INDEX_HEADER + (entries << 2);
        u.putLong(null, r + ROOT_FREE_END, chunk + FIRST_CHUNK);
        u.putLong(null, r + ROOT_FREE, free);
        u.putInt(null, r + ROOT_CHUNK_SIZE, FIRST_CHUNK);
        u.putInt(null, r + ROOT_INDEX, ref(index));
        u.putInt(null, index + 4, entries);
        u.putInt(null, index, KIND_INDEX);
        u.putInt(null, r + RECORD, HIT >>> 3);
        u.putInt(null, r, KIND_ROOT);
        u.putInt(null, chunk + 4, ref(r));
        u.putLong(null, chunk + 8, FIRST_CHUNK);
        u.putIntVolatile(null, chunk, KIND_CHUNK);
        for (;;) {
            // TREES and TREE_COUNT are one long: the newest root below, the number above.
            long trees = u.getLongVolatile(null, header(TREES));
            u.putInt(null, r + ROOT_NEXT, (int) trees);
            u.putInt(null, r + ROOT_NUMBER, (int) (trees >>> 32));
            if (u.compareAndSetLong(null, header(TREES), trees, CProfThreads.tagged(trees, ref(r)))) return r;
        }
    }
}
