package java.lang;

import static java.lang.CProfLayout.*;
import static java.lang.CProfRuntime.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Hidden;

/** Which thread has which tree. Trees are returned, so that there are only as many as there were threads at one time. */
final class CProfThreads {
    /** With more trees than this a thread takes over a tree that other names used, rather than make one. */
    private static final int MANY_TREES = 1024;
    /** So many trees of a list are looked at for one of a name. */
    private static final int LOOKED_AT = 64;
    /** Times VIRTUALS_EACH: of so many trees virtual threads are listed. */
    private static final int LISTS = 2048;

    private CProfThreads() {}

    /** Gives the thread a tree, a returned one if there is, and answers its root; 0 when there is no room for one. */
    @DontInline @Hidden static long lease(Thread t) {
        Unsafe u = unsafe;
        long r = CProfSlots.tree(u, t);
        if (r == 0) {
            if (virtual == 2 && ended(u, t) || attached == 2 && !CProfSlots.claim(u, t)) return 0;
            Object name = u.getReferenceVolatile(t, nameOffset);
            int hash = nameHash(u, name);
            r = take(u, hash);
            boolean planted = r == 0;
            if (planted) r = CProfMemory.plant(u);
            if (r == 0) return CProfTree.lost(u);
            // Before the thread has it: if the stack ends in between, nobody looks at who is listed.
            boolean listed = virtual != 2 || !(t instanceof BaseVirtualThread) || list(u, r, t);
            u.putInt(null, r + ROOT_LEASES, u.getInt(null, r + ROOT_LEASES) + 1);
            CProfSlots.setTree(u, t, r);
            if (caches != CACHES_OFF) CProfCaches.lease(u, t, r);
            lessee(u, t, r, name, hash, listed);
            if (planted && virtual == 2) planted(u.getInt(null, r + ROOT_NUMBER));
        }
        CProfSlots.publish(u, t, r - ORIGIN);
        return r;
    }

    /**
     * Whether this is a virtual thread that has run to its end. Continuation.run calls woven methods before the carrier is the
     * current thread again, and nothing would give a tree back that was leased there.
     */
    @Hidden private static boolean ended(Unsafe u, Thread t) {
        if (!(t instanceof VirtualThread)) return false;
        Object continuation = u.getReference(t, continuationOffset);
        return continuation != null && u.getBoolean(continuation, doneOffset);
    }

    /** Takes a thread's tree back: another thread may have it. */
    @Hidden static void giveBack(Thread t) {
        Unsafe u = unsafe;
        long r = CProfSlots.tree(u, t);
        if (r == 0) {
            // It may have been muted before it had a tree.
            if (attached == 2) CProfSlots.giveBack(u, t);
            return;
        }
        CProfTree.settle(u, r);
        label(u, t, r);
        if (caches != CACHES_OFF) CProfCaches.giveBack(u, t, r);
        CProfSlots.giveBack(u, t);
        if (virtual == 2 && t instanceof BaseVirtualThread) list(u, r, null);
        u.putInt(null, r + ROOT_FLAGS, u.getInt(null, r + ROOT_FLAGS) & ~(LEASED | UNLISTED));
        push(u, list(hash(u, r)), r);
    }

    /** A tree from the free lists; 0 when none fits. */
    @Hidden private static long take(Unsafe u, int hash) {
        long r = named(u, hash);
        if (r != 0 || u.getInt(null, header(TREE_COUNT)) < MANY_TREES) return r;
        for (int i = 0; r == 0 && i < FREE_LISTS; i++) r = pop(u, list(i));
        return r;
    }

    /**
     * A tree that had such a name; 0 when there is none among the first of its list. Others have a place in that list, too: what is
     * above is taken off and put back, for which it is in nobody's way.
     */
    @Hidden private static long named(Unsafe u, int hash) {
        long list = list(hash);
        int others = 0;
        long r = 0;
        for (int i = 0; i < LOOKED_AT && (r = pop(u, list)) != 0 && hash(u, r) != hash; i++) {
            u.putInt(null, r + ROOT_NEXT_FREE, others);
            others = ref(r);
            r = 0;
        }
        while (others != 0) {
            long other = at(others);
            others = u.getInt(null, other + ROOT_NEXT_FREE);
            push(u, list, other);
        }
        return r;
    }

    @Hidden private static void push(Unsafe u, long list, long r) {
        for (;;) {
            long head = u.getLongVolatile(null, list);
            u.putInt(null, r + ROOT_NEXT_FREE, (int) head);
            if (u.compareAndSetLong(null, list, head, tagged(head, ref(r)))) return;
        }
    }

    @Hidden private static long pop(Unsafe u, long list) {
        for (;;) {
            long head = u.getLongVolatile(null, list);
            if ((int) head == 0) return 0;
            long r = at((int) head);
            // Trees are never unmapped, so the read is safe when another thread was faster; the tag then fails the exchange.
            if (u.compareAndSetLong(null, list, head, tagged(head, u.getInt(null, r + ROOT_NEXT_FREE)))) return r;
        }
    }

    /**
     * The hash of a name by which a tree is looked for. A thread that attaches has no name at its first call: it has to find the
     * tree of one before it, whatever name that had in the end.
     */
    @Hidden private static int hash(Unsafe u, long r) {
        int label = u.getInt(null, r + ROOT_LABEL);
        return label == 0 || (u.getInt(null, r + ROOT_FLAGS) & UNNAMED) != 0 ? 0 : u.getInt(null, at(label) + 8);
    }

    @Hidden private static long list(int hash) {
        return header(FREE_TREES + ((hash & FREE_LISTS - 1) << 3));
    }

    /** A list head with the next tag. */
    @Hidden static long tagged(long head, int ref) {
        return (head >>> 32) + 1 << 32 | ref & 0xFFFF_FFFFL;
    }

    /** A list of virtual threads, with room for the first. */
    static Thread[][] virtuals() {
        Thread[][] all = new Thread[LISTS][];
        all[0] = new Thread[VIRTUALS_EACH];
        return all;
    }

    /**
     * Sees to it that there is room in the list for those that will lease the trees to come. One thread does, who planted a certain tree,
     * for no two may, and long before, for nobody can wait.
     */
    @Hidden private static void planted(int number) {
        Thread[][] all = virtuals;
        int next = number / VIRTUALS_EACH + 1;
        if ((number & VIRTUALS_EACH - 1) != VIRTUALS_EACH / 2 || all == null || next >= all.length) return;
        try {
            all[next] = new Thread[VIRTUALS_EACH];
        } catch (OutOfMemoryError e) {
            // They will be UNLISTED.
        }
    }

    /**
     * Enters in the list that this virtual thread, or none, has the tree. False: there is no room. While it has the tree it is kept
     * alive, as the JDK keeps most from their start to their end, unless told otherwise (jdk.internal.vm.ThreadContainers).
     */
    @Hidden private static boolean list(Unsafe u, long r, Thread t) {
        Thread[][] all = virtuals;
        int number = u.getInt(null, r + ROOT_NUMBER);
        // The last: a tree of a recording that has ended.
        if (all == null || number / VIRTUALS_EACH >= all.length || CProfSlots.stale(r)) return false;
        Thread[] some = all[number / VIRTUALS_EACH];
        if (some == null) return false;
        some[number & VIRTUALS_EACH - 1] = t;
        return true;
    }

    /** Notes in the tree who has it now. */
    @Hidden private static void lessee(Unsafe u, Thread t, long r, Object name, int hash, boolean listed) {
        int flags = u.getInt(null, r + ROOT_FLAGS) | LEASED;
        if (virtual == 2 && t instanceof BaseVirtualThread) flags |= VIRTUAL_THREADS;
        if (!listed) flags |= UNLISTED;
        if (name == null) flags |= UNNAMED;
        int label = u.getInt(null, r + ROOT_LABEL);
        if (label == 0) {
            label(u, t, r);
        } else if (name == null || u.getInt(null, at(label) + 8) != hash) {
            flags |= ANY_NAMES;
        } else if (!sameName(u, at(label), name)) {
            flags |= SIMILAR_NAMES;
        }
        u.putInt(null, r + ROOT_FLAGS, flags);
    }

    /** Writes the thread's name to its tree if that has none yet: a thread that attaches has no name at its first call. */
    @Hidden static void label(Unsafe u, Thread t, long r) {
        if (u.getInt(null, r + ROOT_LABEL) != 0) return;
        Object name = u.getReferenceVolatile(t, nameOffset);
        if (name == null) return;
        byte[] value = (byte[]) u.getReference(name, valueOffset);
        if (value == null) return;
        int length = length(value);
        long size = LABEL_HEADER + (length + 7 & -8);
        long free = u.getLong(null, r + ROOT_FREE);
        // The room that is left in the chunk, or none: room() calls this.
        if (free + size > u.getLong(null, r + ROOT_FREE_END)) return;
        // In this order: interrupted anywhere, what is behind ROOT_FREE is as room() says. Half a name has nobody who refers to it.
        u.putInt(null, free + 4, length);
        u.putIntVolatile(null, free, KIND_LABEL);
        u.putLong(null, r + ROOT_FREE, free + size);
        u.putInt(null, free + 8, nameHash(u, name));
        u.putInt(null, free + 12, u.getByte(name, coderOffset));
        for (int i = 0; i < length; i++) u.putByte(null, free + LABEL_HEADER + i, value[i]);
        u.putIntVolatile(null, r + ROOT_LABEL, ref(free));
    }

    @Hidden private static int length(byte[] value) {
        return value.length < LABEL_LONGEST ? value.length : LABEL_LONGEST;
    }

    @Hidden private static boolean sameName(Unsafe u, long label, Object name) {
        byte[] value = (byte[]) u.getReference(name, valueOffset);
        int length = length(value);
        if (u.getInt(null, label + 4) != length) return false;
        for (int i = 0; i < length; i++) {
            if (u.getByte(null, label + LABEL_HEADER + i) != value[i]) return false;
        }
        return true;
    }

    /** Hash of a thread's name in which every run of digits is the same: pool-1-thread-7 and pool-2-thread-13 share trees. */
    @Hidden private static int nameHash(Unsafe u, Object name) {
        if (name == null) return 0;
        byte[] value = (byte[]) u.getReference(name, valueOffset);
        if (value == null) return 0;
        int length = length(value);
        int step = 1 + u.getByte(name, coderOffset);
        int hash = 1;
        boolean digit = false;
        for (int i = 0; i + step <= length; i += step) {
            int c = value[i] & 0xFF;
            if (step == 2) c |= (value[i + 1] & 0xFF) << 8;
            boolean isDigit = c >= '0' && c <= '9';
            if (!isDigit) hash = hash * 31 + c;
            else if (!digit) hash = hash * 31 + '0';
            digit = isDigit;
        }
        return hash ^ hash >>> 16;
    }
}
