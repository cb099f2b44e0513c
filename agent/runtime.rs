//! The classes of the runtime: their bytes, with the constants of this run written into them.

use crate::caches;
use cprof_instrument::abi;
use cprof_instrument::classfile::ClassFile;
use cprof_profile::options::{Options, simulation};

/// A class file as `build.rs` compiled it.
macro_rules! embedded {
    ($path:expr) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $path, ".class"))
    };
}

/// The classes of `runtime-java/src` in one of their compilations, by internal name; the first is the one that woven code calls.
macro_rules! variant {
    ($folder:literal) => {
        [
            (abi::RUNTIME, embedded!(concat!($folder, "/java/lang/CProfRuntime"))),
            ("java/lang/CProfTree", embedded!(concat!($folder, "/java/lang/CProfTree"))),
            ("java/lang/CProfThreads", embedded!(concat!($folder, "/java/lang/CProfThreads"))),
            ("java/lang/CProfSlots", embedded!(concat!($folder, "/java/lang/CProfSlots"))),
            ("java/lang/CProfMemory", embedded!(concat!($folder, "/java/lang/CProfMemory"))),
            ("java/lang/CProfCaches", embedded!(concat!($folder, "/java/lang/CProfCaches"))),
        ]
    };
}

/// For contexts in fields of `Thread`, merged call sites, and no method caches.
const SIMPLE: [(&str, &[u8]); 6] = variant!("simple");
/// For all options.
const FULL: [(&str, &[u8]); 6] = variant!("full");
/// What takes the place of the public API's class.
pub const API: &[u8] = embedded!("connected/cprof/CProf");
/// Internal name of the public API's class.
pub const API_NAME: &str = "cprof/CProf";

/// Placeholders, see CProfLayout.java.
const BASE: u64 = 0x7C0F_BA5E_ADD8_E550;
const JUNK_NODE: u64 = BASE + 1;
const EARLY_NODE: u64 = BASE + 3;
const END: u64 = BASE + 5;
const SLOT_TABLE: u64 = BASE + 7;
const ORIGIN: u64 = BASE + 9;
const SITES: u32 = 0x7C0F_0001;
const FOLD: u32 = 0x7C0F_0002;
const ROOTS: u32 = 0x7C0F_0003;
const MAX_NODES: u32 = 0x7C0F_0004;
const VIRTUAL: u32 = 0x7C0F_0005;
const DEPTH: u32 = 0x7C0F_0006;
const CACHES: u32 = 0x7C0F_0007;
const BLOCK_SIZE: u32 = 0x7C0F_0008;
const BLOCKS: u32 = 0x7C0F_0009;
const LANES: u32 = 0x7C0F_000A;
const ATTACHED: u32 = 0x7C0F_000B;

/// Where a run counts.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The arena's first address, and the one behind its last.
    pub arena: (u64, u64),
    /// The address that nodes' handles are counted from.
    pub origin: u64,
    /// The address of the table of contexts, if they are in one.
    pub slots: Option<u64>,
}

/// What matters of the JVM.
#[derive(Debug, Clone, Copy)]
pub struct Jvm {
    /// It has virtual threads.
    pub virtual_threads: bool,
    /// It compiles nothing, or perhaps not these classes.
    pub interprets: bool,
}

/// Whether a class is one of these.
pub fn is_own(class: &str) -> bool {
    FULL.iter().any(|&(name, _)| name == class)
}

/// The classes for a run, by internal name. `None` if a placeholder is missing: the classes were not built from
/// the source that belongs to this agent.
pub fn classes(place: Place, options: &Options, jvm: Jvm) -> Option<Vec<(&'static str, Vec<u8>)>> {
    let switch = |on: bool| 1 + u32::from(on);
    let base = place.arena.0;
    let longs = [
        (BASE, base),
        (ORIGIN, place.origin),
        (JUNK_NODE, base + abi::JUNK - place.origin),
        (EARLY_NODE, base + abi::header::EARLY - place.origin),
        (END, place.arena.1),
        (SLOT_TABLE, place.slots.unwrap_or(0)),
    ];
    let ints = [
        (SITES, switch(options.sites)),
        (FOLD, switch(options.fold)),
        (ROOTS, switch(!options.roots.is_empty())),
        (MAX_NODES, switch(options.max_nodes != 0)),
        (VIRTUAL, switch(jvm.virtual_threads)),
        (DEPTH, options.depth),
        (CACHES, simulation(&options.caches)),
        (BLOCK_SIZE, options.caches.first().map_or(1, |cache| cache.block_size().max(1))),
        (BLOCKS, options.caches.first().map_or(0, |cache| cache.blocks)),
        (LANES, caches::lanes(&options.caches)),
        (ATTACHED, switch(place.slots.is_some())),
    ];
    let simple = place.slots.is_none() && !options.sites && options.caches.is_empty();
    let mut classes = if simple { SIMPLE } else { FULL }.map(|(name, bytes)| (name, bytes.to_vec()));
    for (old, new) in longs {
        replace(&mut classes, 5, &old.to_be_bytes(), &new.to_be_bytes())?;
    }
    for (old, new) in ints {
        replace(&mut classes, 3, &old.to_be_bytes(), &new.to_be_bytes())?;
    }
    let (_, woven_calls) = &mut classes[0];
    demand(woven_calls, "missed", FromCode::MaxStack)?;
    if jvm.interprets {
        // The interpreter makes sure of no frames but those it makes, of `missed` none where a context is there already, and
        // of a frame's locals only (templateInterpreterGenerator_x86.cpp, `generate_stack_overflow_check`).
        demand(woven_calls, "current", FromCode::MaxLocals)?;
    }
    Some(classes.into())
}

/// Slots that entering a method asks for, and does not use: a page's, as HotSpot's compiled code asks for no less in advance
/// (assembler.cpp, `generate_stack_overflow_check`).
const DEMANDED: u16 = 520;

/// Makes a method's frame large: one that is inlined into all that count calls. Where that fits, there is room later for what is
/// called when an exception passes: `enter` is compiled and small, while `caught` and `unwind` run in the interpreter, being
/// called seldom, and without room for them the program's own handler would not run at the end of a stack. Compiled code asks
/// once for what the interpreter's frames would need at any of its calls (HotSpot: `bang_size_in_bytes`,
/// `JVMState::interpreter_frame_size`).
fn demand(class: &mut [u8], name: &str, slots: FromCode) -> Option<()> {
    let parsed = ClassFile::parse(class).ok()?;
    let method = parsed.methods.iter().find(|method| method.name == name.as_bytes())?;
    let at = parsed.code(method).ok()??.at.checked_sub(slots as usize)?;
    class[at..at + 2].copy_from_slice(&DEMANDED.to_be_bytes());
    Some(())
}

/// How far before a method's code its slots stand (JVMS §4.7.3: max_stack, max_locals, code_length).
#[derive(Clone, Copy)]
enum FromCode {
    MaxStack = 8,
    MaxLocals = 6,
}

/// Replaces a constant in all classes that have it; `None` if none has.
fn replace(classes: &mut [(&str, Vec<u8>)], tag: u8, old: &[u8], new: &[u8]) -> Option<()> {
    let found = classes.iter_mut().filter_map(|(_, bytes)| put(bytes, tag, old, new)).count();
    (found > 0).then_some(())
}

/// Replaces the one constant pool entry with this tag (JVMS table 4.4-A: 3 an int, 5 a long) and value.
fn put(bytes: &mut [u8], tag: u8, old: &[u8], new: &[u8]) -> Option<()> {
    let width = old.len() + 1;
    let is_entry = |w: &[u8]| w[0] == tag && &w[1..] == old;
    let at = bytes.windows(width).position(is_entry)?;
    if bytes[at + 1..].windows(width).any(is_entry) {
        return None;
    }
    bytes[at + 1..at + width].copy_from_slice(new);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cprof_instrument::abi::{departure, event, header, kind, lessees, node, root, slot, wanted};

    #[test]
    fn every_placeholder_is_replaced() {
        let options = Options::parse("depth=7").unwrap();
        let jvm = Jvm { virtual_threads: true, interprets: true };
        for (slots, templates) in [(None, SIMPLE), (Some(0x7e00_0000_0000), FULL)] {
            let place = Place { arena: (0x7f00_0000_0000, 0x7f01_0000_0000), origin: 0x7f00_0000_0000, slots };
            for ((name, class), (_, template)) in classes(place, &options, jvm).unwrap().iter().zip(templates) {
                assert_eq!(class.len(), template.len());
                assert!(!class.windows(7).any(|w| w == &BASE.to_be_bytes()[..7]), "{name}");
                assert!(!class.windows(3).any(|w| w == &SITES.to_be_bytes()[..3]), "{name}");
            }
        }
    }

    /// The numbers in the Java source are those of `abi.rs`.
    #[test]
    fn java_mirrors_abi() {
        let source = include_str!("../runtime-java/src/java/lang/CProfLayout.java");
        let (_, mirror) = source.split_once("mirror of abi.rs").expect("the part that is compared");
        let constants = mirror.split([',', ';', '\n']).filter_map(|part| part.rsplit_once('=')).map(|(left, right)| {
            let digits = right.trim().trim_end_matches('L').replace('_', "");
            let value = match digits.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            (left.split_whitespace().last().expect("a name"), value.expect("a number"))
        });
        let mut constants: Vec<(&str, u64)> = constants.collect();
        let mut expected = vec![
            ("TOP", header::TOP),
            ("LIMIT", header::LIMIT),
            ("SOFT_LIMIT", header::SOFT_LIMIT),
            ("LOST", header::LOST),
            ("TREES", header::TREES),
            ("TREE_COUNT", header::TREE_COUNT),
            ("FLAGS", header::FLAGS),
            ("MAX_NODES", header::MAX_NODES),
            ("NODES", header::NODES),
            ("WANTED", header::WANTED),
            ("WANTED_NOTHING", wanted::NOTHING),
            ("WANTED_NOBODY", wanted::NOBODY),
            ("HIT", header::HIT),
            ("FREE_LISTS", header::FREE_LISTS),
            ("FREE_TREES", header::FREE_TREES),
            ("METHODS", abi::METHODS),
            ("RESERVE", abi::RESERVE),
            ("CHUNK_ALIGN", abi::CHUNK_ALIGN),
            ("KIND_DEPARTURE", kind::DEPARTURE.into()),
            ("KIND_CHUNK", kind::CHUNK.into()),
            ("KIND_ROOT", kind::ROOT.into()),
            ("KIND_INDEX", kind::INDEX.into()),
            ("KIND_LABEL", kind::LABEL.into()),
            ("KIND_RECORD", kind::RECORD.into()),
            ("KIND_LOG", kind::LOG.into()),
            ("METHOD_COUNTERS", abi::METHOD_COUNTERS.into()),
            ("METHOD_SUPERCLASS", abi::METHOD_SUPERCLASS.into()),
            ("METHOD_CLASS", abi::METHOD_CLASS.into()),
            ("METHOD_HALF", abi::METHOD_HALF.into()),
            ("KIND_OVERFLOW", kind::OVERFLOW.into()),
            ("KIND_OUTSIDE", kind::OUTSIDE.into()),
            ("FIRST_METHOD", abi::FIRST_METHOD.into()),
            ("SITE", node::SITE),
            ("PARENT", node::PARENT),
            ("DEPARTURES", node::DEPARTURES),
            ("CURRENT_SITE", node::CURRENT_SITE),
            ("LEVEL_SHIFT", node::LEVEL_SHIFT),
            ("LEVEL_MAX", node::LEVEL_MAX),
            ("RECORD", node::RECORD),
            ("CHILDREN", node::CHILDREN),
            ("SLOTS", node::SLOTS),
            ("COUNTERS", node::COUNTERS),
            ("LEAF_COUNTERS", node::LEAF_COUNTERS),
            ("LEAF_BIAS", node::LEAF_BIAS),
            ("ROOT_NEXT", root::NEXT),
            ("ROOT_NEXT_FREE", root::NEXT_FREE),
            ("ROOT_LABEL", root::LABEL),
            ("ROOT_FLAGS", root::FLAGS),
            ("ROOT_INDEX", root::INDEX),
            ("ROOT_INDEX_USED", root::INDEX_USED),
            ("ROOT_FREE", root::FREE),
            ("ROOT_FREE_END", root::FREE_END),
            ("ROOT_CHUNK_SIZE", root::CHUNK_SIZE),
            ("ROOT_OVERFLOW", root::OVERFLOW),
            ("ROOT_OUTSIDE", root::OUTSIDE),
            ("ROOT_LEASES", root::LEASES),
            ("ROOT_NODES", root::NODES),
            ("ROOT_PENDING_USED", root::PENDING_USED),
            ("ROOT_PENDING", root::PENDING),
            ("PENDING_COUNT", root::PENDING_COUNT),
            ("ROOT_CACHE", root::CACHE),
            ("ROOT_LOG", root::LOG),
            ("ROOT_LOG_DONE", root::LOG_DONE),
            ("ROOT_NUMBER", root::NUMBER),
            ("ROOT_SIZE", root::SIZE),
            ("FLAG_OVERFLOW", abi::flags::OVERFLOW.into()),
            ("LEASED", lessees::LEASED.into()),
            ("SIMILAR_NAMES", lessees::SIMILAR_NAMES.into()),
            ("ANY_NAMES", lessees::ANY_NAMES.into()),
            ("VIRTUAL_THREADS", lessees::VIRTUAL_THREADS.into()),
            ("UNNAMED", lessees::UNNAMED.into()),
            ("UNLISTED", lessees::UNLISTED.into()),
            ("VIRTUALS_EACH", abi::VIRTUALS_EACH.into()),
            ("DEPARTURE_WHERE", departure::WHERE),
            ("DEPARTURE_NEXT", departure::NEXT),
            ("DEPARTURE_COUNT", departure::COUNT),
            ("DEPARTURE_SIZE", departure::SIZE),
            ("DEPARTURE_CAUGHT", departure::CAUGHT.into()),
            ("CACHES_OFF", abi::caches::OFF.into()),
            ("CACHES_INLINE", abi::caches::INLINE.into()),
            ("CACHES_LOGGED", abi::caches::LOGGED.into()),
            ("RECORD_METHOD", abi::record::METHOD),
            ("RECORD_MISSES", abi::record::MISSES),
            ("RECORD_LIMIT", abi::record::LIMIT),
            ("RECORD_BLOCKS", abi::record::BLOCKS),
            ("RECORD_SIZE", abi::record::SIZE),
            ("SLOT_COUNT", slot::COUNT),
            ("SLOT_WINDOW", slot::WINDOW),
            ("SLOT_STRIDE", slot::STRIDE),
            ("SLOT_SIZE", slot::SIZE),
            ("SLOT_NODE", slot::NODE),
            ("SLOT_TREE", slot::TREE),
            ("SLOT_CACHE", slot::CACHE),
            ("LOG_SIZE", event::LOG_SIZE),
            ("EVENT_CALLEE", event::CALLEE),
            ("EVENT_RETURN", event::RETURN),
            ("EVENT_COLD", event::COLD),
            ("EVENT_SIZE", event::SIZE),
            ("LOG_HEADER", event::LOG_HEADER),
            ("CHUNK_HEADER", abi::chunk::HEADER),
            ("INDEX_HEADER", abi::index::HEADER),
            ("LABEL_HEADER", abi::label::HEADER),
            ("LABEL_LONGEST", abi::label::LONGEST.into()),
            ("BCI", u16::MAX.into()),
            ("CODE_LENGTH", abi::METHOD_ENTRY / 2),
        ];
        constants.sort_unstable();
        expected.sort_unstable();
        assert_eq!(constants, expected);
    }
}
