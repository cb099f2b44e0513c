package java.lang;

import static java.lang.CProfLayout.*;
import static java.lang.CProfRuntime.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * Method caches. A method is looked up when it is entered, and when a call that it made returns normally. One FIFO cache per
 * thread is simulated here and now; of any others the lookups are logged, for the agent to simulate in batches. Nodes are given
 * by their addresses here, not by their handles.
 *
 * <p>One FIFO cache of N blocks: a thread counts the blocks it has ever loaded, and the next one's number is compared with the
 * method's limit. A method loaded from block b on loses its first block when b + N is written (Binder et al. 2009, Figure 3,
 * where that block carries its name), so it is there while the next block is at most b + N.
 */
final class CProfCaches {
    /** No reference: all of the arena is below. */
    static final int NO_ROOM = -1;

    private CProfCaches() {}

    /** A method with node {@code c} was entered. */
    @ForceInline @Hidden static void entered(Unsafe u, Thread t, long c) {
        if (caches == CACHES_INLINE) {
            long record = record(u, c);
            if (CProfSlots.cache(u, t) > u.getLong(null, record + RECORD_LIMIT)) load(u, t, record, c, 0);
        } else {
            log(u, t, c - BASE >>> 3);
        }
    }

    /** The method with node {@code n} returns to that with node {@code p}. */
    @ForceInline @Hidden static void returned(Unsafe u, Thread t, long n, long p) {
        // A frame of a recording that has ended: what it returns to is in no cache of this one's.
        if (CProfSlots.stale(n)) return;
        if (caches == CACHES_INLINE) {
            long record = record(u, p);
            if (CProfSlots.cache(u, t) > u.getLong(null, record + RECORD_LIMIT)) load(u, t, record, n, 1);
        } else {
            try {
                log(u, t, (n - BASE + (EVENT_CALLEE << 3) >>> 3) + caller(p) - EVENT_RETURN);
            } catch (StackOverflowError e) {
                // No room to have a full log simulated, nor, perhaps, to call CProfTree.lost. The method returns all the same.
                long lost;
                do {
                    lost = u.getLongVolatile(null, header(LOST));
                } while (!u.compareAndSetLong(null, header(LOST), lost, lost + 1));
            }
        }
    }

    /** A leaf with node {@code c} was entered from {@code p} and returns: nothing can happen in between. */
    @ForceInline @Hidden static void passed(Unsafe u, long p, long c) {
        Thread t = Thread.currentThread();
        if (caches == CACHES_INLINE) {
            long next = CProfSlots.cache(u, t);
            if (next > u.getLong(null, record(u, c) + RECORD_LIMIT) || next > u.getLong(null, record(u, p) + RECORD_LIMIT)) {
                // Distances from BASE are in registers; to addresses C2 would add it before the branches.
                loadBoth(t, c - BASE, p - BASE);
            }
        } else {
            log(u, t, (c - BASE >>> 3) + caller(p));
        }
    }

    /** The half of an event that tells whom a method returns to: nodes are aligned, so the other half is 0. */
    @ForceInline @Hidden private static long caller(long p) {
        return p - BASE << 29;
    }

    @ForceInline @Hidden private static long record(Unsafe u, long n) {
        return at(u.getInt(null, n + RECORD));
    }

    @DontInline @Hidden private static void loadBoth(Thread t, long callee, long caller) {
        Unsafe u = unsafe;
        long c = BASE + callee;
        long own = record(u, c);
        long callers = record(u, BASE + caller);
        if (CProfSlots.cache(u, t) > u.getLong(null, own + RECORD_LIMIT)) load(u, t, own, c, 0);
        if (CProfSlots.cache(u, t) > u.getLong(null, callers + RECORD_LIMIT)) load(u, t, callers, c, 1);
    }

    /** Loads a method that is not in the thread's cache, and counts that in the callee's node: 0 at its entry, 1 at its return. */
    @ForceInline @Hidden private static void load(Unsafe u, Thread t, long record, long n, int cause) {
        long next = CProfSlots.cache(u, t);
        u.putLong(null, record + RECORD_LIMIT, next + blocks);
        CProfSlots.setCache(u, t, next + u.getInt(null, record + RECORD_BLOCKS));
        long misses = n + u.getInt(null, record(u, n) + RECORD_MISSES) + (cause << 3);
        u.putLong(null, misses, u.getLong(null, misses) + 1);
    }

    /** What a new node of {@code mid} below {@code parent} has in RECORD; {@link #NO_ROOM}: it cannot be made. */
    @Hidden static int record(Unsafe u, long r, long parent, int mid) {
        if (roots == 2 && u.getInt(null, parent) == KIND_OUTSIDE) return HIT >>> 3;
        if (caches != CACHES_INLINE) return 0;
        // A record is found by its kind where a node has its method, and by its method where a node has its parent.
        long record = CProfTree.find(u, r, at(mid), KIND_RECORD, 0);
        if (record != 0) return ref(record);
        long index = CProfTree.roomy(u, r, true);
        record = index == 0 ? 0 : CProfMemory.room(u, r, RECORD_SIZE, true);
        if (record == 0) return NO_ROOM;
        int method = u.getInt(null, CProfTree.method(mid));
        int length = u.getInt(null, CProfTree.method(mid) + CODE_LENGTH) & METHOD_HALF;
        // In this order: interrupted anywhere, what is behind ROOT_FREE is as room() says. Half a record has nobody who refers to it.
        u.putInt(null, record + SITE, 0);
        u.putIntVolatile(null, record, KIND_RECORD);
        u.putLong(null, r + ROOT_FREE, record + RECORD_SIZE);
        u.putInt(null, record + RECORD_METHOD, mid);
        u.putInt(null, record + RECORD_MISSES, (method < 0 ? LEAF_COUNTERS : COUNTERS) + ((method & METHOD_COUNTERS) << 3));
        u.putLong(null, record + RECORD_LIMIT, 0);
        u.putInt(null, record + RECORD_BLOCKS, (length + blockSize - 1) / blockSize);
        CProfTree.insert(u, r, index, record);
        return ref(record);
    }

    @ForceInline @Hidden private static void log(Unsafe u, Thread t, long event) {
        long at = CProfSlots.cache(u, t);
        if ((at & LOG_SIZE - 1) == 0) at = full(t, at);
        u.putLong(null, at, event);
        CProfSlots.setCache(u, t, at + EVENT_SIZE);
    }

    /** Where to go on logging at the end of a block of the log, or without a log. */
    @DontInline @Hidden private static long full(Thread t, long at) {
        Unsafe u = unsafe;
        long r = CProfSlots.tree(u, t);
        int ref = r == 0 ? 0 : u.getInt(null, r + ROOT_LOG);
        if (ref == 0) {
            // The stack ended while the thread got its tree, or there was no room then.
            long made = r == 0 ? 0 : newLog(u, r, 2 * LOG_SIZE);
            if (made != 0) return made + LOG_HEADER;
            // A muted thread that never had a tree, or no room still: the events go where nobody reads them.
            long junk = JUNK_NODE;
            return junk + ORIGIN + COUNTERS;
        }
        long log = at(ref);
        long start = log + LOG_HEADER;
        // The stack ended while the thread got its tree.
        if (at == 0) return start;
        if (bound) {
            if (at - start < LOG_SIZE) return at;
            simulate(u, t, r, start, at);
            return start;
        }
        return at < end(u, log) ? at : longer(u, r, log);
    }

    /**
     * In this order: until LOG_DONE is 0 again, nobody else takes the events for new ones. What has no room on the stack fails
     * before anything is simulated, and nothing is twice.
     */
    @Hidden private static void simulate(Unsafe u, Thread t, long r, long start, long at) {
        CProfSlots.setCache(u, t, at);
        u.putIntVolatile(null, r + ROOT_LOG_DONE, 0);
        simulate0(r, at);
        CProfSlots.setCache(u, t, start);
        u.putIntVolatile(null, r + ROOT_LOG_DONE, 0);
    }

    /** The last place in a log where events can end, for they are counted in blocks. */
    @Hidden private static long end(Unsafe u, long log) {
        return log + u.getInt(null, log + 4) & -LOG_SIZE;
    }

    /** A log in a chunk of its own, already the tree's; 0 when there is no room. */
    @Hidden private static long newLog(Unsafe u, long r, long length) {
        // The length is an int there.
        long chunk = length > Integer.MAX_VALUE ? 0 : CProfMemory.take(u, length, true);
        if (chunk == 0) {
            CProfTree.lost(u);
            return 0;
        }
        long log = chunk + CHUNK_HEADER;
        u.putInt(null, chunk + 4, ref(r));
        u.putLong(null, chunk + 8, length);
        u.putInt(null, log + 4, (int) length - CHUNK_HEADER);
        u.putInt(null, log, KIND_LOG);
        u.putIntVolatile(null, chunk, KIND_CHUNK);
        u.putIntVolatile(null, r + ROOT_LOG, ref(log));
        return log;
    }

    /** While the agent cannot simulate: a log of twice the size with the same events. Answers where to go on. */
    @Hidden private static long longer(Unsafe u, long r, long old) {
        long log = newLog(u, r, (long) u.getInt(null, old + 4) + CHUNK_HEADER << 1);
        if (log == 0) return old + LOG_HEADER;
        long end = end(u, old);
        long to = log + LOG_HEADER;
        for (long from = old + LOG_HEADER; from < end; from += EVENT_SIZE, to += EVENT_SIZE) {
            u.putLong(null, to, u.getLong(null, from));
        }
        return to;
    }

    /** A thread gets the tree: its caches are cold. */
    @Hidden static void lease(Unsafe u, Thread t, long r) {
        long at = u.getLong(null, r + ROOT_CACHE);
        if (caches == CACHES_INLINE) {
            // No limit reaches that far.
            at += blocks + 1;
        } else if (at == 0) {
            at = newLog(u, r, 2 * LOG_SIZE);
            if (at != 0) at += LOG_HEADER;
        }
        CProfSlots.setCache(u, t, at);
    }

    /** Its thread gives the tree back. */
    @Hidden static void giveBack(Unsafe u, Thread t, long r) {
        int log = u.getInt(null, r + ROOT_LOG);
        if (log != 0) {
            log(u, t, EVENT_COLD);
            if (bound) simulate(u, t, r, at(log) + LOG_HEADER, CProfSlots.cache(u, t));
        }
        // Without a log the next thread's lease makes one.
        u.putLong(null, r + ROOT_CACHE, caches == CACHES_LOGGED && log == 0 ? 0 : CProfSlots.cache(u, t));
        CProfSlots.setCache(u, t, 0);
    }
}
