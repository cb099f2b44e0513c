//! Copying the calling context trees out of an arena that may be in use.
//!
//! The runtime writes a node in full before it publishes its method word, each tree's chunks are filled by one thread at a
//! time and lie at rising addresses. So a linear scan sees only whole nodes, and every parent before its children; it needs
//! no recursion however deep the tree.

use super::memory::{Memory, Window};
use super::places::{Marks, Places};
use super::rows::Rows;
use super::stacks::{self, Stack};
use crate::cache::{CacheKind, CacheSpec, Scope};
use crate::model::{DepartureKind, Misses, Thread};
use crate::names::{counted, thousands};
use cprof_instrument::abi::{self, chunk, departure, flags, header, kind, lessees, node, root};
use std::char::DecodeUtf16Error;
use std::time::Duration;
use thiserror::Error;

/// A copy of all trees at one moment.
#[derive(Debug, Clone, Default)]
pub struct Capture {
    /// The trees, each with its nodes from `first_node` up to the next tree's.
    pub trees: Vec<CapturedTree>,
    /// Calls, exceptions and lookups that found no room.
    pub lost_calls: u64,
    /// Method caches that were simulated.
    pub caches: Vec<CacheSpec>,
    /// Beside `caches`: per node of the capture ([`Capture::nodes`]), how often it missed.
    pub misses: Vec<Misses>,
    /// What was wrong with the arena.
    pub warnings: Vec<String>,
    /// Bits of `abi::flags`.
    pub(super) flags: u32,
    pub(super) depth: u32,
    /// What was counted during pauses is taken out: there may be contexts of which nothing is left.
    pub(super) less_pauses: bool,
    /// Method id, or `abi::kind` ROOT, OVERFLOW, OUTSIDE.
    pub(super) what: Vec<u32>,
    /// Index of the parent; a root's is itself.
    pub(super) parent: Vec<u32>,
    /// Empty where sites are merged.
    pub(super) site: Vec<u32>,
    /// The nodes' counters.
    pub(super) rows: Rows,
    /// Node, where, how often; in order, each pair once.
    pub(super) departures: Vec<(u32, Where, i64)>,
    pub(super) places: Places,
}

/// A tree as the runtime labelled it.
#[derive(Debug, Clone)]
pub struct CapturedTree {
    /// The root's reference in the arena: what [`Stack::tree`] names.
    pub reference: u32,
    /// First node, the root.
    pub first_node: u32,
    /// The first thread's name.
    pub name: String,
    /// Bits of `abi::lessees`.
    pub flags: u32,
    /// How many threads.
    pub leases: u32,
    pub(super) overflow: u32,
    pub(super) outside: u32,
}

impl CapturedTree {
    /// The threads that grew it, with its root at this node.
    pub(super) fn into_thread(self, first_node: u32) -> Thread {
        let flagged = |bit| self.flags & bit != 0;
        Thread {
            similar_names: flagged(lessees::SIMILAR_NAMES),
            other_names: flagged(lessees::ANY_NAMES),
            virtual_threads: flagged(lessees::VIRTUAL_THREADS),
            leases: self.leases,
            name: self.name,
            first_node,
        }
    }
}

/// A place and manner of departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Where {
    /// Bytecode index in the original code.
    pub bci: u32,
    /// Manner.
    pub kind: DepartureKind,
}

impl Where {
    /// As a departure record has it: in the highest bit whether it was caught.
    fn of(place: u32) -> Where {
        let kind = if place & departure::CAUGHT != 0 { DepartureKind::Caught } else { DepartureKind::Thrown };
        Where { bci: place & !departure::CAUGHT, kind }
    }
}

/// Not an arena this version can read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum CaptureError {
    /// The first word is another one.
    #[error("not a cprof recording: it begins with {found:#010x} instead of {:#010x}", abi::MAGIC)]
    Magic {
        /// The first word.
        found: u32,
    },
    /// Written by another version of cprof.
    #[error("the recording has layout version {found}, this cprof reads {}; use the cprof that recorded it", abi::LAYOUT_VERSION)]
    Version {
        /// The version found.
        found: u32,
    },
    /// Its list of method caches makes no sense.
    #[error("the recording is damaged: it lists method caches that cannot be")]
    Caches,
    /// Not even all that comes before contexts.
    #[error("the recording is cut short: {len} bytes, where contexts begin at {}", abi::CHUNKS)]
    Short {
        /// Its size.
        len: u64,
    },
}

/// Copies all trees; frames in `stacks` become active departures of their contexts.
pub fn capture(mem: &dyn Memory, stacks: &[Stack]) -> Result<Capture, CaptureError> {
    let short = CaptureError::Short { len: mem.len() };
    let word = |at| mem.u32(at).ok_or(CaptureError::Short { len: mem.len() });
    if mem.len() < abi::CHUNKS {
        return Err(short);
    }
    match (word(header::MAGIC)?, word(header::VERSION)?) {
        (abi::MAGIC, abi::LAYOUT_VERSION) => {}
        (abi::MAGIC, found) => return Err(CaptureError::Version { found }),
        (found, _) => return Err(CaptureError::Magic { found }),
    }
    let mut capture = Capture {
        flags: word(header::FLAGS)?,
        depth: word(header::DEPTH)?,
        lost_calls: mem.u64(header::LOST).unwrap_or(0),
        ..Capture::default()
    };
    // Not one more: there may be no page for it, nor room for one.
    let known = u64::from(word(header::METHOD_COUNT)?.saturating_add(abi::FIRST_METHOD - 1).min(abi::MAX_METHODS));
    let mut table = vec![0; (abi::METHOD_ENTRY * known).min(mem.len() - abi::METHODS) as usize];
    mem.bytes(abi::METHODS, &mut table).ok_or(short)?;
    let whole = mem.u64(header::TOP).unwrap_or(0);
    let top = whole.min(mem.len());
    if top < whole {
        let missing = thousands(whole - top);
        let whole = thousands(whole);
        capture
            .warnings
            .push(format!("the recording is cut short: its last {missing} of {whole} bytes are missing, with their contexts"));
    }
    let private = capture.flags & flags::PRIVATE != 0;
    let mut chunks = chunks(mem, top, private, &mut capture.warnings);
    chunks.sort_unstable_by_key(|c| (c.tree, c.at));
    let lanes = word(header::LANES)?;
    capture.caches = caches(mem, lanes).ok_or(CaptureError::Caches)?;
    capture.misses = vec![Misses::default(); capture.caches.len()];
    capture.places = Places::new(top);
    let departed = Marks::new(top);
    let mut scan = Scan { mem, window: Window::new(mem), table, orphans: 0, torn: 0, departed, lanes, capture };
    for chunk in &chunks {
        // Of what the JVM keeps in its own memory it has said so.
        if scan.chunk(chunk).is_none() && !private {
            let at = chunk.at;
            scan.capture
                .warnings
                .push(format!("the chunk at byte {at} of the recording is damaged; its contexts are incomplete"));
        }
    }
    // After the trees: the thread takes what it noted out of here before it enters it there.
    for tree in 0..scan.capture.trees.len() {
        let _ = scan.pending(scan.capture.trees[tree].reference);
    }
    let Scan { orphans, torn, mut capture, .. } = scan;
    if orphans > 0 {
        let contexts = counted(orphans, "context without a caller was", "contexts without a caller were");
        capture.warnings.push(format!("{contexts} left out"));
    }
    if torn > 0 {
        capture.warnings.push(format!("of {torn} contexts not all exceptions can be read; some of their blocks count whole"));
    }
    stacks::place(&mut capture, mem, stacks);
    capture.settle();
    Ok(capture)
}

/// The caches that the header lists; none when it cannot be right.
fn caches(mem: &dyn Memory, lanes: u32) -> Option<Vec<CacheSpec>> {
    let count = mem.u32(header::CACHES)?;
    if count > lanes || lanes as usize > abi::caches::MOST {
        return None;
    }
    let spec = |i: u32| {
        let at = header::CACHE_SPECS + 16 * u64::from(i);
        let kind = mem.u32(at)?;
        let scope = if kind & abi::caches::SHARED == 0 { Scope::Thread } else { Scope::Shared };
        let kind = match kind & !abi::caches::SHARED {
            abi::caches::FIFO => CacheKind::Fifo,
            abi::caches::LRU => CacheKind::Lru,
            _ => return None,
        };
        let spec = CacheSpec { kind, size: mem.u32(at + 4)?, blocks: mem.u32(at + 8)?, scope };
        spec.problem().is_none().then_some(spec)
    };
    (0..count).map(spec).collect()
}

struct Chunk {
    tree: u32,
    at: u64,
    end: u64,
}

/// The chunks up to `top`. A header that is not there yet is waited for a moment; one that stays away (its writer was killed
/// between taking the room and using it) is stepped over. `private`: the last ones may be in the JVM's own memory, which whoever
/// reads the file says.
fn chunks(mem: &dyn Memory, top: u64, private: bool, warnings: &mut Vec<String>) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut at = abi::CHUNKS;
    while at < top {
        let mut found = chunk_at(mem, at, top);
        for _ in 0..20 {
            if found.is_some() || mem.u32(at) != Some(kind::END) {
                break;
            }
            std::thread::sleep(Duration::from_micros(50));
            found = chunk_at(mem, at, top);
        }
        if let Some(chunk) = found {
            at = chunk.end;
            chunks.push(chunk);
            continue;
        }
        let hole = at;
        at = (at + 1).next_multiple_of(abi::CHUNK_ALIGN);
        while at < top && chunk_at(mem, at, top).is_none() {
            at += abi::CHUNK_ALIGN;
        }
        if private && at >= top {
            break;
        }
        warnings.push(format!("{} bytes at {hole} of the recording are no chunk and were stepped over", at.min(top) - hole));
    }
    chunks
}

fn chunk_at(mem: &dyn Memory, at: u64, top: u64) -> Option<Chunk> {
    if mem.u32(at)? != kind::CHUNK {
        return None;
    }
    let (tree, size) = (mem.u32(at + chunk::TREE)?, mem.u64(at + chunk::BYTES)?);
    let end = at.checked_add(size)?;
    (size >= chunk::HEADER && size % 8 == 0 && end <= top && tree != 0).then_some(Chunk { tree, at, end })
}

struct Scan<'a> {
    mem: &'a dyn Memory,
    window: Window<'a>,
    /// The arena's method table.
    table: Vec<u8>,
    orphans: u64,
    /// Nodes whose list of departures is damaged.
    torn: u64,
    /// The records of departures that were taken over.
    departed: Marks,
    /// Places for misses of a cause in a node.
    lanes: u32,
    capture: Capture,
}

impl Scan<'_> {
    /// The method table's entry. Ids are not given out in order, so whatever was not in the table yet when it was copied is
    /// looked up in the arena.
    fn method(&self, id: u32) -> Option<u32> {
        let at = abi::METHOD_ENTRY as usize * id as usize;
        let copied = self.table.get(at..at + 4).and_then(|entry| Some(u32::from_le_bytes(entry.try_into().ok()?)));
        match copied {
            Some(entry) if entry != 0 => Some(entry),
            _ if id < abi::MAX_METHODS => self.mem.u32(abi::METHODS + at as u64),
            _ => None,
        }
    }

    /// Takes over a chunk's objects. None where the chunk is damaged.
    fn chunk(&mut self, chunk: &Chunk) -> Option<()> {
        let mut at = chunk.at + chunk::HEADER;
        while at + 8 <= chunk.end {
            let start = self.window.bytes(at, 8)?;
            let (what, length) = (word(start, 0)?, word(start, 4)?);
            let mut entry = 0;
            let size = match what {
                kind::END => break,
                kind::DEPARTURE => departure::SIZE,
                kind::ROOT => root::SIZE,
                kind::INDEX => abi::index::HEADER + 4 * u64::from(length),
                kind::LABEL => abi::label::HEADER + u64::from(length),
                kind::RECORD => abi::record::SIZE,
                kind::LOG => length.into(),
                kind::OVERFLOW | kind::OUTSIDE => node::COUNTERS,
                id if id >= abi::FIRST_METHOD => {
                    entry = self.method(id).filter(|&e| e != 0)?;
                    abi::node_size((entry & abi::METHOD_COUNTERS) as u16, entry & abi::METHOD_LEAF != 0, self.lanes)
                }
                _ => return None,
            };
            let end = at + size.next_multiple_of(8);
            if end == at || end > chunk.end {
                return None;
            }
            match what {
                kind::DEPARTURE | kind::INDEX | kind::LABEL | kind::RECORD | kind::LOG => {}
                kind::ROOT => self.root(at)?,
                _ => self.node(at, size, entry)?,
            }
            at = end;
        }
        Some(())
    }

    fn root(&mut self, at: u64) -> Option<()> {
        let label = self.mem.u32(at + root::LABEL)?;
        let [flags, leases] = [self.mem.u32(at + root::FLAGS)?, self.mem.u32(at + root::LEASES)?];
        let [overflow, outside] = [self.mem.u32(at + root::OVERFLOW)?, self.mem.u32(at + root::OUTSIDE)?];
        let c = &mut self.capture;
        let reference = u32::try_from(at / abi::UNIT).ok()?;
        let index = c.what.len() as u32;
        c.places.insert(reference, index);
        c.what.push(kind::ROOT);
        c.parent.push(index);
        if c.flags & flags::SITES != 0 {
            c.site.push(0);
        }
        for misses in &mut c.misses {
            misses.entry.push(0);
            misses.returns.push(0);
        }
        c.trees.push(CapturedTree {
            reference,
            first_node: index,
            name: label_at(self.mem, label).unwrap_or_default(),
            flags,
            leases,
            overflow,
            outside,
        });
        Some(())
    }

    /// Takes over the node at `at`; its method's entry in the method table is 0 where it has none.
    fn node(&mut self, at: u64, size: u64, entry: u32) -> Option<()> {
        let reference = u32::try_from(at / abi::UNIT).ok()?;
        let bytes = self.window.bytes(at, size)?;
        let header = |offset: u64| word(bytes, offset as usize);
        let (what, parent, departures) = (header(node::METHOD)?, header(node::PARENT)?, header(node::DEPARTURES)?);
        let c = &mut self.capture;
        // In a damaged arena a caller may also be in the tree of another thread, where no profile may have it.
        let first = c.trees.last().map_or(0, |tree| tree.first_node);
        let Some(parent) = c.places.get(parent).filter(|&parent| parent >= first) else {
            self.orphans += 1;
            return Some(());
        };
        let index = c.what.len() as u32;
        c.places.insert(reference, index);
        c.what.push(what);
        c.parent.push(parent);
        if c.flags & flags::SITES != 0 {
            c.site.push(header(node::SITE)?);
        }
        let start = if entry & abi::METHOD_LEAF == 0 { node::COUNTERS } else { node::LEAF_COUNTERS } as usize;
        let words = bytes.get(start..)?.as_chunks::<8>().0;
        // The marker nodes of a tree have no counters, and no misses either.
        let (counters, misses) = words.split_at_checked((entry & abi::METHOD_COUNTERS) as usize)?;
        c.rows.push(what, counters.iter().map(|w| u64::from_le_bytes(*w)));
        let lane = |at: usize| misses.get(at).map_or(0, |w| u64::from_le_bytes(*w));
        for (i, misses) in c.misses.iter_mut().enumerate() {
            misses.entry.push(lane(i));
            misses.returns.push(lane(i + self.lanes as usize));
        }
        if departures != 0 && self.departures(index, departures).is_none() {
            self.torn += 1;
        }
        Some(())
    }

    /// What a thread out of stack could only note in its tree's root; the latest of it.
    fn pending(&mut self, tree: u32) -> Option<()> {
        let at = u64::from(tree) * abi::UNIT;
        let noted = u64::from(self.mem.u32(at + root::PENDING_USED)?);
        self.capture.lost_calls = self.capture.lost_calls.saturating_add(noted.saturating_sub(root::PENDING_COUNT));
        for entry in 0..noted.min(root::PENDING_COUNT) {
            let entry = at + root::PENDING + 8 * entry;
            let (node, place) = (self.mem.u32(entry)?, self.mem.u32(entry + 4)?);
            if let Some(index) = self.capture.node_at(node) {
                self.capture.departures.push((index, Where::of(place), 1));
            }
        }
        Some(())
    }

    fn departures(&mut self, index: u32, mut reference: u32) -> Option<()> {
        while reference != 0 {
            let at = u64::from(reference) * abi::UNIT;
            if self.mem.u32(at)? != kind::DEPARTURE {
                return None;
            }
            // A record belongs to one node, whatever damaged lists say.
            if !self.departed.mark(reference) {
                return None;
            }
            let place = self.mem.u32(at + departure::WHERE)?;
            let count = self.mem.u64(at + departure::COUNT)? as i64;
            self.capture.departures.push((index, Where::of(place), count));
            // Newest first, at falling addresses: a list that does not fall is damaged, and might have no end.
            let next = self.mem.u32(at + departure::NEXT)?;
            if next >= reference {
                return None;
            }
            reference = next;
        }
        Some(())
    }
}

/// The u32 at a byte offset.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// UTF-16 as text; a surrogate without its pair, which no text can hold, as `\uD83D`, as in names of methods.
fn text_of(units: impl Iterator<Item = u16>) -> String {
    let text = |unit: Result<char, DecodeUtf16Error>| match unit {
        Ok(c) => c.to_string(),
        Err(lone) => format!("\\u{:04X}", lone.unpaired_surrogate()),
    };
    char::decode_utf16(units).map(text).collect()
}

fn label_at(mem: &dyn Memory, reference: u32) -> Option<String> {
    let at = u64::from(reference) * abi::UNIT;
    if reference == 0 || mem.u32(at)? != kind::LABEL {
        return None;
    }
    let mut bytes = vec![0; mem.u32(at + 4)?.min(abi::label::LONGEST) as usize];
    mem.bytes(at + abi::label::HEADER, &mut bytes)?;
    Some(if mem.u32(at + abi::label::WIDE)? & 1 == 1 {
        text_of(bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)))
    } else {
        bytes.iter().map(|&b| b as char).collect()
    })
}

impl Capture {
    /// Number of contexts, roots included.
    pub fn nodes(&self) -> usize {
        self.what.len()
    }

    /// The node at a reference in the arena.
    pub(super) fn node_at(&self, reference: u32) -> Option<u32> {
        self.places.get(reference)
    }

    /// Where all nodes are in the arena.
    pub(super) fn references(&self) -> Vec<u32> {
        self.places.references(self.nodes())
    }

    /// Orders departures and joins equal ones.
    pub(super) fn settle(&mut self) {
        self.departures.sort_unstable_by_key(|d| (d.0, d.1));
        self.departures.dedup_by(|later, first| {
            let same = (later.0, later.1) == (first.0, first.1);
            if same {
                first.2 = first.2.wrapping_add(later.2);
            }
            same
        });
        self.departures.retain(|d| d.2 != 0);
    }
}

#[cfg(test)]
mod tests {
    use super::text_of;

    #[test]
    fn names_keep_surrogates_without_their_pair() {
        let units = [0x61, 0xD83D, 0xDE00, 0xD83D, 0x62];
        assert_eq!(text_of(units.into_iter()), "a\u{1F600}\\uD83Db");
    }
}
