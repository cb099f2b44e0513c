package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.Stable;

/**
 * What woven code calls: keeps the calling context trees in the arena. The contract is {@code instrument/src/abi.rs}.
 *
 * <p>Rules of this class, each with its reason:
 * <ul>
 * <li>It calls itself, and native methods and intrinsics without a Java body, only: any other Java method is woven too and would
 * call back ({@code Unsafe.getInt(long)} has a body, {@code getInt(Object, long)} has none).
 * <li>No class initialiser: it runs before {@code Unsafe} can be initialised. Until {@link #start} it only tests a field.
 * <li>Any call may throw StackOverflowError. An object is filled first, then its first word is written, then it is reached from
 * an index, a slot, a thread; what was interrupted half way is invisible and its memory is taken again.
 * <li>{@code @Hidden} keeps it out of the program's stack traces.
 * </ul>
 */
public final class CProfRuntime {
    /** The arena's address. The agent writes the real one over this constant; only a plain use of it survives javac. */
    private static final long BASE = 0x7C0F_BA5E_ADD8_E550L;
    /** Placeholders in the constant pool as well, copied by {@link #start} to fields. 1: off, 2: on (0 is not a stable value). */
    private static final int SITES_OPTION = 0x7C0F_0001, FOLD_OPTION = 0x7C0F_0002, ROOTS_OPTION = 0x7C0F_0003,
        MAX_NODES_OPTION = 0x7C0F_0004, VIRTUAL_OPTION = 0x7C0F_0005;
    /** depth=, 0: unlimited. */
    private static final int DEPTH_OPTION = 0x7C0F_0006;

    // ---- mirror of abi.rs; a test compares the numbers ----
    private static final int TOP = 8, LIMIT = 16, SOFT_LIMIT = 24, LOST = 32, TREES = 40, TREE_COUNT = 44, FLAGS = 48,
        MAX_NODES = 64, NODES = 72, EARLY = 256, FREE_LISTS = 64, FREE_TREES = 512;
    private static final int FLAG_OVERFLOW = 8;
    private static final int JUNK = 4096, METHODS = 266_240;
    private static final int RESERVE = 4_194_304, CHUNK_ALIGN = 4096, METHOD_COUNTERS = 0x3FFF;
    private static final int KIND_DEPARTURE = 1, KIND_CHUNK = 2, KIND_ROOT = 3, KIND_INDEX = 4, KIND_LABEL = 5,
        KIND_OVERFLOW = 6, KIND_OUTSIDE = 7, FIRST_METHOD = 16;
    private static final int SITE = 4, PARENT = 8, DEPARTURES = 12, CURRENT_SITE = 16, CHILDREN = 24, SLOTS = 16,
        COUNTERS = 88, LEAF_COUNTERS = 16, LEAF_BIAS = 72;
    private static final int DEPARTURE_WHERE = 4, DEPARTURE_NEXT = 8, DEPARTURE_COUNT = 16, DEPARTURE_SIZE = 24,
        DEPARTURE_CAUGHT = 0x8000_0000;
    private static final int ROOT_NEXT = 88, ROOT_NEXT_FREE = 92, ROOT_LABEL = 96, ROOT_FLAGS = 100, ROOT_INDEX = 104,
        ROOT_INDEX_USED = 108, ROOT_FREE = 112, ROOT_FREE_END = 120, ROOT_CHUNK_SIZE = 128, ROOT_OVERFLOW = 132,
        ROOT_OUTSIDE = 136, ROOT_LEASES = 140, ROOT_NODES = 144, ROOT_PENDING_USED = 148,
        ROOT_PENDING = 152, PENDING_COUNT = 32, ROOT_SIZE = 408;
    /** Woven code passes bytecode indices as sign-extended 16-bit numbers. */
    private static final int BCI = 0xFFFF;
    private static final int LEASED = 1, SIMILAR_NAMES = 2, ANY_NAMES = 4, VIRTUAL_THREADS = 8;

    private static final int CHUNK_HEADER = 16, FIRST_CHUNK = 4096, LAST_CHUNK = 256 * 1024;
    private static final int INDEX_HEADER = 8, LABEL_HEADER = 16;
    /** Longer thread names are cut in the profile. */
    private static final int MAX_NAME = 512;
    /** With more trees than this a thread takes over a tree that other names used, rather than make one. */
    private static final int MANY_TREES = 1024;

    @Stable private static boolean on;
    @Stable private static Unsafe unsafe;
    @Stable private static long node, tree, nameOffset, valueOffset, coderOffset;
    @Stable private static int sites, fold, roots, maxNodes, virtual, depth;
    /** Set by the agent once {@link #grow0} is bound: before, the lookup would run Java code in the middle of any method. */
    private static boolean bound;

    private CProfRuntime() {}

    // ---- called from woven code ----

    @ForceInline @Hidden public static long current() {
        if (!on) return BASE + early();
        long p = unsafe.getLong(Thread.currentThread(), node);
        return p != 0 ? p : lease(Thread.currentThread());
    }

    @ForceInline @Hidden public static long enter(long p, int mid) {
        if (!on) return BASE + junk();
        Unsafe u = unsafe;
        long c = child(u, p, mid);
        if (!matches(u, p, c, mid)) c = miss(p, mid, false);
        Thread t = Thread.currentThread();
        u.putLong(null, c + COUNTERS, u.getLong(null, c + COUNTERS) + 1);
        u.putLong(t, node, c);
        return c;
    }

    @ForceInline @Hidden public static long enterRoot(long p, int mid) {
        if (!on) return BASE + junk();
        Unsafe u = unsafe;
        long c = child(u, p, mid);
        if (!matches(u, p, c, mid)) c = miss(p, mid, true);
        Thread t = Thread.currentThread();
        u.putLong(null, c + COUNTERS, u.getLong(null, c + COUNTERS) + 1);
        u.putLong(t, node, c);
        return c;
    }

    @ForceInline @Hidden public static long leaf(int mid) {
        if (!on) return BASE + (junk() - LEAF_BIAS);
        Unsafe u = unsafe;
        long p = current();
        long c = child(u, p, mid);
        if (!matches(u, p, c, mid)) c = miss(p, mid, false);
        u.putLong(null, c + LEAF_COUNTERS, u.getLong(null, c + LEAF_COUNTERS) + 1);
        return c - LEAF_BIAS;
    }

    @ForceInline @Hidden public static long leafRoot(int mid) {
        if (!on) return BASE + (junk() - LEAF_BIAS);
        Unsafe u = unsafe;
        long p = current();
        long c = child(u, p, mid);
        if (!matches(u, p, c, mid)) c = miss(p, mid, true);
        u.putLong(null, c + LEAF_COUNTERS, u.getLong(null, c + LEAF_COUNTERS) + 1);
        return c - LEAF_BIAS;
    }

    @ForceInline @Hidden public static void leave(long p) {
        if (on) unsafe.putLong(Thread.currentThread(), node, p);
    }

    /** The caller's node is published first: whatever happens to the record, the context is right afterwards. */
    @ForceInline @Hidden public static void unwind(long n, long p, int where) {
        if (!on) return;
        unsafe.putLong(Thread.currentThread(), node, p);
        departed(n, where & BCI);
    }

    @ForceInline @Hidden public static void caught(long n, int where) {
        // A frame older than the switch, or one of a muted thread: its callees have published what was current before them.
        if (!on || n == BASE + junk()) return;
        unsafe.putLong(Thread.currentThread(), node, n);
        departed(n, where & BCI | DEPARTURE_CAUGHT);
    }

    @ForceInline @Hidden public static void site(long n, int site) {
        if (on) unsafe.putInt(null, n + CURRENT_SITE, site & BCI);
    }

    @ForceInline @Hidden public static void count(long n, int offset) {
        if (on) unsafe.putLong(null, n + offset, unsafe.getLong(null, n + offset) + 1);
    }

    @ForceInline @Hidden public static void count1(long n) { count(n, COUNTERS + 8); }
    @ForceInline @Hidden public static void count2(long n) { count(n, COUNTERS + 16); }
    @ForceInline @Hidden public static void count3(long n) { count(n, COUNTERS + 24); }
    @ForceInline @Hidden public static void count4(long n) { count(n, COUNTERS + 32); }
    @ForceInline @Hidden public static void count5(long n) { count(n, COUNTERS + 40); }
    @ForceInline @Hidden public static void count6(long n) { count(n, COUNTERS + 48); }
    @ForceInline @Hidden public static void count7(long n) { count(n, COUNTERS + 56); }
    @ForceInline @Hidden public static void count8(long n) { count(n, COUNTERS + 64); }
    @ForceInline @Hidden public static void count9(long n) { count(n, COUNTERS + 72); }
    @ForceInline @Hidden public static void count10(long n) { count(n, COUNTERS + 80); }
    @ForceInline @Hidden public static void count11(long n) { count(n, COUNTERS + 88); }
    @ForceInline @Hidden public static void count12(long n) { count(n, COUNTERS + 96); }

    /** Switches counting on. Everything before {@code on} may be woven Java code: it still finds counting off. */
    public static void start() {
        Unsafe u = Unsafe.getUnsafe();
        sites = SITES_OPTION;
        fold = FOLD_OPTION;
        roots = ROOTS_OPTION;
        maxNodes = MAX_NODES_OPTION;
        virtual = VIRTUAL_OPTION;
        depth = DEPTH_OPTION;
        node = u.objectFieldOffset(Thread.class, "cprof$node");
        tree = u.objectFieldOffset(Thread.class, "cprof$tree");
        nameOffset = u.objectFieldOffset(Thread.class, "name");
        valueOffset = u.objectFieldOffset(String.class, "value");
        coderOffset = u.objectFieldOffset(String.class, "coder");
        unsafe = u;
        on = true;
    }

    /** Gives the current thread's tree back; where a thread's last method returns. */
    @Hidden public static void end() {
        if (!on) return;
        Unsafe u = unsafe;
        Thread t = Thread.currentThread();
        long r = u.getLong(t, tree);
        if (r == 0) return;
        settle(u, r);
        label(u, t, r);
        u.putLong(t, node, 0);
        u.putLong(t, tree, 0);
        u.putInt(null, r + ROOT_FLAGS, u.getInt(null, r + ROOT_FLAGS) & ~LEASED);
        int label = u.getInt(null, r + ROOT_LABEL);
        long list = list(label == 0 ? 0 : u.getInt(null, at(label) + 8));
        for (;;) {
            long head = u.getLongVolatile(null, list);
            u.putInt(null, r + ROOT_NEXT_FREE, (int) head);
            if (u.compareAndSetLong(null, list, head, tagged(head, ref(r)))) return;
        }
    }

    // ---- the public API's other side (class cprof.CProf as the agent defines it) ----

    /** Writes what was counted so far; false when it could not be written (the agent says why on stderr). */
    public static boolean snapshot(String path) {
        if (!on || !bound) return false;
        long n = mute();
        try {
            return snapshot0(path);
        } finally {
            unmute(n);
        }
    }

    /** What is counted between this and {@link #resume} is left out of profiles. */
    public static void pause() {
        if (!on || !bound) return;
        long n = mute();
        try {
            pause0();
        } finally {
            unmute(n);
        }
    }

    /** Ends what {@link #pause} began. */
    public static void resume() {
        if (!on || !bound) return;
        long n = mute();
        try {
            resume0();
        } finally {
            unmute(n);
        }
    }

    private static long mute() {
        long n = unsafe.getLong(Thread.currentThread(), node);
        unsafe.putLong(Thread.currentThread(), node, BASE + junk());
        return n;
    }

    private static void unmute(long n) {
        unsafe.putLong(Thread.currentThread(), node, n);
    }

    /** Called by the agent, on a muted thread, when the VM can look natives up. */
    private static void bind() {
        grow0(0);
        bound = true;
    }

    /** Makes at least {@code top} bytes of the arena usable; false when that cannot be. */
    private static native boolean grow0(long top);
    private static native boolean snapshot0(String path);
    private static native void pause0();
    private static native void resume0();

    // ---- the tree ----

    /** Hides a constant from javac, which would otherwise fold it into the placeholder of {@link #BASE}. */
    @ForceInline @Hidden private static long junk() { return JUNK; }
    @ForceInline @Hidden private static long early() { return EARLY; }

    @ForceInline @Hidden private static long at(int ref) {
        return BASE + ((ref & 0xFFFF_FFFFL) << 3);
    }

    @ForceInline @Hidden private static int ref(long address) {
        return (int) ((address - BASE) >>> 3);
    }

    /** Address of a field of the header page. */
    @ForceInline @Hidden private static long header(long field) {
        return BASE + field;
    }

    @ForceInline @Hidden private static long slot(Unsafe u, long p, int mid) {
        int slot = sites == 2 ? mid + u.getInt(null, p + CURRENT_SITE) : mid;
        return p + CHILDREN + ((slot & SLOTS - 1) << 2);
    }

    /** Where a child is that is not in its first slot. */
    @Hidden private static long second(Unsafe u, long p, int mid) {
        int slot = mid ^ 1 + (mid >>> 4) % (SLOTS - 1);
        if (sites == 2) slot += u.getInt(null, p + CURRENT_SITE);
        return p + CHILDREN + ((slot & SLOTS - 1) << 2);
    }

    @ForceInline @Hidden private static long child(Unsafe u, long p, int mid) {
        return at(u.getInt(null, slot(u, p, mid)));
    }

    /** An empty slot leads to the header page, whose first word is no method id. */
    @ForceInline @Hidden private static boolean matches(Unsafe u, long p, long c, int mid) {
        if (sites != 2) return u.getInt(null, c) == mid;
        return u.getLong(null, c) == (mid | (long) u.getInt(null, p + CURRENT_SITE) << 32);
    }

    /** The node for a call of {@code mid} from {@code p} when p's slot has another: folding rules, index, new node. */
    @DontInline @Hidden private static long miss(long p, int mid, boolean isRoot) {
        Unsafe u = unsafe;
        if (p == BASE + junk()) return p;
        Thread t = Thread.currentThread();
        long r = u.getLong(t, tree);
        boolean early = p == BASE + early();
        if (r == 0) {
            r = lease(t);
            if (r == BASE + junk()) return r;
        }
        if (early) p = r;
        int site = sites == 2 ? u.getInt(null, p + CURRENT_SITE) : 0;
        if (!early) {
            long c = at(u.getInt(null, second(u, p, mid)));
            if (matches(u, p, c, mid)) return c;
        }
        long c = target(u, r, p, mid, site, isRoot);
        if (!early && c != BASE + junk()) remember(u, p, c, mid);
        return c;
    }

    /**
     * Puts a child into a slot of its caller's node. Each child has two slots it may be in; one that loses its first slot moves
     * to its second, so that two children with the same first slot do not drive each other out on every call.
     */
    @Hidden private static void remember(Unsafe u, long p, long c, int mid) {
        long first = slot(u, p, mid);
        int before = u.getInt(null, first);
        if (before != 0) {
            long second = second(u, p, mid);
            if (u.getInt(null, second) == 0) {
                u.putIntVolatile(null, second, ref(c));
                return;
            }
            u.putIntVolatile(null, second(u, p, u.getInt(null, at(before))), before);
        }
        u.putIntVolatile(null, first, ref(c));
    }

    @Hidden private static long target(Unsafe u, long r, long p, int mid, int site, boolean isRoot) {
        long parent = p;
        if (roots == 2 && outside(u, p)) {
            parent = isRoot ? r : marker(u, r, ROOT_OUTSIDE, KIND_OUTSIDE);
            if (parent == 0) return lost(u);
        }
        if (fold == 2) {
            for (long a = parent; u.getInt(null, a) >= FIRST_METHOD; a = parent(u, a)) {
                if (u.getInt(null, a) == mid) return a;
            }
        }
        if (depth != 0 && deep(u, parent)) parent = parent(u, parent);
        long c = find(u, r, parent, mid, site);
        if (c != 0) return c;
        if (mayGrow(u)) {
            c = make(u, r, parent, mid, site, false);
            if (c != 0) return c;
        }
        overflowed(u);
        parent = marker(u, r, ROOT_OVERFLOW, KIND_OVERFLOW);
        if (parent == 0) return lost(u);
        c = find(u, r, parent, mid, site);
        if (c == 0) c = make(u, r, parent, mid, site, true);
        return c != 0 ? c : lost(u);
    }

    @Hidden private static long parent(Unsafe u, long n) {
        return at(u.getInt(null, n + PARENT));
    }

    /** With root=: the root itself, the OUTSIDE node, or a child of that: nothing above was called by a root method. */
    @Hidden private static boolean outside(Unsafe u, long p) {
        int kind = u.getInt(null, p);
        return kind == KIND_ROOT || kind == KIND_OUTSIDE || u.getInt(null, parent(u, p)) == KIND_OUTSIDE;
    }

    /** Whether the node is at depth= + 1 (the root is at 0). */
    @Hidden private static boolean deep(Unsafe u, long n) {
        for (int d = 0; d <= depth; d++) {
            if (u.getInt(null, n) == KIND_ROOT) return false;
            n = parent(u, n);
        }
        return true;
    }

    @Hidden private static int hash(int parent, int mid, int site) {
        int h = (parent * 0x9E37_79B1 ^ mid) * 0x85EB_CA77 ^ site * 0xC2B2_AE3D;
        return h ^ h >>> 15;
    }

    @Hidden private static long find(Unsafe u, long r, long parent, int mid, int site) {
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

    /** A new node, in the index; 0 when there is no room. */
    @Hidden private static long make(Unsafe u, long r, long parent, int mid, int site, boolean overflow) {
        int used = u.getInt(null, r + ROOT_INDEX_USED);
        long index = at(u.getInt(null, r + ROOT_INDEX));
        int entries = u.getInt(null, index + 4);
        if (used + (used >>> 1) >= entries) {
            index = rehash(u, r, index, entries, overflow);
            if (index == 0) return 0;
            entries = u.getInt(null, index + 4);
        }
        int method = u.getInt(null, BASE + ((long) mid << 2) + METHODS);
        int counters = method & METHOD_COUNTERS;
        long size = (method < 0 ? LEAF_COUNTERS : COUNTERS) + (counters << 3);
        long c = room(u, r, size, overflow);
        if (c == 0) return 0;
        u.putInt(null, c, 0);
        u.putInt(null, c + SITE, site);
        u.putInt(null, c + PARENT, ref(parent));
        u.putInt(null, r + ROOT_NODES, u.getInt(null, r + ROOT_NODES) + 1);
        u.putIntVolatile(null, c, mid);
        u.putLong(null, r + ROOT_FREE, c + size);
        insert(u, index, entries - 1, c);
        u.putInt(null, r + ROOT_INDEX_USED, used + 1);
        if (maxNodes == 2) counted(u);
        return c;
    }

    @Hidden private static void insert(Unsafe u, long index, int mask, long c) {
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
            if (ref != 0) insert(u, index, mask, at(ref));
        }
        u.putIntVolatile(null, r + ROOT_INDEX, ref(index));
        return index;
    }

    @Hidden private static long index(Unsafe u, long r, int entries, boolean overflow) {
        long size = INDEX_HEADER + ((long) entries << 2);
        long index = room(u, r, size, overflow);
        if (index == 0) return 0;
        u.putInt(null, index + 4, entries);
        u.putIntVolatile(null, index, KIND_INDEX);
        u.putLong(null, r + ROOT_FREE, index + size);
        return index;
    }

    /** The tree's OVERFLOW or OUTSIDE node, made when first asked for; 0 when there is no room at all. */
    @Hidden private static long marker(Unsafe u, long r, int field, int kind) {
        int ref = u.getInt(null, r + field);
        if (ref != 0) return at(ref);
        long c = room(u, r, COUNTERS, true);
        if (c == 0) return 0;
        u.putInt(null, c, 0);
        u.putInt(null, c + SITE, 0);
        u.putInt(null, c + PARENT, ref(r));
        u.putIntVolatile(null, c, kind);
        u.putLong(null, r + ROOT_FREE, c + COUNTERS);
        u.putIntVolatile(null, r + field, ref(c));
        return c;
    }

    /**
     * As {@link #depart}, wherever the stack ends. A stack overflow leaves no room to call anything, so this is inlined and what
     * {@code depart} cannot do is noted in the root. In the interpreter it has room: {@link #enter} took more.
     */
    @ForceInline @Hidden private static void departed(long n, int where) {
        try {
            depart(n, where);
        } catch (StackOverflowError e) {
            Unsafe u = unsafe;
            long r = u.getLong(Thread.currentThread(), tree);
            int used = r == 0 ? PENDING_COUNT : u.getInt(null, r + ROOT_PENDING_USED);
            if (used >= PENDING_COUNT) {
                u.putLong(null, header(LOST), u.getLong(null, header(LOST)) + 1);
                return;
            }
            u.putInt(null, r + ROOT_PENDING + (used << 3), (int) (n - BASE >>> 3));
            u.putInt(null, r + ROOT_PENDING + 4 + (used << 3), where);
            u.putInt(null, r + ROOT_PENDING_USED, used + 1);
        }
    }

    @DontInline @Hidden private static void depart(long n, int where) {
        if (n == BASE + junk()) return;
        Unsafe u = unsafe;
        long r = u.getLong(Thread.currentThread(), tree);
        if (r != 0 && u.getInt(null, r + ROOT_PENDING_USED) != 0) settle(u, r);
        record(u, r, n, where);
    }

    /** Enters the departures that are noted in the root. */
    @Hidden private static void settle(Unsafe u, long r) {
        for (int used = u.getInt(null, r + ROOT_PENDING_USED); used > 0;) {
            used--;
            int n = u.getInt(null, r + ROOT_PENDING + (used << 3));
            record(u, r, at(n), u.getInt(null, r + ROOT_PENDING + 4 + (used << 3)));
            u.putInt(null, r + ROOT_PENDING_USED, used);
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
        long d = r == 0 ? 0 : room(u, r, DEPARTURE_SIZE, true);
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

    // ---- memory ----

    /** Address of that many zeroed bytes in the tree's chunk; they are taken when the caller advances ROOT_FREE. 0: no room. */
    @Hidden private static long room(Unsafe u, long r, long size, boolean overflow) {
        long free = u.getLong(null, r + ROOT_FREE);
        if (free + size <= u.getLong(null, r + ROOT_FREE_END)) return free;
        label(u, Thread.currentThread(), r);
        free = u.getLong(null, r + ROOT_FREE);
        if (free + size <= u.getLong(null, r + ROOT_FREE_END)) return free;
        return chunk(u, r, size, overflow);
    }

    @Hidden private static long chunk(Unsafe u, long r, long size, boolean overflow) {
        long length = (long) u.getInt(null, r + ROOT_CHUNK_SIZE) << 1;
        if (length > LAST_CHUNK) length = LAST_CHUNK;
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
    @Hidden private static long take(Unsafe u, long length, boolean overflow) {
        for (;;) {
            long top = u.getLongVolatile(null, header(TOP));
            long next = top + length;
            if (!overflow && next > u.getLongVolatile(null, header(SOFT_LIMIT))) return 0;
            long limit = u.getLongVolatile(null, header(LIMIT)) + (overflow ? RESERVE : 0);
            if (next > limit && !(bound && grow0(next))) return 0;
            if (u.compareAndSetLong(null, header(TOP), top, next)) return BASE + top;
        }
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

    @Hidden private static long lost(Unsafe u) {
        long n;
        do {
            n = u.getLongVolatile(null, header(LOST));
        } while (!u.compareAndSetLong(null, header(LOST), n, n + 1));
        return BASE + junk();
    }

    // ---- trees and threads ----

    /** Gives the thread a tree, a returned one if there is, and answers its root; junk when there is no room for one. */
    @DontInline @Hidden private static long lease(Thread t) {
        Unsafe u = unsafe;
        long r = u.getLong(t, tree);
        if (r == 0) {
            Object name = u.getReferenceVolatile(t, nameOffset);
            int hash = nameHash(u, name);
            r = take(u, hash);
            if (r == 0) r = plant(u);
            if (r == 0) return lost(u);
            u.putInt(null, r + ROOT_LEASES, u.getInt(null, r + ROOT_LEASES) + 1);
            u.putLong(t, tree, r);
            lessee(u, t, r, name, hash);
        }
        u.putLong(t, node, r);
        return r;
    }

    /** A tree from the free lists; 0 when none fits. */
    @Hidden private static long take(Unsafe u, int hash) {
        long r = pop(u, hash, true);
        if (r != 0 || u.getInt(null, header(TREE_COUNT)) < MANY_TREES) return r;
        for (int i = 0; r == 0 && i < FREE_LISTS; i++) r = pop(u, i, false);
        return r;
    }

    @Hidden private static long pop(Unsafe u, int hash, boolean sameName) {
        long list = list(hash);
        for (;;) {
            long head = u.getLongVolatile(null, list);
            if ((int) head == 0) return 0;
            long r = at((int) head);
            if (sameName) {
                int label = u.getInt(null, r + ROOT_LABEL);
                if ((label == 0 ? 0 : u.getInt(null, at(label) + 8)) != hash) return 0;
            }
            // Trees are never unmapped, so the read is safe when another thread was faster; the tag then fails the exchange.
            if (u.compareAndSetLong(null, list, head, tagged(head, u.getInt(null, r + ROOT_NEXT_FREE)))) return r;
        }
    }

    @Hidden private static long list(int hash) {
        return header(FREE_TREES + ((hash & FREE_LISTS - 1) << 3));
    }

    /** A list head with the next tag. */
    @Hidden private static long tagged(long head, int ref) {
        return (head >>> 32) + 1 << 32 | ref & 0xFFFF_FFFFL;
    }

    /** A new tree in a chunk of its own; 0 when there is no room. */
    @Hidden private static long plant(Unsafe u) {
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
        u.putInt(null, r, KIND_ROOT);
        u.putInt(null, chunk + 4, ref(r));
        u.putLong(null, chunk + 8, FIRST_CHUNK);
        u.putIntVolatile(null, chunk, KIND_CHUNK);
        for (;;) {
            // TREES and TREE_COUNT are one long: the newest root below, the number above.
            long trees = u.getLongVolatile(null, header(TREES));
            u.putInt(null, r + ROOT_NEXT, (int) trees);
            if (u.compareAndSetLong(null, header(TREES), trees, tagged(trees, ref(r)))) return r;
        }
    }

    /** Notes in the tree who has it now. */
    @Hidden private static void lessee(Unsafe u, Thread t, long r, Object name, int hash) {
        int flags = u.getInt(null, r + ROOT_FLAGS) | LEASED;
        if (virtual == 2 && t instanceof BaseVirtualThread) flags |= VIRTUAL_THREADS;
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
    @Hidden private static void label(Unsafe u, Thread t, long r) {
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
        u.putInt(null, free, 0);
        u.putInt(null, free + 4, length);
        u.putInt(null, free + 8, nameHash(u, name));
        u.putInt(null, free + 12, u.getByte(name, coderOffset));
        for (int i = 0; i < length; i++) u.putByte(null, free + LABEL_HEADER + i, value[i]);
        u.putIntVolatile(null, free, KIND_LABEL);
        u.putLong(null, r + ROOT_FREE, free + size);
        u.putIntVolatile(null, r + ROOT_LABEL, ref(free));
    }

    @Hidden private static int length(byte[] value) {
        return value.length < MAX_NAME ? value.length : MAX_NAME;
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
