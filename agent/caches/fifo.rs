//! Up to eight FIFO caches with block granularity, looked up in all at once.

use super::lanes::{LANES, Lanes, Vector};
use super::view::Misses;
use cprof_instrument::abi;
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
    /// Of a method that can be missed; `None` is method 0's.
    misses: Option<Misses>,
}

/// Methods have numbers that are multiples of this: their entries' distance from the first in [`abi::UNIT`], which processors
/// multiply by as they load.
pub const NUMBER: u32 = (size_of::<Entry>() / abi::UNIT as usize) as u32;
/// In every lane.
const NEVER_MISSES: Entry = Entry { limit: [i32::MAX; LANES], blocks: [0; LANES], misses: None };
/// Nowhere: what stands for those that have no number yet.
const UNKNOWN: Entry = Entry { limit: [i32::MIN; LANES], ..NEVER_MISSES };

/// The caches. A cache of N blocks overwrites a method's first block when it has loaded N blocks from there on, and that block
/// carries the method's name (Binder et al. 2009, Figure 3); so a method is there while the next block's number is at most that
/// of its first block + N.
#[derive(Debug)]
pub struct Fifo {
    /// N; 0 in lanes without a cache.
    size: Lanes,
    /// Number of the block that is written next.
    next: Lanes,
    /// As many as a power of two, so that a mask makes any number one of these: [`NEVER_MISSES`] from `count` on.
    entries: Vec<Entry>,
    count: usize,
}

impl Fifo {
    /// Cold caches; lanes of `None` never miss. The first `fixed` methods are always there, but for method 0, which is nowhere:
    /// it stands for those that have no number yet.
    pub fn new(specs: &[Option<CacheSpec>], fixed: usize) -> Fifo {
        let mut size = [0; LANES];
        for (lane, spec) in specs.iter().enumerate().take(LANES) {
            size[lane] = spec.map_or(0, |spec| spec.blocks.min(MOST_BLOCKS) as i32);
        }
        let mut entries = vec![NEVER_MISSES; fixed.next_power_of_two()];
        entries[0] = UNKNOWN;
        Fifo { size, next: size.map(|n| n + 1), entries, count: fixed }
    }

    /// Adds a method that is nowhere yet; answers its number.
    pub fn add(&mut self, specs: &[Option<CacheSpec>], code_length: u32, misses: Option<Misses>) -> u32 {
        let mut entry = Entry { misses, ..NEVER_MISSES };
        for (lane, spec) in specs.iter().enumerate().take(LANES) {
            if let Some(spec) = spec {
                entry.blocks[lane] = spec.blocks_of(code_length).min(u16::MAX.into()) as u16;
                entry.limit[lane] = 0;
            }
        }
        if self.count == self.entries.len() {
            self.entries.resize(2 * self.count, NEVER_MISSES);
        }
        self.entries[self.count] = entry;
        self.count += 1;
        (self.count - 1) as u32 * NUMBER
    }

    /// Whether this is the number of a method, those included that are always there.
    pub fn has(&self, number: u32) -> bool {
        number.is_multiple_of(NUMBER) && ((number / NUMBER) as usize) < self.count
    }

    /// What was said of a method when it was added; `None` for those that are always there, for method 0, and for those that are
    /// none.
    pub fn misses(&self, number: u32) -> Option<Misses> {
        self.entries.get((number / NUMBER) as usize)?.misses
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

    /// For lookups; no method can be added meanwhile.
    #[inline(always)]
    pub fn lookups<V: Vector>(&mut self, proof: V::Proof) -> Lookups<'_, V> {
        let mask = (self.entries.len() - 1) as u32 * NUMBER;
        Lookups { proof, size: V::new(proof, &self.size), next: V::new(proof, &self.next), mask, entries: &mut self.entries }
    }

    /// What the lookups have come to.
    pub fn goes_on_from(&mut self, next: Lanes) {
        self.next = next;
    }
}

/// The caches while methods are looked up. What this has is in registers then.
pub struct Lookups<'a, V: Vector> {
    proof: V::Proof,
    size: V,
    next: V,
    /// Makes any number one of those below.
    mask: u32,
    entries: &'a mut [Entry],
}

/// A method that is not in all caches.
pub struct Miss<V> {
    number: u32,
    limit: V,
    /// Where it is missing.
    pub lanes: V,
}

impl<V: Vector> Lookups<'_, V> {
    /// Looks a method up: `None` if it is everywhere. What is no number is another method's.
    #[inline(always)]
    pub fn look_up(&mut self, number: u32) -> Option<Miss<V>> {
        let limit = V::new(self.proof, &self.entry(number).limit);
        let lanes = self.next.greater(limit);
        lanes.any().then_some(Miss { number, limit, lanes })
    }

    /// Loads it where it is missing.
    #[inline(always)]
    pub fn load(&mut self, miss: &Miss<V>) {
        let loaded = self.next.add(self.size);
        let entry = self.entry(miss.number);
        entry.limit = miss.lanes.choose(loaded, miss.limit).get();
        let blocks = V::widen(self.proof, &self.entry(miss.number).blocks);
        self.next = self.next.add(miss.lanes.and(blocks));
    }

    /// As [`Fifo::misses`].
    #[inline(always)]
    pub fn misses(&mut self, number: u32) -> Option<Misses> {
        self.entry(number).misses
    }

    /// Number of the block that is written next.
    pub fn next(&self) -> Lanes {
        self.next.get()
    }

    #[inline(always)]
    fn entry(&mut self, number: u32) -> &mut Entry {
        const { assert!(NUMBER.is_power_of_two()) };
        let at = (number & self.mask) as usize * abi::UNIT as usize;
        // SAFETY: the mask has the bits of the numbers of all entries, whose count is a power of two, and no others; so this is the
        // distance of one of them.
        unsafe { &mut *self.entries.as_mut_ptr().byte_add(at) }
    }
}
