//! The contract between woven code, the Java runtime class, the agent and every reader of a
//! recording: names and signatures of the runtime's methods, and the shape of the arena.
//!
//! `runtime-java/` mirrors the numbers here as Java constants; a test compares the two.

use std::ffi::CStr;

/// Internal name of the runtime class, defined in java.base (loader null).
pub const RUNTIME: &str = "java/lang/CProfRuntime";

/// Oldest JDK that the agent knows.
pub const OLDEST_JDK: u32 = 17;

/// The methods of the runtime class that woven code calls. `n` is the [handle](THREAD_NODE) of the frame's node
/// (for leaf methods biased, see [`node::LEAF_BIAS`]), `p` the handle of the node that was current when the
/// frame was entered. Until the runtime is switched on they do nothing, `current` answers the [`header::EARLY`] node and
/// `enter` and `leaf` the [`JUNK`] node, so that frames which outlive the switch need no test: they count into junk, and what
/// they call afterwards hangs below the thread's root.
pub mod call {
    /// `current()J`: the thread's current node; leases a tree to a thread that has none.
    pub const CURRENT: (&str, &str) = ("current", "()J");
    /// `enter(p, mid)`: finds or makes the child, counts the call, publishes the child as current.
    pub const ENTER: (&str, &str) = ("enter", "(JI)J");
    /// `enterRoot(p, mid)`: as `enter`, for a method named by `root=`.
    pub const ENTER_ROOT: (&str, &str) = ("enterRoot", "(JI)J");
    /// `leaf(mid)`: as `enter` on the current node, publishing nothing; answers the biased handle.
    pub const LEAF: (&str, &str) = ("leaf", "(I)J");
    /// `leafRoot(mid)`: as `leaf`, for a method named by `root=`.
    pub const LEAF_ROOT: (&str, &str) = ("leafRoot", "(I)J");
    /// `leave(p)`: publishes `p`.
    pub const LEAVE: (&str, &str) = ("leave", "(J)V");
    /// `ret(n, p)`: as `leave`, where method caches are simulated: the method of `p` is looked up.
    pub const RET: (&str, &str) = ("ret", "(JJ)V");
    /// `unwind(n, p, where)`: an exception leaves the frame: records it, publishes `p`.
    pub const UNWIND: (&str, &str) = ("unwind", "(JJI)V");
    /// `unwindConstructor(n, p, where)`: as `unwind`, for a constructor. A constructor that has called it by `super(...)` or
    /// `this(...)` has no handler there and is left as well: what is published is the node of the first caller that is not.
    pub const UNWIND_CONSTRUCTOR: (&str, &str) = ("unwindConstructor", "(JJI)V");
    /// `caught(n, where)`: a handler of the frame's own runs: records it, publishes `n`.
    pub const CAUGHT: (&str, &str) = ("caught", "(JI)V");
    /// `count(n, offset)`: adds 1 to the counter at byte `offset` of the node.
    pub const COUNT: (&str, &str) = ("count", "(JI)V");
    /// `count1(n)` … `count12(n)`: as `count`, for counters 1 … 12.
    pub const COUNT_FIXED: u16 = 12;
    /// `site(n, site)`: the frame is about to execute a bytecode that may run other code; site = bci + 1.
    pub const SITE: (&str, &str) = ("site", "(JI)V");
    /// `start()`: switches counting on; in the prologue of `System.initPhase1`.
    pub const START: (&str, &str) = ("start", "()V");
    /// `end()`: gives the current thread's tree back; where a thread's last method returns.
    pub const END: (&str, &str) = ("end", "()V");
}

/// Instance fields of type long (synthetic) that the agent adds to `java.lang.Thread`: the handle of the current node, and the
/// address of the root of the leased tree (0: none).
///
/// A handle is a node's distance from an address that the run fixes: the arena's, where contexts are in these fields, so that the
/// node is the [`header::EARLY`] one until another is published; 0 where they are in [`slot`]s, as handles of recordings that
/// have ended must be told apart.
pub const THREAD_NODE: &str = "cprof$node";
/// See [`THREAD_NODE`].
pub const THREAD_TREE: &str = "cprof$tree";
/// As [`THREAD_NODE`]: with [`caches::INLINE`], the number of the next block that the thread's method cache loads; with
/// [`caches::LOGGED`], the address in the arena where its next [`event`] goes.
pub const THREAD_CACHE: &str = "cprof$cache";

/// Where contexts are when the agent came into a running JVM: in a table of slots outside of the arena and of the heap, found by
/// [`slot::KEY`].
pub mod slot {
    /// The field of type long of `java.lang.Thread` that holds a thread's id. 0 while the object of a thread that attaches by JNI
    /// is being made.
    pub const KEY: &str = "tid";
    /// Number of slots, a power of two. The slot of thread `id` is one of [`WINDOW`], each [`STRIDE`] behind the one before, from
    /// `id` modulo this on. No thread has slot 0.
    pub const COUNT: u64 = 1 << 20;
    /// See [`COUNT`].
    pub const WINDOW: u64 = 32;
    /// See [`COUNT`]. Odd, and large: the threads of a pool have neighbouring ids, and take neighbouring slots.
    pub const STRIDE: u64 = 8191;
    /// Size in bytes. The first word is the id of the thread that has the slot, 0 for none.
    pub const SIZE: u64 = 32;
    /// As [`super::THREAD_NODE`].
    pub const NODE: u64 = 8;
    /// As [`super::THREAD_TREE`].
    pub const TREE: u64 = 16;
    /// As [`super::THREAD_CACHE`].
    pub const CACHE: u64 = 24;
    /// Two slots behind the table serve threads without one: the first is read (its node is [`super::header::EARLY`]), the other
    /// written.
    pub const NONE: u64 = COUNT;
    /// The table's size in bytes.
    pub const TABLE: u64 = (COUNT + 2) * SIZE;
}

/// References in the arena are u32, in units of this many bytes from the arena's base.
pub const UNIT: u64 = 8;

// ---- the arena: one file, or anonymous memory of the same shape ----
// 0            header page
// JUNK         a node that counts nothing anybody reads (muted threads)
// METHODS      two u32 per method id
// CHUNKS ..    chunks, one after the other up to header.top

/// First word of the header page. Its top bit is set, so that no method id equals it: reference 0, the value of an
/// empty child slot, points here, and one compare on the entry path serves for "empty" as for "another method".
pub const MAGIC: u32 = 0xC0DE_CF01;
/// Version of everything in this module; readers refuse others.
pub const LAYOUT_VERSION: u32 = 5;

/// Byte offsets in the header page.
pub mod header {
    /// An empty node without counters, with the next two in the place of its method and site: current in frames that were entered
    /// before counting was switched on, and where a thread's current node has the [handle](super::THREAD_NODE) 0.
    pub const EARLY: u64 = 0;
    /// u32 MAGIC
    pub const MAGIC: u64 = 0;
    /// u32 LAYOUT_VERSION
    pub const VERSION: u64 = 4;
    /// u64: offset of the first free byte; the runtime advances it by compare-and-set.
    pub const TOP: u64 = 96;
    /// u64: bytes of the arena that ordinary nodes may use; the agent raises it. [`super::RESERVE`] bytes more are safe to
    /// touch, for overflow nodes.
    pub const LIMIT: u64 = 104;
    /// u64: when `top` would pass it, new contexts fold into overflow nodes (max-memory=); 0 once no more memory is taken for others.
    pub const SOFT_LIMIT: u64 = 112;
    /// u64: calls that found no room at all, not even in an overflow node, and what a thread out of stack could not note.
    /// Non-zero: the profile is incomplete.
    pub const LOST: u64 = 120;
    /// u32: address unit reference of the newest tree root; roots are chained by [`super::root::NEXT`].
    pub const TREES: u64 = 128;
    /// u32: number of trees.
    pub const TREE_COUNT: u64 = 132;
    /// u32: bits of [`super::flags`]
    pub const FLAGS: u64 = 136;
    /// u32: depth= (0: unlimited)
    pub const DEPTH: u64 = 140;
    /// u32: 1 while there is no method; then the highest id handed out, less [`super::FIRST_METHOD`], + 2
    pub const METHOD_COUNT: u64 = 144;
    /// u64: max-nodes= (0: unlimited)
    pub const MAX_NODES: u64 = 152;
    /// u64: nodes in all trees; counted only with max-nodes=.
    pub const NODES: u64 = 160;
    /// u32: method caches that are simulated, at most [`super::caches::MOST`].
    pub const CACHES: u64 = 168;
    /// u32: places for misses of each cause in a node ([`super::node_size`]).
    pub const LANES: u64 = 172;
    /// The caches: [`super::caches::MOST`] × (u32 kind, see [`super::caches`]; u32 size in bytes; u32 blocks; u32 0).
    pub const CACHE_SPECS: u64 = 176;
    /// u64: what [`LIMIT`] should be at least, while the runtime cannot call the agent; or one of [`super::wanted`].
    pub const WANTED: u64 = 304;
    /// A [`super::record`] that never misses: of the nodes that are no method's, and of what runs outside the `root=` methods.
    pub const HIT: u64 = 384;
    /// Number of free lists.
    pub const FREE_LISTS: u64 = 64;
    /// 64 × u64: free lists of trees by thread-name hash: low 32 bits reference, high 32 bits a tag against ABA.
    pub const FREE_TREES: u64 = 512;
}

// The early node is the node of handle 0, and nothing else is where its children would be.
const _: () = assert!(header::EARLY == 0 && header::TOP >= node::COUNTERS);

/// Values of [`header::WANTED`] that are no limits.
pub mod wanted {
    /// The runtime may wish.
    pub const NOTHING: u64 = 0;
    /// Nobody would see a wish.
    pub const NOBODY: u64 = 1;
}

/// Bits of [`header::FLAGS`].
pub mod flags {
    /// Call sites are distinguished.
    pub const SITES: u32 = 1;
    /// `recursion=fold`
    pub const FOLD: u32 = 1 << 1;
    /// `root=` is given.
    pub const ROOTS: u32 = 1 << 2;
    /// Contexts were folded into an OVERFLOW node.
    pub const OVERFLOW: u32 = 1 << 3;
    /// Shared memory was full, and part of the arena is in memory of the process's own.
    pub const PRIVATE: u32 = 1 << 4;
    /// Shared memory was full, and the class log is in memory of the process's own.
    pub const LOG_PRIVATE: u32 = 1 << 5;
}

/// The junk node and its size: room for the largest node.
pub const JUNK: u64 = 4096;
/// See [`JUNK`].
pub const JUNK_SIZE: u64 = 256 * 1024;
/// Table of methods, the two u32 of a [`MethodEntry`] per id. Written by the agent before the woven class reaches the JVM.
pub const METHODS: u64 = JUNK + JUNK_SIZE;
/// Bytes of an entry in it.
pub const METHOD_ENTRY: u64 = 8;
/// Method ids are 16 .. MAX_METHODS (smaller first words are object kinds).
pub const MAX_METHODS: u32 = 4 << 20;
/// Mask in the method table: the number of counters.
pub const METHOD_COUNTERS: u32 = 0x3FFF;
/// Bit in the method table: the method is a leaf, its node has no child slots.
pub const METHOD_LEAF: u32 = 1 << 31;
/// Where a [`MethodEntry`] has the number of the superclass in its first word, and that of the class in its second.
pub const METHOD_SUPERCLASS: u32 = 14;
/// See [`METHOD_SUPERCLASS`].
pub const METHOD_CLASS: u32 = 16;
/// Mask of these numbers, and of the length of the code.
pub const METHOD_HALF: u32 = 0xFFFF;
/// Most counters of one method, so that its node fits [`JUNK_SIZE`] and the method table.
pub const MAX_COUNTERS: u16 = 16_000;
/// Bytes beyond [`header::LIMIT`] that nodes may use which others are folded into.
pub const RESERVE: u64 = (4 << 20) - MARGIN;
/// Bytes beyond that, and so beyond [`header::TOP`] wherever it is, that are safe to touch, though nothing is there: more than a
/// node of any size has. Caches are simulated without asking whether a node reaches beyond the end.
pub const MARGIN: u64 = 256 << 10;
/// Chunks begin at multiples of this. A chunk whose first word is 0 was taken but never used (its thread ran out of stack at
/// that very moment): a reader goes on this many bytes further.
pub const CHUNK_ALIGN: u64 = 4096;
/// Where chunks begin.
pub const CHUNKS: u64 = METHODS + METHOD_ENTRY * MAX_METHODS as u64;
/// First method id.
pub const FIRST_METHOD: u32 = 16;

/// What the method table says of a method: bits 0..=13 number of counters, [`METHOD_SUPERCLASS`], [`METHOD_LEAF`]; the length of
/// its original code in bytes, [`METHOD_CLASS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodEntry {
    /// Number of its counters.
    pub counters: u16,
    /// It publishes no node.
    pub leaf: bool,
    /// Bytes of its original code.
    pub code_length: u16,
    /// Of a constructor, so that the runtime can tell who may have called it by `super(...)` or `this(...)`: a number for its
    /// class and one for the superclass, made of their names. 0: none. Classes of one name have the same, and by a rare chance
    /// others do.
    pub class: u16,
    /// See [`MethodEntry::class`].
    pub superclass: u16,
}

impl MethodEntry {
    /// As it is in the table.
    pub fn words(self) -> [u32; 2] {
        let leaf = if self.leaf { METHOD_LEAF } else { 0 };
        let shape = u32::from(self.counters) | u32::from(self.superclass) << METHOD_SUPERCLASS | leaf;
        [shape, u32::from(self.code_length) | u32::from(self.class) << METHOD_CLASS]
    }

    /// From the table.
    pub fn of([shape, code]: [u32; 2]) -> MethodEntry {
        MethodEntry {
            counters: (shape & METHOD_COUNTERS) as u16,
            leaf: shape & METHOD_LEAF != 0,
            code_length: (code & METHOD_HALF) as u16,
            class: (code >> METHOD_CLASS) as u16,
            superclass: (shape >> METHOD_SUPERCLASS & METHOD_HALF) as u16,
        }
    }
}

/// Kinds of objects in a chunk, in their first u32; 16 and more: a node of that method.
pub mod kind {
    /// Nothing more in this chunk.
    pub const END: u32 = 0;
    /// See [`super::departure`].
    pub const DEPARTURE: u32 = 1;
    /// A chunk's header, see [`super::chunk`].
    pub const CHUNK: u32 = 2;
    /// The root of a tree, see [`super::root`].
    pub const ROOT: u32 = 3;
    /// See [`super::index`].
    pub const INDEX: u32 = 4;
    /// A thread's name, see [`super::label`].
    pub const LABEL: u32 = 5;
    /// Overflow marker node: as a node without counters; parent of a tree's overflow nodes.
    pub const OVERFLOW: u32 = 6;
    /// As [`OVERFLOW`]: parent of what ran outside the `root=` methods.
    pub const OUTSIDE: u32 = 7;
    /// See [`super::record`].
    pub const RECORD: u32 = 8;
    /// A thread's log of [`super::event`]s: kind, u32 size in bytes of the whole, then the events.
    pub const LOG: u32 = 9;
}

/// A node: byte offsets.
pub mod node {
    /// u32 method id; written last (release), so that a reader never sees half a node.
    pub const METHOD: u64 = 0;
    /// u32 call site in the parent: bci + 1; 0 when sites are merged, and where there is no caller: below a root or the
    /// [`super::kind::OUTSIDE`] node. Below the [`super::kind::OVERFLOW`] node it is the caller's.
    pub const SITE: u64 = 4;
    /// u32 reference of the parent.
    pub const PARENT: u64 = 8;
    /// u32 reference of the newest departure record; 0 none.
    pub const DEPARTURES: u64 = 12;
    /// Not in leaf nodes: u32, of which the lower half is the call site that callees get (sites=on): the one being executed now; that
    /// of the node itself if `depth=` has its callees beside it; 0 outside of the roots. See [`LEVEL_SHIFT`] for the other half.
    pub const CURRENT_SITE: u64 = 16;
    /// The bit of [`CURRENT_SITE`] from which on it says, with `depth=`, how many callers the node has, with the root;
    /// [`LEVEL_MAX`] for those with more, too.
    pub const LEVEL_SHIFT: u64 = 16;
    /// See [`LEVEL_SHIFT`].
    pub const LEVEL_MAX: u64 = 0xFFFF;
    /// u32 reference of the method's [`super::record`] in this tree; with [`super::caches::LOGGED`] a number that the agent gives
    /// the method when it meets it first, or the reference of [`super::header::HIT`]; 0 without caches.
    pub const RECORD: u64 = 20;
    /// u32 × SLOTS: references of children. A child's first slot is method id & (SLOTS - 1); it has a second one
    /// (`CProfTree.second`). Slots are never emptied.
    pub const CHILDREN: u64 = 24;
    /// Number of child slots.
    pub const SLOTS: u64 = 16;
    /// u64 counters of a node with slots. Counter 0 counts calls. Behind them, with method caches, LANES × u64 entry misses and
    /// LANES × u64 return misses, where LANES is [`super::header::LANES`].
    pub const COUNTERS: u64 = CHILDREN + 4 * SLOTS;
    /// u64 counters of a leaf's node.
    pub const LEAF_COUNTERS: u64 = 24;
    /// What `leaf()` subtracts from the node's handle, so that the same `count` offsets serve both shapes.
    pub const LEAF_BIAS: u64 = COUNTERS - LEAF_COUNTERS;
}

/// A tree's root: a node (kind [`kind::ROOT`], slots as in [`node`]) with this instead of counters.
pub mod root {
    use super::node::COUNTERS;
    /// u32 reference of the next older root
    pub const NEXT: u64 = COUNTERS;
    /// u32 reference of the next in the free list
    pub const NEXT_FREE: u64 = COUNTERS + 4;
    /// u32 reference of the label (the first lessee's name)
    pub const LABEL: u64 = COUNTERS + 8;
    /// u32: bits of [`super::lessees`]
    pub const FLAGS: u64 = COUNTERS + 12;
    /// u32 reference of the index table
    pub const INDEX: u64 = COUNTERS + 16;
    /// u32 number of entries used in the index
    pub const INDEX_USED: u64 = COUNTERS + 20;
    /// u64 address of the next free byte in the tree's chunk
    pub const FREE: u64 = COUNTERS + 24;
    /// u64 address of the chunk's end
    pub const FREE_END: u64 = COUNTERS + 32;
    /// u32 size of the last chunk taken
    pub const CHUNK_SIZE: u64 = COUNTERS + 40;
    /// u32 reference of the OVERFLOW node, 0 none
    pub const OVERFLOW: u64 = COUNTERS + 44;
    /// u32 reference of the OUTSIDE node, 0 none
    pub const OUTSIDE: u64 = COUNTERS + 48;
    /// u32 how many threads have leased the tree
    pub const LEASES: u64 = COUNTERS + 52;
    /// u32 nodes in the tree
    pub const NODES: u64 = COUNTERS + 56;
    /// u32 how many departures were noted in [`PENDING`], where the latest are
    pub const PENDING_USED: u64 = COUNTERS + 60;
    /// [`PENDING_COUNT`] × (u32 node, u32 where): departures that a thread out of stack could not enter in its tree; it does
    /// so at its next departure, and a capture before.
    pub const PENDING: u64 = COUNTERS + 64;
    /// See [`PENDING`]; a power of two.
    pub const PENDING_COUNT: u64 = 32;
    /// u64, while the tree is not leased, what its last lessee had in [`super::THREAD_CACHE`].
    pub const CACHE: u64 = PENDING + 8 * PENDING_COUNT;
    /// u32 reference of the log, 0 none
    pub const LOG: u64 = CACHE + 8;
    /// u32: 1 while the log's events are simulated and the lessee has not begun to write over them.
    pub const LOG_DONE: u64 = CACHE + 12;
    /// u32: how many trees there were when this one was made
    pub const NUMBER: u64 = CACHE + 16;
    /// size of a root in bytes
    pub const SIZE: u64 = CACHE + 24;
}

/// What a root's flags say of the threads that have leased its tree.
pub mod lessees {
    /// One has it now.
    pub const LEASED: u32 = 1;
    /// Several had it, whose names differ in digits only.
    pub const SIMILAR_NAMES: u32 = 2;
    /// Several had it, whose names differ otherwise.
    pub const ANY_NAMES: u32 = 4;
    /// They are virtual.
    pub const VIRTUAL_THREADS: u32 = 8;
    /// One had no name when it leased the tree, as those that attach by JNI: the next such looks for it.
    pub const UNNAMED: u32 = 16;
    /// The one that has it now is virtual, and is not among [`super::VIRTUALS`].
    pub const UNLISTED: u32 = 32;
}

/// Static field of the [runtime class](RUNTIME), as JNI is asked for it: the virtual threads that have a tree now, if there was
/// room, by [`root::NUMBER`], in arrays of [`VIRTUALS_EACH`]. Elsewhere the VM finds them by a walk of the heap only.
pub const VIRTUALS: (&CStr, &CStr) = (c"virtuals", c"[[Ljava/lang/Thread;");
/// See [`VIRTUALS`]; a power of two.
pub const VIRTUALS_EACH: u32 = 2048;

/// A chunk of a tree's memory: u32 kind, then:
pub mod chunk {
    /// u32 reference of the tree
    pub const TREE: u64 = 4;
    /// u64 size in bytes, header included
    pub const BYTES: u64 = 8;
    /// size of the header; objects follow
    pub const HEADER: u64 = 16;
}

/// An index table (old ones stay as garbage): u32 kind, u32 number of entries (a power of two), then u32 references, padded to 8
/// bytes. It finds children that are in no slot of their parent by (parent, method, site); with folding rules, all nodes.
pub mod index {
    /// size of what precedes the references, in bytes
    pub const HEADER: u64 = 8;
}

/// A thread's name: u32 kind, u32 length in bytes, u32 hash, then:
pub mod label {
    /// u32: 1 for UTF-16, 0 for Latin-1
    pub const WIDE: u64 = 12;
    /// size of what precedes the name, in bytes; it is padded to 8
    pub const HEADER: u64 = 16;
    /// Most bytes of a name; longer ones are cut.
    pub const LONGEST: u32 = 512;
}

/// A record of departures of one kind from one bytecode of a node, in front of older ones: u32 kind, then:
pub mod departure {
    /// u32: the bytecode index, and [`CAUGHT`]
    pub const WHERE: u64 = 4;
    /// Caught in the method; else thrown out of it.
    pub const CAUGHT: u32 = 1 << 31;
    /// u32 reference of the next older record, 0 none
    pub const NEXT: u64 = 8;
    /// u64: how many
    pub const COUNT: u64 = 16;
    /// size in bytes
    pub const SIZE: u64 = 24;
}

/// How method caches are simulated.
pub mod caches {
    /// Most caches in one run.
    pub const MOST: usize = 8;
    /// Values of the runtime's constant: no caches;
    pub const OFF: u32 = 1;
    /// one FIFO cache per thread, simulated by the runtime;
    pub const INLINE: u32 = 2;
    /// any others: the runtime logs events, the agent simulates.
    pub const LOGGED: u32 = 3;
    /// Kinds in [`super::header::CACHE_SPECS`]: first in, first out.
    pub const FIFO: u32 = 0;
    /// Least recently used.
    pub const LRU: u32 = 1;
    /// Bit in the kind: all threads share the cache.
    pub const SHARED: u32 = 1 << 8;
}

/// With [`caches::INLINE`]: what is known of a method in a tree. It is there if and only if the thread's next block is not beyond
/// the limit: a FIFO cache of N blocks overwrites a method's first block when it has loaded N blocks from there on.
pub mod record {
    /// u32 method id, where a node has its parent, so that a tree's index finds (record, method) as it finds nodes.
    pub const METHOD: u64 = 8;
    /// u32 offset of the misses in the method's nodes
    pub const MISSES: u64 = 12;
    /// u64: largest number of the next block with which the method is still there.
    pub const LIMIT: u64 = 16;
    /// u32: how many blocks the method takes.
    pub const BLOCKS: u64 = 24;
    /// size in bytes
    pub const SIZE: u64 = 32;
}

/// With [`caches::LOGGED`], a u64 per lookup, or per two of them, made of as few instructions as can be: low half the reference of
/// the callee's node; high half 0 for an entry, and the reference of the caller's node for a leaf that was entered and returns, where
/// both methods are looked up. For the return of others [`event::CALLEE`] is added to the low half, and [`event::RETURN`] taken from
/// the whole, which sets the low half's highest bit. References must fit 31 bits. A leaf called from the [`header::EARLY`] node, whose
/// reference is 0 and which no cache ever misses, looks like an entry and is as good as one.
pub mod event {
    /// What is added to a callee's reference that returns: C2 would keep in a register from a method's entry to its end what both
    /// need.
    pub const CALLEE: u64 = 1;
    /// Less this it is a return: a number that C2 can put into the instruction that adds both references.
    pub const RETURN: u64 = 1 << 31;
    /// Between two lessees of a tree.
    pub const COLD: u64 = 0;
    /// size in bytes
    pub const SIZE: u64 = 8;
    /// Bytes of a log before its first event.
    pub const LOG_HEADER: u64 = 8;
    /// Logs are full at multiples of this.
    pub const LOG_SIZE: u64 = 8 << 10;
    /// Largest arena whose references fit.
    pub const MOST_MEMORY: u64 = 15 << 30;
}

/// Size in bytes of a node of a method with this many counters, where so many misses of each cause are counted.
pub const fn node_size(counters: u16, leaf: bool, lanes: u32) -> u64 {
    8 * counters as u64 + if leaf { node::LEAF_COUNTERS } else { node::COUNTERS } + 16 * lanes as u64
}
