package java.lang;

import static java.lang.CProfLayout.*;
import static java.lang.CProfRuntime.*;
import static java.lang.CProfVariant.SIMPLE;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * Where a thread's context is. At launch: in fields that the agent adds to Thread. A running JVM allows no new fields (JVMTI,
 * RetransformClasses), so there it is in a slot of a table outside the heap, found by the thread's id: at the place of the id's
 * low bits, or some steps on when a thread with an id some million away has that: no small ones, as neighbouring ids are taken
 * together. A thread gives its slot back when it ends.
 *
 * <p>A slot: the id of the thread that has it (0: free), and what are the fields otherwise. Behind the table are two more, for a
 * thread that has none, before its first call, say, or after its last: what it reads is the node that is current before counting
 * is on, and what it writes nobody reads.
 */
final class CProfSlots {
    private static final int NONE = SLOT_COUNT, NONE_WRITTEN = SLOT_COUNT + 1;

    private CProfSlots() {}

    @ForceInline @Hidden static long node(Unsafe u, Thread t) {
        return u.getLong(null, slot(u, t, NONE) + SLOT_NODE);
    }

    @ForceInline @Hidden static void setNode(Unsafe u, Thread t, long n) {
        u.putLong(null, slot(u, t, NONE_WRITTEN) + SLOT_NODE, n);
    }

    @Hidden static void publish(Unsafe u, Thread t, long n) {
        if (!SIMPLE && attached == 2) setNode(u, t, n);
        else u.putLong(t, node, n);
    }

    @ForceInline @Hidden static long tree(Unsafe u, Thread t) {
        return !SIMPLE && attached == 2 ? u.getLong(null, slot(u, t, NONE) + SLOT_TREE) : u.getLong(t, tree);
    }

    @Hidden static void setTree(Unsafe u, Thread t, long r) {
        if (attached == 2) u.putLong(null, slot(u, t, NONE_WRITTEN) + SLOT_TREE, r);
        else u.putLong(t, tree, r);
    }

    @ForceInline @Hidden static long cache(Unsafe u, Thread t) {
        return attached == 2 ? u.getLong(null, slot(u, t, NONE) + SLOT_CACHE) : u.getLong(t, cache);
    }

    @ForceInline @Hidden static void setCache(Unsafe u, Thread t, long value) {
        if (attached == 2) u.putLong(null, slot(u, t, NONE_WRITTEN) + SLOT_CACHE, value);
        else u.putLong(t, cache, value);
    }

    /**
     * Whether a node is of a recording that has ended: of a frame that was entered then and is still active. Its memory can be
     * read and written, but is nobody's.
     */
    @ForceInline @Hidden static boolean stale(long n) {
        return attached == 2 && (n < BASE || n >= END);
    }

    /** Gives the thread a slot. False: none is free, or a thread that attaches by JNI has no id while its object is made. */
    @Hidden static boolean claim(Unsafe u, Thread t) {
        long id = u.getLong(t, tid);
        if (id == 0) return false;
        if (slot(u, t, NONE) != at(NONE)) return true;
        for (int i = 0; i < SLOT_WINDOW; i++) {
            long slot = at(id + (long) i * SLOT_STRIDE & SLOT_COUNT - 1);
            // Nobody else asks for this thread's slot, but the agent while the thread stands still.
            if (u.getLong(null, slot) == 0 && u.compareAndSetLong(null, slot, 0, id)) return true;
        }
        CProfTree.lost(u);
        return false;
    }

    /** The thread has no context any more. */
    @Hidden static void giveBack(Unsafe u, Thread t) {
        if (attached != 2) {
            u.putLong(t, node, 0);
            u.putLong(t, tree, 0);
            return;
        }
        long slot = slot(u, t, NONE_WRITTEN);
        u.putLong(null, slot + SLOT_NODE, 0);
        u.putLong(null, slot + SLOT_TREE, 0);
        u.putLongVolatile(null, slot, 0);
    }

    @ForceInline @Hidden private static long at(long index) {
        return SLOT_TABLE + index * SLOT_SIZE;
    }

    @ForceInline @Hidden private static long slot(Unsafe u, Thread t, int none) {
        long id = u.getLong(t, tid);
        long slot = at(id & SLOT_COUNT - 1);
        return u.getLong(null, slot) == id ? slot : find(u, id, none);
    }

    /** The slot of a thread that is not in its first place: another one, or none. */
    @DontInline @Hidden private static long find(Unsafe u, long id, int none) {
        if (id == 0) return at(none);
        for (int i = 1; i < SLOT_WINDOW; i++) {
            long slot = at(id + (long) i * SLOT_STRIDE & SLOT_COUNT - 1);
            if (u.getLong(null, slot) == id) return slot;
        }
        return at(none);
    }
}
