package java.lang;

import static java.lang.CProfLayout.*;
import static java.lang.CProfRuntime.*;
import static java.lang.CProfVariant.SIMPLE;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Hidden;

/** The calling context trees: where a call's node is found or made, and what is recorded in it when an exception leaves it. */
final class CProfTree {
    /** Bytes that a node, a marker or a departure writes before it is whole. */
    static final int INTERRUPTED = 24;

    private CProfTree() {}

    /**
     * The node for a call of {@code mid} from {@code p} when p's first slot for it has another.
     *
     * <p>A child is in one of its two slots or in the tree's index. Slots are filled and never emptied, so as long as one of
     * them is free the child cannot exist: most contexts have few callees, and are made without a look at the index.
     * Where the folding rules may lead elsewhere than to a child of p, every node is in the index, and slots are a cache.
     *
     * <p>Takes and answers handles; everything here is about addresses.
     */
    @DontInline @Hidden static long miss(long caller, int mid, boolean isRoot) {
        Unsafe u = unsafe;
        if (caller == JUNK_NODE) return junk(u, mid);
        Thread t = Thread.currentThread();
        long r = CProfSlots.tree(u, t);
        if (r == 0) {
            r = CProfThreads.lease(t);
            if (r == 0) return junk(u, mid);
        }
        long p = caller + ORIGIN;
        if (caller == EARLY_NODE || CProfSlots.stale(caller)) {
            p = r;
            long c = child(u, p, mid);
            if (matches(u, p, c, mid)) return c - ORIGIN;
        }
        int site = !SIMPLE && sites == 2 ? u.getInt(null, p + CURRENT_SITE) & BCI : 0;
        long second = second(p, mid, site);
        long c = at(u.getInt(null, second));
        if (matches(u, p, c, mid)) return c - ORIGIN;
        long first = first(p, mid, site);
        long free = u.getInt(null, first) == 0 ? first : u.getInt(null, second) == 0 ? second : 0;
        c = 0;
        if (free != 0 && direct() && mayGrow(u)) c = make(u, r, p, mid, site, false, false);
        if (c == 0) c = target(u, r, p, mid, site, isRoot);
        if (c == 0) return junk(u, mid);
        if (free != 0) u.putIntVolatile(null, free, ref(c));
        else if (often(u, c, mid)) promote(u, r, p, c, first);
        return c - ORIGIN;
    }

    /** Whether a call's node is always a child of the caller's node (or where that overflowed, below the OVERFLOW node). */
    @Hidden private static boolean direct() {
        return roots != 2 && fold != 2 && depth == 0;
    }

    /** The junk node's handle; for a leaf, one from which a leaf's counters are the junk node's and no slots. */
    @Hidden private static long junk(Unsafe u, int mid) {
        long junk = JUNK_NODE;
        return u.getInt(null, method(mid)) < 0 ? junk + LEAF_BIAS : junk;
    }

    /** Address of the method's entry in the method table. */
    @Hidden static long method(int mid) {
        return BASE + ((long) mid << 3) + METHODS;
    }

    /** True at every eighth call of a node: which are called often get slots soon, and callees in turn do not drive each other out. */
    @Hidden private static boolean often(Unsafe u, long c, int mid) {
        return (u.getLong(null, c + (u.getInt(null, method(mid)) < 0 ? LEAF_COUNTERS : COUNTERS)) & 7) == 0;
    }

    /**
     * Puts a child into its first slot; what was there moves to its other slot, and what was there to the index, or to its own
     * other slot if that is free: a child for which a slot is free is in no index.
     */
    @Hidden private static void promote(Unsafe u, long r, long p, long c, long first) {
        int before = u.getInt(null, first);
        long other = other(u, p, before, first);
        int last = u.getInt(null, other);
        if (last != 0) {
            long free = other(u, p, last, other);
            if (u.getInt(null, free) == 0) u.putIntVolatile(null, free, last);
            else if (!indexed(u, r, at(last))) return;
        }
        u.putIntVolatile(null, other, before);
        u.putIntVolatile(null, first, ref(c));
    }

    /** The slot that a child in one of its slots is not in. */
    @Hidden private static long other(Unsafe u, long p, int child, long slot) {
        int mid = u.getInt(null, at(child));
        int site = u.getInt(null, at(child) + SITE);
        long first = first(p, mid, site);
        return first != slot ? first : second(p, mid, site);
    }

    /** Sees to it that a node is in the index; false when there is no room. */
    @Hidden private static boolean indexed(Unsafe u, long r, long c) {
        if (find(u, r, parent(u, c), u.getInt(null, c), u.getInt(null, c + SITE)) == c) return true;
        long index = roomy(u, r, false);
        if (index == 0) return false;
        insert(u, r, index, c);
        return true;
    }

    /** The node where no slot leads to; 0 when there is no room for one. */
    @Hidden private static long target(Unsafe u, long r, long p, int mid, int site, boolean isRoot) {
        long parent = p;
        if (roots == 2 && outside(u, p)) {
            parent = isRoot ? r : marker(u, r, ROOT_OUTSIDE, KIND_OUTSIDE);
            if (parent == 0) return lost(u);
        }
        long caller = parent;
        if (depth != 0 && deep(u, parent)) parent = parent(u, parent);
        long c = find(u, r, parent, mid, site);
        if (c != 0) return c;
        // A child that is there has no caller of its method, and never will: they are looked for where there is none.
        if (fold == 2) {
            for (long a = caller; u.getInt(null, a) >= FIRST_METHOD; a = parent(u, a)) {
                if (u.getInt(null, a) == mid) return a;
            }
        }
        // What ran outside the roots is in no report: it needs a node per method to know that it is outside, and no limit holds
        // for it.
        if (isOutsideMarker(u, parent)) {
            c = make(u, r, parent, mid, site, true, true);
            return c != 0 ? c : lost(u);
        }
        if (mayGrow(u)) {
            c = make(u, r, parent, mid, site, false, true);
            if (c != 0) return c;
        }
        overflowed(u);
        parent = marker(u, r, ROOT_OVERFLOW, KIND_OVERFLOW);
        if (parent == 0) return lost(u);
        c = find(u, r, parent, mid, site);
        if (c == 0) c = make(u, r, parent, mid, site, true, true);
        return c != 0 ? c : lost(u);
    }

    @Hidden private static long parent(Unsafe u, long n) {
        return at(u.getInt(null, n + PARENT));
    }

    /** With root=: the root itself, the OUTSIDE node, or a child of that: nothing above was called by a root method. */
    @Hidden private static boolean outside(Unsafe u, long p) {
        int kind = u.getInt(null, p);
        return kind == KIND_ROOT || kind == KIND_OUTSIDE || isOutsideMarker(u, parent(u, p));
    }

    @Hidden private static boolean isOutsideMarker(Unsafe u, long n) {
        return roots == 2 && u.getInt(null, n) == KIND_OUTSIDE;
    }

    /**
     * Whether a frame's calls are below its node, so that its call sites are theirs. Where they are below its caller's, for it is
     * as deep as can be, they keep the site at which that one has called it, and outside of the roots none.
     */
    @Hidden static boolean isCaller(long n) {
        if (n == JUNK_NODE || CProfSlots.stale(n)) return true;
        Unsafe u = unsafe;
        long p = n + ORIGIN;
        return !(roots == 2 && outside(u, p)) && !(depth != 0 && deep(u, p));
    }

    /**
     * With recursion=fold: a frame of node {@code n} that {@code p} called is left. If another frame has that node, it is amid a
     * call, in which more methods may be called: where a class is initialised first, say. Its call site is that of the context by
     * which it led to {@code p}; if it called without one between, it is not known.
     */
    @Hidden static void goOn(long n, long p) {
        if (n == JUNK_NODE || CProfSlots.stale(n) || p == EARLY_NODE || p == JUNK_NODE || CProfSlots.stale(p)) return;
        Unsafe u = unsafe;
        long a = p + ORIGIN;
        long left = n + ORIGIN;
        if (parent(u, left) == a) return;
        int site = 0;
        for (; a != left; a = parent(u, a)) {
            if (u.getInt(null, a) < FIRST_METHOD) return;
            site = u.getInt(null, a + SITE);
        }
        if (isCaller(n)) setSite(u, left, site);
    }

    /** Whether the node is at depth= + 1 (the root is at 0). */
    @Hidden private static boolean deep(Unsafe u, long n) {
        int level = level(u, n);
        if (level < LEVEL_MAX || depth < LEVEL_MAX) return level > depth;
        for (int d = 0; d <= depth; d++) {
            if (u.getInt(null, n) == KIND_ROOT) return false;
            n = parent(u, n);
        }
        return true;
    }

    @Hidden private static int level(Unsafe u, long n) {
        return u.getInt(null, n + CURRENT_SITE) >>> LEVEL_SHIFT;
    }

    @Hidden static void setSite(Unsafe u, long n, int site) {
        u.putInt(null, n + CURRENT_SITE, u.getInt(null, n + CURRENT_SITE) & ~BCI | site & BCI);
    }

    @Hidden private static int hash(int parent, int mid, int site) {
        int h = (parent * 0x9E37_79B1 ^ mid) * 0x85EB_CA77 ^ site * 0xC2B2_AE3D;
        return h ^ h >>> 15;
    }

    @Hidden static long find(Unsafe u, long r, long parent, int mid, int site) {
        long index = at(u.getInt(null, r + ROOT_INDEX));
        int mask = u.getInt(null, index + 4) - 1;
        int up = ref(parent);
        for (int h = hash(up, mid, site);; h++) {
            int ref = u.getInt(null, index + INDEX_HEADER + ((long) (h & mask) << 2));
            if (ref == 0) return 0;
            long c = at(ref);
            if (u.getInt(null, c) == mid && u.getInt(null, c + PARENT) == up && u.getInt(null, c + SITE) == site) return c;
        }
    }

    /** A new node; 0 when there is no room. */
    @Hidden private static long make(Unsafe u, long r, long parent, int mid, int site, boolean overflow, boolean indexed) {
        int record = caches == CACHES_OFF ? 0 : CProfCaches.record(u, r, parent, mid);
        if (record == CProfCaches.NO_ROOM) return 0;
        long index = indexed ? roomy(u, r, overflow) : 0;
        if (indexed && index == 0) return 0;
        int method = u.getInt(null, method(mid));
        long size = (method < 0 ? LEAF_COUNTERS : COUNTERS) + ((method & METHOD_COUNTERS) << 3) + (lanes << 4);
        long c = CProfMemory.room(u, r, size, overflow);
        if (c == 0) return 0;
        u.putInt(null, c, 0);
        u.putInt(null, c + SITE, site);
        u.putInt(null, c + PARENT, ref(parent));
        u.putInt(null, c + DEPARTURES, 0);
        u.putInt(null, c + RECORD, record);
        // Leaves call nothing.
        if (depth != 0 && method >= 0) {
            int level = level(u, parent);
            u.putInt(null, c + CURRENT_SITE, (level < LEVEL_MAX ? level + 1 : level) << LEVEL_SHIFT);
            if (sites == 2 && deep(u, c)) setSite(u, c, site);
        } else if (sites == 2 && method >= 0) {
            u.putInt(null, c + CURRENT_SITE, 0);
        }
        u.putInt(null, r + ROOT_NODES, u.getInt(null, r + ROOT_NODES) + 1);
        u.putIntVolatile(null, c, mid);
        u.putLong(null, r + ROOT_FREE, c + size);
        if (indexed) insert(u, r, index, c);
        if (maxNodes == 2 && !isOutsideMarker(u, parent)) counted(u);
        // A thread that attaches (DestroyJavaVM, for one, which never ends) has a name some calls after its first.
        CProfThreads.label(u, Thread.currentThread(), r);
        return c;
    }

    /** The tree's index, with room for one more; 0 when there is none. */
    @Hidden static long roomy(Unsafe u, long r, boolean overflow) {
        int used = u.getInt(null, r + ROOT_INDEX_USED);
        long index = at(u.getInt(null, r + ROOT_INDEX));
        int entries = u.getInt(null, index + 4);
        return used + (used >>> 1) < entries ? index : rehash(u, r, index, entries, overflow);
    }

    /** Enters a node or a record in the tree's index. */
    @Hidden static void insert(Unsafe u, long r, long index, long c) {
        place(u, index, u.getInt(null, index + 4) - 1, c);
        u.putInt(null, r + ROOT_INDEX_USED, u.getInt(null, r + ROOT_INDEX_USED) + 1);
    }

    @Hidden private static void place(Unsafe u, long index, int mask, long c) {
        int h = hash(u.getInt(null, c + PARENT), u.getInt(null, c), u.getInt(null, c + SITE));
        for (;; h++) {
            long entry = index + INDEX_HEADER + ((long) (h & mask) << 2);
            if (u.getInt(null, entry) == 0) {
                u.putIntVolatile(null, entry, ref(c));
                return;
            }
        }
    }

    /** An index of twice the size with the same nodes, already the tree's; 0 when there is no room. */
    @Hidden private static long rehash(Unsafe u, long r, long old, int entries, boolean overflow) {
        long index = index(u, r, entries << 1, overflow);
        if (index == 0) return 0;
        int mask = (entries << 1) - 1;
        for (int i = 0; i < entries; i++) {
            int ref = u.getInt(null, old + INDEX_HEADER + ((long) i << 2));
            if (ref != 0) place(u, index, mask, at(ref));
        }
        u.putIntVolatile(null, r + ROOT_INDEX, ref(index));
        return index;
    }

    @Hidden private static long index(Unsafe u, long r, int entries, boolean overflow) {
        long size = INDEX_HEADER + ((long) entries << 2);
        long index = CProfMemory.room(u, r, size, overflow);
        if (index == 0) return 0;
        u.putInt(null, index + 4, entries);
        for (int used = INDEX_HEADER; used < INTERRUPTED; used += 8) u.putLong(null, index + used, 0);
        u.putIntVolatile(null, index, KIND_INDEX);
        u.putLong(null, r + ROOT_FREE, index + size);
        return index;
    }

    /** The tree's OVERFLOW or OUTSIDE node, made when first asked for; 0 when there is no room at all. */
    @Hidden private static long marker(Unsafe u, long r, int field, int kind) {
        int ref = u.getInt(null, r + field);
        if (ref != 0) return at(ref);
        long c = CProfMemory.room(u, r, COUNTERS, true);
        if (c == 0) return 0;
        u.putInt(null, c, 0);
        u.putInt(null, c + SITE, 0);
        u.putInt(null, c + PARENT, ref(r));
        u.putInt(null, c + DEPARTURES, 0);
        u.putInt(null, c + CURRENT_SITE, 1 << LEVEL_SHIFT);
        u.putIntVolatile(null, c, kind);
        u.putLong(null, r + ROOT_FREE, c + COUNTERS);
        u.putIntVolatile(null, r + field, ref(c));
        return c;
    }

    /** As {@link CProfRuntime#slot}, for a call site. */
    @Hidden private static long first(long p, int mid, int site) {
        return p + CHILDREN + ((mid + site & SLOTS - 1) << 2);
    }

    /** Where a child may be that is not in its first slot. */
    @Hidden private static long second(long p, int mid, int site) {
        return p + CHILDREN + (((mid ^ 1 + (mid >>> 4) % (SLOTS - 1)) + site & SLOTS - 1) << 2);
    }

    /**
     * The node of the first caller above {@code p}, or {@code p}, that an exception can find in place when it leaves the
     * constructor {@code n} that {@code p} called. Where contexts are folded, or began with another call, callers are not known:
     * then it is {@code p}.
     */
    @DontInline @Hidden static long above(long n, long p) {
        if (n == JUNK_NODE || CProfSlots.stale(n) || fold == 2 || depth != 0) return p;
        Unsafe u = unsafe;
        long thrower = n + ORIGIN;
        long first = p + ORIGIN;
        while (p != EARLY_NODE && p != JUNK_NODE && !CProfSlots.stale(p) && callsSuper(u, p + ORIGIN, n + ORIGIN)
                && !isMetAgain(u, thrower, first, p + ORIGIN)) {
            long caller = parent(u, p + ORIGIN);
            int kind = u.getInt(null, caller);
            if (kind >= FIRST_METHOD) {
                n = p;
                p = caller - ORIGIN;
            } else {
                return kind == KIND_ROOT && roots != 2 ? EARLY_NODE : p;
            }
        }
        return p;
    }

    /**
     * Whether the method of {@code p} is also the thrower's, or one of those from the first caller up to {@code p}. No compiler for Java
     * has an object made by a constructor twice (JLS §8.8.7: they may not call themselves), so that {@code p} made another one and
     * has a handler. Who looked further up would walk through all of a deep recursion, in each of its frames. (The thrower need not
     * be below its caller: outside of the roots, and where there is no room, it is below a marker.)
     */
    @Hidden private static boolean isMetAgain(Unsafe u, long thrower, long first, long p) {
        int method = u.getInt(null, p);
        if (method == u.getInt(null, thrower)) return true;
        for (long a = first; a != p; a = parent(u, a)) {
            if (u.getInt(null, a) == method) return true;
        }
        return false;
    }

    /** Whether {@code p} is a constructor and {@code n} is one of the same class or of its superclass. */
    @Hidden private static boolean callsSuper(Unsafe u, long p, long n) {
        int caller = u.getInt(null, p);
        if (caller < FIRST_METHOD) return false;
        int callee = u.getInt(null, method(u.getInt(null, n)) + CODE_LENGTH) >>> METHOD_CLASS;
        return callee != 0 && (callee == u.getInt(null, method(caller) + CODE_LENGTH) >>> METHOD_CLASS
            || callee == (u.getInt(null, method(caller)) >>> METHOD_SUPERCLASS & METHOD_HALF));
    }

    @DontInline @Hidden static void depart(long n, int where) {
        if (n == JUNK_NODE || CProfSlots.stale(n)) return;
        Unsafe u = unsafe;
        long r = CProfSlots.tree(u, Thread.currentThread());
        if (r != 0 && u.getInt(null, r + ROOT_PENDING_USED) != 0) settle(u, r);
        record(u, r, n + ORIGIN, where);
    }

    /** Enters the departures that are noted in the root; there is room for the latest only. */
    @Hidden static void settle(Unsafe u, long r) {
        for (int used = u.getInt(null, r + ROOT_PENDING_USED); used > 0;) {
            used--;
            // Before it is entered: in the interpreter, the stack may end at any call, this one too, and it would be entered once
            // more.
            u.putInt(null, r + ROOT_PENDING_USED, used);
            try {
                if (used >= PENDING_COUNT) {
                    lost(u);
                    continue;
                }
                int n = u.getInt(null, r + ROOT_PENDING + (used << 3));
                record(u, r, at(n), u.getInt(null, r + ROOT_PENDING + 4 + (used << 3)));
            } catch (StackOverflowError e) {
                // What counts is the last that it does. There is room for the same call as above.
                u.putInt(null, r + ROOT_PENDING_USED, used + 1);
                throw e;
            }
        }
    }

    /** Counts that an exception was raised at {@code where} in the frame of node {@code n}, and left it or was caught in it. */
    @Hidden private static void record(Unsafe u, long r, long n, int where) {
        int first = u.getInt(null, n + DEPARTURES);
        for (int ref = first; ref != 0;) {
            long d = at(ref);
            if (u.getInt(null, d + DEPARTURE_WHERE) == where) {
                u.putLong(null, d + DEPARTURE_COUNT, u.getLong(null, d + DEPARTURE_COUNT) + 1);
                return;
            }
            ref = u.getInt(null, d + DEPARTURE_NEXT);
        }
        long d = r == 0 ? 0 : CProfMemory.room(u, r, DEPARTURE_SIZE, true);
        if (d == 0) {
            lost(u);
            return;
        }
        u.putInt(null, d, 0);
        u.putInt(null, d + DEPARTURE_WHERE, where);
        u.putInt(null, d + DEPARTURE_NEXT, first);
        u.putLong(null, d + DEPARTURE_COUNT, 1);
        u.putIntVolatile(null, d, KIND_DEPARTURE);
        u.putLong(null, r + ROOT_FREE, d + DEPARTURE_SIZE);
        u.putIntVolatile(null, n + DEPARTURES, ref(d));
    }

    @Hidden private static boolean mayGrow(Unsafe u) {
        return maxNodes != 2 || u.getLongVolatile(null, header(NODES)) < u.getLong(null, header(MAX_NODES));
    }

    @Hidden private static void counted(Unsafe u) {
        long n;
        do {
            n = u.getLongVolatile(null, header(NODES));
        } while (!u.compareAndSetLong(null, header(NODES), n, n + 1));
    }

    @Hidden private static void overflowed(Unsafe u) {
        for (;;) {
            int flags = u.getInt(null, header(FLAGS));
            if ((flags & FLAG_OVERFLOW) != 0 || u.compareAndSetInt(null, header(FLAGS), flags, flags | FLAG_OVERFLOW)) return;
        }
    }

    /** Something finds no room, or no place: the answer, 0, is no node's address. */
    @Hidden static long lost(Unsafe u) {
        long n;
        do {
            n = u.getLongVolatile(null, header(LOST));
        } while (!u.compareAndSetLong(null, header(LOST), n, n + 1));
        return 0;
    }
}
