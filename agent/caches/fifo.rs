//! Up to eight FIFO caches with block granularity, looked up in all at once.

use super::lanes::{LANES, Lanes, Vector};
use cprof_profile::cache::CacheSpec;
use cprof_profile::options::MOST_BLOCKS;

/// Most lookups between two calls of [`Fifo::rebase`]: with 65535 blocks each (JVMS §4.7.3: that many bytes of code), 2^29
/// blocks.
pub const MOST_LOOKUPS: usize = 8192;
/// Block numbers begin anew from here.
const LARGE: i32 = 1 << 30;

/// A method in all caches: a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Entry {
    /// The largest `next` at which the method is still there.
    limit: Lanes,
    /// How many blocks it takes: at most as many as a method has bytes (JVMS §4.7.3).
    blocks: [u16; LANES],
    /// What whoever looks up wants to know of a method that was missed: not 0, which is method 0's.
    tag: u32,
}

/// In every lane.
const NEVER_MISSES: Entry = Entry { limit: [i32::MAX; LANES], blocks: [0; LANES], tag: 0 };

/// The caches. A cache of N blocks overwrites a method's first block when it has loaded N blocks from there on, and that block
/// carries the method's name (Binder et al. 2009, Figure 3); so a method is there while the next block's number is at most that
/// of its first block + N.
#[derive(Debug)]
pub struct Fifo {
    /// N; 0 in lanes without a cache.
    size: Lanes,
    /// Number of the block that is written next. Whoever looks up keeps it in registers.
    pub next: Lanes,
    entries: Vec<Entry>,
}

impl Fifo {
    /// Cold caches; lanes of `None` never miss. The first `fixed` methods are always there, but for method 0, which is nowhere:
    /// it stands for those that have no number yet ([`Self::forget_unknown`]).
    pub fn new(specs: &[Option<CacheSpec>], fixed: usize) -> Fifo {
        let mut size = [0; LANES];
        for (lane, spec) in specs.iter().enumerate().take(LANES) {
            size[lane] = spec.map_or(0, |spec| spec.blocks.min(MOST_BLOCKS) as i32);
        }
        let mut fifo = Fifo { size, next: size.map(|n| n + 1), entries: vec![NEVER_MISSES; fixed] };
        fifo.forget_unknown();
        fifo
    }

    /// Adds a method that is nowhere yet; answers its number.
    pub fn add(&mut self, specs: &[Option<CacheSpec>], code_length: u32, tag: u32) -> u32 {
        let mut entry = Entry { tag, ..NEVER_MISSES };
        for (lane, spec) in specs.iter().enumerate().take(LANES) {
            if let Some(spec) = spec {
                entry.blocks[lane] = spec.blocks_of(code_length).min(u16::MAX.into()) as u16;
                entry.limit[lane] = 0;
            }
        }
        self.entries.push(entry);
        self.entries.len() as u32 - 1
    }

    /// What was said of a method when it was added; 0 of those that are always there, of method 0, and of those that are none.
    #[inline(always)]
    pub fn tag(&self, method: u32) -> u32 {
        self.entries.get(method as usize).map_or(0, |entry| entry.tag)
    }

    /// Nothing is there any more.
    pub fn clear(&mut self) {
        for lane in 0..LANES {
            self.next[lane] += self.size[lane] + 1;
        }
    }

    /// Makes room for [`MOST_LOOKUPS`].
    pub fn rebase(&mut self) {
        for lane in 0..LANES {
            if self.next[lane] < LARGE {
                continue;
            }
            // What is there keeps its distance to `next`; what is not stays below; method 0 is below anyway.
            let by = self.next[lane] - self.size[lane] - 1;
            self.next[lane] -= by;
            for entry in self.entries.iter_mut().skip(1).filter(|e| e.limit[lane] != i32::MAX) {
                entry.limit[lane] = (entry.limit[lane] - by).max(0);
            }
        }
    }

    /// Looks a method up, and loads it where it is not there: the answer is its tag and a mask of those lanes. `None`: it is
    /// everywhere, or there is no such method.
    #[inline(always)]
    pub fn lookup<V: Vector>(&mut self, proof: V::Proof, method: u32, next: &mut V) -> Option<(u32, V)> {
        let entry = self.entries.get_mut(method as usize)?;
        let limit = V::new(proof, &entry.limit);
        let missed = next.greater(limit);
        if !missed.any() {
            return None;
        }
        let loaded = next.add(V::new(proof, &self.size));
        entry.limit = missed.choose(loaded, limit).get();
        *next = next.add(missed.and(V::widen(proof, &entry.blocks)));
        Some((entry.tag, missed))
    }

    /// Method 0 is nowhere, though it was looked up.
    pub fn forget_unknown(&mut self) {
        self.entries[0].limit = [i32::MIN; LANES];
    }
}
