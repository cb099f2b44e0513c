package java.lang;

import static java.lang.CProfLayout.*;
import static java.lang.CProfVariant.SIMPLE;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import jdk.internal.misc.Unsafe;
import jdk.internal.module.Modules;
import jdk.internal.reflect.Reflection;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.Stable;

/**
 * What woven code calls. The contract is {@code instrument/src/abi.rs}; the trees are kept by {@link CProfTree}, threads get them
 * from {@link CProfThreads}.
 *
 * <p>Rules of these classes, each with its reason:
 * <ul>
 * <li>What may run while a thread counts calls nothing but these classes, and native methods and intrinsics without a Java
 * body: any other Java method is woven too and would call back ({@code Unsafe.getInt(long)} has a body,
 * {@code getInt(Object, long)} has none).
 * <li>No class initialisers: woven code runs before {@code Unsafe} can be initialised. Until {@link #start} a field is tested, no
 * more.
 * <li>Any call may throw StackOverflowError. An object is filled first, then its first word is written, then it is reached from
 * an index, a slot, a thread; what was interrupted half way is invisible and its memory is taken again.
 * <li>What woven code calls calls little itself. Each level costs the interpreter a frame, C1 profiling code, and both compilers
 * time, at hundreds of thousands of places.
 * <li>{@code @Hidden} keeps them out of the program's stack traces.
 * </ul>
 */
public final class CProfRuntime {
    @Stable static boolean on;
    @Stable static Unsafe unsafe;
    @Stable static long node, tree, cache, nameOffset, valueOffset, coderOffset, continuationOffset, doneOffset;
    @Stable static int sites, fold, roots, maxNodes, virtual, depth, caches, blockSize, blocks, lanes;
    /** 2: the agent came into a running JVM, and contexts are in {@link CProfSlots} and not in fields of Thread. */
    @Stable static int attached;
    @Stable static long tid;
    /** The virtual threads that have a tree, by its number: {@link CProfThreads#list}. The agent reads it. */
    static Thread[][] virtuals;
    /** Set once {@link #grow0} is bound: before, the lookup would run Java code in the middle of any method. */
    static boolean bound;
    /** Set by the agent when it could not weave what counting needs: it does not begin. */
    private static boolean barred;

    private CProfRuntime() {}

    // ---- called from woven code ----

    @ForceInline @Hidden public static long current() {
        if (!on) return EARLY_NODE;
        Thread t = Thread.currentThread();
        if (!SIMPLE && attached == 2) {
            // What a frame of a recording that has ended published is nobody's: its memory may be gone before this frame is.
            long p = CProfSlots.node(unsafe, t);
            return CProfSlots.stale(p) ? EARLY_NODE : p;
        }
        // 0, of a thread that was never here, is the handle of the early node.
        return unsafe.getLong(t, node);
    }

    // Not forced inline, as the small methods below are: C2 inlines these where calls are frequent, and C1 need not. Those of
    // roots are written out, as one method for both would be one more frame for the interpreter at each call.

    @Hidden public static long enter(long p, int mid) {
        if (!on) return JUNK_NODE;
        Unsafe u = unsafe;
        long c = callee(u, p, mid, false);
        Thread t = Thread.currentThread();
        if (!SIMPLE && caches != CACHES_OFF) CProfCaches.entered(u, t, c + ORIGIN);
        u.putLong(null, c + ORIGIN + COUNTERS, u.getLong(null, c + ORIGIN + COUNTERS) + 1);
        if (!SIMPLE && attached == 2) CProfSlots.setNode(u, t, c); else u.putLong(t, node, c);
        return c;
    }

    @Hidden public static long enterRoot(long p, int mid) {
        if (!on) return JUNK_NODE;
        Unsafe u = unsafe;
        long c = callee(u, p, mid, true);
        Thread t = Thread.currentThread();
        if (!SIMPLE && caches != CACHES_OFF) CProfCaches.entered(u, t, c + ORIGIN);
        u.putLong(null, c + ORIGIN + COUNTERS, u.getLong(null, c + ORIGIN + COUNTERS) + 1);
        if (!SIMPLE && attached == 2) CProfSlots.setNode(u, t, c); else u.putLong(t, node, c);
        return c;
    }

    @Hidden public static long leaf(int mid) {
        if (!on) return JUNK_NODE;
        Unsafe u = unsafe;
        long p = current();
        long c = callee(u, p, mid, false);
        if (!SIMPLE && caches != CACHES_OFF) CProfCaches.passed(u, p + ORIGIN, c + ORIGIN);
        u.putLong(null, c + ORIGIN + LEAF_COUNTERS, u.getLong(null, c + ORIGIN + LEAF_COUNTERS) + 1);
        return c - LEAF_BIAS;
    }

    @Hidden public static long leafRoot(int mid) {
        if (!on) return JUNK_NODE;
        Unsafe u = unsafe;
        long p = current();
        long c = callee(u, p, mid, true);
        if (!SIMPLE && caches != CACHES_OFF) CProfCaches.passed(u, p + ORIGIN, c + ORIGIN);
        u.putLong(null, c + ORIGIN + LEAF_COUNTERS, u.getLong(null, c + ORIGIN + LEAF_COUNTERS) + 1);
        return c - LEAF_BIAS;
    }

    @ForceInline @Hidden public static void leave(long p) {
        if (!on) return;
        Thread t = Thread.currentThread();
        if (!SIMPLE && sites == 2 && fold == 2) CProfTree.goOn(current(), p);
        if (!SIMPLE && attached == 2) CProfSlots.setNode(unsafe, t, p); else unsafe.putLong(t, node, p);
    }

    @ForceInline @Hidden public static void ret(long n, long p) {
        if (!on) return;
        Thread t = Thread.currentThread();
        // Not in what an earlier recording with caches has left woven.
        if (caches != CACHES_OFF) CProfCaches.returned(unsafe, t, n + ORIGIN, p + ORIGIN);
        if (!SIMPLE && sites == 2 && fold == 2) CProfTree.goOn(n, p);
        publish(p);
    }

    /** The caller's node is published first: whatever happens to the record, the context is right afterwards. */
    @ForceInline @Hidden public static void unwind(long n, long p, int where) {
        if (!on) return;
        publish(p);
        departed(n, where & BCI);
        if (!SIMPLE && sites == 2 && fold == 2) goneOn(n, p);
    }

    /**
     * No handler may be around a constructor's call of {@code super(...)} or {@code this(...)}. Whom the exception passes there
     * is left here, by the last that can. If the call was another, a {@code new} say, its frame has a handler, which publishes
     * what is right before anybody asks.
     */
    @Hidden public static void unwindConstructor(long n, long p, int where) {
        if (!on) return;
        publish(p);
        departed(n, where & BCI);
        if (!SIMPLE && sites == 2 && fold == 2) goneOn(n, p);
        try {
            publish(CProfTree.above(n, p));
        } catch (StackOverflowError e) {
            // No room to look: the next handler further up is right all the same.
        }
    }

    @ForceInline @Hidden public static void caught(long n, int where) {
        // A frame older than the switch, or one of a muted thread: its callees have published what was current before them.
        if (!on || n == JUNK_NODE) return;
        publish(n);
        departed(n, where & BCI | DEPARTURE_CAUGHT);
    }

    @ForceInline @Hidden public static void site(long n, int site) {
        if (!on) return;
        if (depth == 0) {
            // A constant: a compiled caller knows it where it looks for the callee. Levels are for depth= alone.
            if (roots != 2 || CProfTree.isCaller(n)) unsafe.putInt(null, n + ORIGIN + CURRENT_SITE, site & BCI);
        } else if (CProfTree.isCaller(n)) {
            CProfTree.setSite(unsafe, n + ORIGIN, site);
        }
    }

    @ForceInline @Hidden public static void count(long n, int offset) {
        if (on) unsafe.putLong(null, n + ORIGIN + offset, unsafe.getLong(null, n + ORIGIN + offset) + 1);
    }

    @ForceInline @Hidden public static void count1(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 8), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 8)) + 1);
    }
    @ForceInline @Hidden public static void count2(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 16), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 16)) + 1);
    }
    @ForceInline @Hidden public static void count3(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 24), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 24)) + 1);
    }
    @ForceInline @Hidden public static void count4(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 32), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 32)) + 1);
    }
    @ForceInline @Hidden public static void count5(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 40), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 40)) + 1);
    }
    @ForceInline @Hidden public static void count6(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 48), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 48)) + 1);
    }
    @ForceInline @Hidden public static void count7(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 56), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 56)) + 1);
    }
    @ForceInline @Hidden public static void count8(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 64), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 64)) + 1);
    }
    @ForceInline @Hidden public static void count9(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 72), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 72)) + 1);
    }
    @ForceInline @Hidden public static void count10(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 80), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 80)) + 1);
    }
    @ForceInline @Hidden public static void count11(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 88), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 88)) + 1);
    }
    @ForceInline @Hidden public static void count12(long n) {
        if (on) unsafe.putLong(null, n + ORIGIN + (COUNTERS + 96), unsafe.getLong(null, n + ORIGIN + (COUNTERS + 96)) + 1);
    }

    /** Switches counting on. Everything before {@code on} may be woven Java code: it still finds counting off. */
    public static void start() {
        if (barred) return;
        Unsafe u = Unsafe.getUnsafe();
        node = u.objectFieldOffset(Thread.class, "cprof$node");
        tree = u.objectFieldOffset(Thread.class, "cprof$tree");
        cache = u.objectFieldOffset(Thread.class, "cprof$cache");
        configure(u);
        on = true;
    }

    /** Called by the agent in a running JVM, each time it attaches. Counting is off: the agent switches it on when all is woven. */
    private static void attach(String library) {
        // By name the JVM looks for native methods of the boot loader's classes in libraries that such classes loaded; what an
        // agent registers instead, the JVM announces on the program's standard output (jni.cpp, RegisterNatives).
        System.load(library);
        Unsafe u = Unsafe.getUnsafe();
        tid = u.objectFieldOffset(Thread.class, "tid");
        configure(u);
        // As the JVM does when the first class of a module is retransformed. What that loads would be taken for the class that is
        // being retransformed (JDK 25, where an AOT cache has not loaded it: jvmtiExport.cpp, post_class_file_load_hook_env).
        Modules.transformedByAgent(Object.class.getModule());
        link();
        hook0(ClassLoader.class, true);
        stacks0(Thread.class, true, true);
        bound = true;
    }

    /** Called by the agent when it leaves: what {@link #attach} changed in the JVM is changed back. */
    private static void detach() {
        virtuals = null;
        hook0(ClassLoader.class, false);
        stacks0(Thread.class, false, false);
    }

    /**
     * Whether a loader finds this class; the JVM remembers the answer, so that woven classes do not ask the loader again. That there
     * was no stack or memory to ask it is no answer.
     */
    private static boolean seenBy(ClassLoader loader) {
        try {
            return Class.forName("java.lang.CProfRuntime", false, loader) == CProfRuntime.class;
        } catch (VirtualMachineError e) {
            throw e;
        } catch (Throwable e) {
            return false;
        }
    }

    private static void configure(Unsafe u) {
        attached = ATTACHED_OPTION;
        sites = SITES_OPTION;
        fold = FOLD_OPTION;
        roots = ROOTS_OPTION;
        maxNodes = MAX_NODES_OPTION;
        virtual = VIRTUAL_OPTION;
        depth = DEPTH_OPTION;
        caches = CACHES_OPTION;
        blockSize = BLOCK_SIZE_OPTION;
        blocks = BLOCKS_OPTION;
        lanes = LANES_OPTION;
        nameOffset = u.objectFieldOffset(Thread.class, "name");
        valueOffset = u.objectFieldOffset(String.class, "value");
        coderOffset = u.objectFieldOffset(String.class, "coder");
        if (virtual == 2) {
            continuationOffset = u.objectFieldOffset(VirtualThread.class, "cont");
            doneOffset = u.objectFieldOffset(jdk.internal.vm.Continuation.class, "done");
            virtuals = CProfThreads.virtuals();
        }
        unsafe = u;
    }

    /** Gives the current thread's tree back; where a thread's last method returns. */
    @Hidden public static void end() {
        if (on) CProfThreads.giveBack(Thread.currentThread());
    }

    // ---- the public API's other side (class cprof.CProf as the agent defines it) ----

    /** Writes what was counted so far; false when it could not be written (the agent tells why). */
    public static boolean snapshot(String path) {
        if (!on || !bound) return false;
        long n = mute();
        try {
            return snapshot0(path, n);
        } finally {
            unmute(n);
        }
    }

    /** The bytecodes that calls of a method have executed so far, with what they called; -1 when nothing is counted, -2 when that cannot be told. */
    public static long bytecodes(String method) {
        if (!on || !bound) return -1;
        long n = mute();
        try {
            return bytecodes0(method, n);
        } finally {
            unmute(n);
        }
    }

    /** What is counted between this and {@link #resume} is left out of profiles. */
    public static void pause() {
        if (!on || !bound) return;
        long n = mute();
        try {
            pause0(n);
        } finally {
            unmute(n);
        }
    }

    /** Ends what {@link #pause} began. */
    public static void resume() {
        if (!on || !bound) return;
        long n = mute();
        try {
            resume0(n);
        } finally {
            unmute(n);
        }
    }

    /** To look a native method up runs Java code. The agent puts the node back, which tells it where the thread's frames are. */
    private static long mute() {
        long n = current();
        publish(JUNK_NODE);
        return n;
    }

    private static void unmute(long n) {
        publish(n);
    }

    /** Called by the agent, on a muted thread, when the VM can look natives up. */
    private static void bind() {
        link();
        hide();
        stacks0(Thread.class, true, false);
        bound = true;
    }

    /**
     * Called by the agent, on a muted thread, before the program's first class is loaded: the JVM remembers that the JDK's own
     * loaders find this class, so that classes of theirs can name it and no loader is asked while it counts.
     */
    private static void introduce() throws ClassNotFoundException {
        introduceTo(ClassLoader.getBuiltinPlatformClassLoader());
        introduceTo(ClassLoader.getBuiltinAppClassLoader());
    }

    /** A loader's table of locks would begin to fill, which the program does later and is counted: the loader has another meanwhile. */
    private static void introduceTo(ClassLoader loader) throws ClassNotFoundException {
        Unsafe u = unsafe;
        long locks = u.objectFieldOffset(ClassLoader.class, "parallelLockMap");
        Object before = u.getReference(loader, locks);
        u.putReference(loader, locks, new ConcurrentHashMap<String, Object>());
        try {
            Class.forName("java.lang.CProfRuntime", false, loader);
        } finally {
            u.putReference(loader, locks, before);
        }
    }

    /** The first call of a native method runs Java code to find it, which must not happen in the middle of woven code. */
    private static void link() {
        grow0(0);
        simulate0(0, 0);
    }

    /**
     * Keeps the methods of Object, which every class inherits, out of reflection, by the JDK's own means for its secrets. Not the
     * private fields of Thread: the JDK goes through the fields registered so far when it registers more, and those bytecodes are
     * counted.
     */
    private static void hide() {
        // In full, and no strings put together: that would boot java.lang.invoke, a third of a small program's start.
        Reflection.registerMethodsToFilter(Object.class, Set.of( // instrument/src/weave/forwarders.rs
            "cprof$current", "cprof$enter", "cprof$enterRoot", "cprof$leaf", "cprof$leafRoot", "cprof$leave", "cprof$ret",
            "cprof$unwind", "cprof$unwindConstructor", "cprof$caught", "cprof$count", "cprof$site", "cprof$count1", "cprof$count2", "cprof$count3",
            "cprof$count4", "cprof$count5", "cprof$count6", "cprof$count7", "cprof$count8", "cprof$count9", "cprof$count10",
            "cprof$count11", "cprof$count12"));
    }

    /** Makes at least {@code top} bytes of the arena usable; false when that cannot be. */
    static native boolean grow0(long top);
    /** Simulates the caches for what the tree with this root has logged up to here. */
    static native void simulate0(long root, long end);
    private static native boolean snapshot0(String path, long n);
    private static native long bytecodes0(String method, long n);
    private static native void pause0(long n);
    private static native void resume0(long n);
    /** Puts the agent's functions in the place of native methods through which hidden classes pass, or takes them away again. */
    private static native void hook0(Class<?> classLoader, boolean on);
    /** Has new threads get larger stacks, or no more; {@code all} of them, also where a user has chosen how large they are by default. */
    private static native void stacks0(Class<?> thread, boolean on, boolean all);

    // ---- inlined parts ----

    @ForceInline @Hidden private static void publish(long n) {
        Thread t = Thread.currentThread();
        if (!SIMPLE && attached == 2) CProfSlots.setNode(unsafe, t, n); else unsafe.putLong(t, node, n);
    }

    /** The node for a call of {@code mid} from {@code p}. The shape that nearly every run has is written out: it is inlined everywhere. */
    @ForceInline @Hidden private static long callee(Unsafe u, long p, int mid, boolean isRoot) {
        if (SIMPLE) {
            // ORIGIN is BASE, so a reference is a handle but for its unit.
            long c = (u.getInt(null, p + ORIGIN + (CHILDREN + ((mid & SLOTS - 1) << 2))) & 0xFFFF_FFFFL) << 3;
            return u.getInt(null, c + ORIGIN) == mid ? c : missed(p, mid, isRoot);
        }
        long c = child(u, p + ORIGIN, mid);
        return matches(u, p + ORIGIN, c, mid) ? c - ORIGIN : missed(p, mid, isRoot);
    }

    /** Its frame is made large by the agent, so that who has entered a method has room for {@link #caught} and {@link #unwind}. */
    @ForceInline @Hidden private static long missed(long p, int mid, boolean isRoot) {
        return CProfTree.miss(p, mid, isRoot);
    }

    /**
     * As {@link CProfTree#depart}, wherever the stack ends. A stack overflow leaves no room to call anything, so this is inlined
     * and what {@code depart} cannot do is noted in the root, in as little code as can be, for it is in every method.
     */
    @ForceInline @Hidden private static void departed(long n, int where) {
        try {
            CProfTree.depart(n, where);
        } catch (StackOverflowError e) {
            if (!SIMPLE && CProfSlots.stale(n)) return;
            Unsafe u = unsafe;
            Thread t = Thread.currentThread();
            long r = SIMPLE ? u.getLong(t, tree) : CProfSlots.tree(u, t);
            if (r == 0) {
                u.putLong(null, header(LOST), u.getLong(null, header(LOST)) + 1);
                return;
            }
            int used = u.getInt(null, r + ROOT_PENDING_USED);
            u.putLong(null, r + ROOT_PENDING + ((used & PENDING_COUNT - 1) << 3), (long) where << 32 | n + ORIGIN - BASE >>> 3);
            u.putInt(null, r + ROOT_PENDING_USED, used + 1);
        }
    }

    @ForceInline @Hidden static long at(int ref) {
        return BASE + ((ref & 0xFFFF_FFFFL) << 3);
    }

    /** As {@link CProfTree#goOn}; where the stack has no room for it, a call site may be wrong. */
    @ForceInline @Hidden private static void goneOn(long n, long p) {
        try {
            CProfTree.goOn(n, p);
        } catch (StackOverflowError e) {
            // What the exception meets next must be the program's own handler.
        }
    }

    @ForceInline @Hidden static int ref(long address) {
        return (int) ((address - BASE) >>> 3);
    }

    /** Address of a field of the header page. */
    @ForceInline @Hidden static long header(long field) {
        return BASE + field;
    }

    @ForceInline @Hidden static long slot(Unsafe u, long p, int mid) {
        int slot = !SIMPLE && sites == 2 ? mid + u.getInt(null, p + CURRENT_SITE) : mid;
        return p + CHILDREN + ((slot & SLOTS - 1) << 2);
    }

    @ForceInline @Hidden static long child(Unsafe u, long p, int mid) {
        return at(u.getInt(null, slot(u, p, mid)));
    }

    /** An empty slot leads to the header page, whose first word is no method id. */
    @ForceInline @Hidden static boolean matches(Unsafe u, long p, long c, int mid) {
        if (SIMPLE || sites != 2) return u.getInt(null, c) == mid;
        return u.getLong(null, c) == (mid | (long) (u.getInt(null, p + CURRENT_SITE) & BCI) << 32);
    }
}
