package java.lang;

/**
 * The numbers that {@code instrument/src/abi.rs} defines, and what the agent writes into the runtime's constant pools. The
 * compiler copies them to where they are used: this class is never loaded.
 */
final class CProfLayout {
    private CProfLayout() {}

    // ---- placeholders: the agent finds these values in the constant pools and writes the real ones over them. They must be used
    // plainly, for javac folds arithmetic on them ----

    /** The arena's address. */
    static final long BASE = 0x7C0F_BA5E_ADD8_E550L;
    /** The address that handles of nodes are counted from: what woven code and threads keep of a node is its distance from there. */
    static final long ORIGIN = 0x7C0F_BA5E_ADD8_E559L;
    /** The handles of the junk node, and of the node that is current before counting is on. */
    static final long JUNK_NODE = 0x7C0F_BA5E_ADD8_E551L, EARLY_NODE = 0x7C0F_BA5E_ADD8_E553L;
    /** The address behind the arena, and of the table of {@link CProfSlots}. */
    static final long END = 0x7C0F_BA5E_ADD8_E555L, SLOT_TABLE = 0x7C0F_BA5E_ADD8_E557L;
    /** Switches. 1: off, 2: on (0, the default of a field, is not a stable value). */
    static final int SITES_OPTION = 0x7C0F_0001, FOLD_OPTION = 0x7C0F_0002, ROOTS_OPTION = 0x7C0F_0003,
        MAX_NODES_OPTION = 0x7C0F_0004, VIRTUAL_OPTION = 0x7C0F_0005, ATTACHED_OPTION = 0x7C0F_000B;
    /** depth=, 0: unlimited. */
    static final int DEPTH_OPTION = 0x7C0F_0006;
    /** How method caches are simulated: CACHES_OFF, CACHES_INLINE, CACHES_LOGGED. */
    static final int CACHES_OPTION = 0x7C0F_0007;
    /** With CACHES_INLINE: bytes of a block, and blocks of the cache. */
    static final int BLOCK_SIZE_OPTION = 0x7C0F_0008, BLOCKS_OPTION = 0x7C0F_0009;
    /** How many misses of each cause are counted in a node. */
    static final int LANES_OPTION = 0x7C0F_000A;

    // ---- mirror of abi.rs; a test compares the numbers ----

    static final int TOP = 96, LIMIT = 104, SOFT_LIMIT = 112, LOST = 120, TREES = 128, TREE_COUNT = 132, FLAGS = 136,
        MAX_NODES = 152, NODES = 160, WANTED = 304, WANTED_NOTHING = 0, WANTED_NOBODY = 1, HIT = 384, FREE_LISTS = 64, FREE_TREES = 512;
    static final int FLAG_OVERFLOW = 8;
    static final int METHODS = 266_240;
    static final int RESERVE = 3_932_160, CHUNK_ALIGN = 4096, METHOD_COUNTERS = 0x3FFF, METHOD_SUPERCLASS = 14,
        METHOD_CLASS = 16, METHOD_HALF = 0xFFFF, CODE_LENGTH = 4;
    static final int KIND_DEPARTURE = 1, KIND_CHUNK = 2, KIND_ROOT = 3, KIND_INDEX = 4, KIND_LABEL = 5,
        KIND_OVERFLOW = 6, KIND_OUTSIDE = 7, KIND_RECORD = 8, KIND_LOG = 9, FIRST_METHOD = 16;
    static final int SITE = 4, PARENT = 8, DEPARTURES = 12, CURRENT_SITE = 16, LEVEL_SHIFT = 16, LEVEL_MAX = 0xFFFF, RECORD = 20,
        CHILDREN = 24, SLOTS = 16, COUNTERS = 88, LEAF_COUNTERS = 24, LEAF_BIAS = 64;
    static final int CHUNK_HEADER = 16, INDEX_HEADER = 8, LABEL_HEADER = 16, LABEL_LONGEST = 512;
    static final int DEPARTURE_WHERE = 4, DEPARTURE_NEXT = 8, DEPARTURE_COUNT = 16, DEPARTURE_SIZE = 24,
        DEPARTURE_CAUGHT = 0x8000_0000;
    static final int ROOT_NEXT = 88, ROOT_NEXT_FREE = 92, ROOT_LABEL = 96, ROOT_FLAGS = 100, ROOT_INDEX = 104,
        ROOT_INDEX_USED = 108, ROOT_FREE = 112, ROOT_FREE_END = 120, ROOT_CHUNK_SIZE = 128, ROOT_OVERFLOW = 132,
        ROOT_OUTSIDE = 136, ROOT_LEASES = 140, ROOT_NODES = 144, ROOT_PENDING_USED = 148,
        ROOT_PENDING = 152, PENDING_COUNT = 32, ROOT_CACHE = 408, ROOT_LOG = 416, ROOT_LOG_DONE = 420,
        ROOT_NUMBER = 424, ROOT_SIZE = 432;
    static final int CACHES_OFF = 1, CACHES_INLINE = 2, CACHES_LOGGED = 3;
    static final int RECORD_METHOD = 8, RECORD_MISSES = 12, RECORD_LIMIT = 16, RECORD_BLOCKS = 24, RECORD_SIZE = 32;
    static final int LOG_SIZE = 8_192, LOG_HEADER = 8, EVENT_SIZE = 8, EVENT_CALLEE = 1, EVENT_COLD = 0;
    static final long EVENT_RETURN = 0x8000_0000L;
    static final int SLOT_COUNT = 1_048_576, SLOT_WINDOW = 32, SLOT_STRIDE = 8191, SLOT_SIZE = 32, SLOT_NODE = 8, SLOT_TREE = 16, SLOT_CACHE = 24;
    /** Woven code passes bytecode indices as sign-extended 16-bit numbers. */
    static final int BCI = 0xFFFF;
    static final int LEASED = 1, SIMILAR_NAMES = 2, ANY_NAMES = 4, VIRTUAL_THREADS = 8, UNNAMED = 16, UNLISTED = 32,
        VIRTUALS_EACH = 2048;
}
