//! Up to eight FIFO caches with block granularity, looked up in all at once.

use cprof_profile::cache::CacheSpec;
use cprof_profile::options::MOST_BLOCKS;

/// Number of caches that one lookup goes through.
pub const LANES: usize = 8;
/// Most lookups between two calls of [`Fifo::rebase`]: with 65535 blocks each (JVMS §4.7.3: that many bytes of code), 2^29 blocks.
pub const MOST_LOOKUPS: usize = 8192;
/// Block numbers begin anew from here.
const LARGE: i32 = 1 << 30;

/// A method in all caches.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Entry {
    /// The largest `next` at which the method is still there.
    limit: Lanes,
    /// How many blocks it takes.
    blocks: Lanes,
}

/// In every lane.
const NEVER_MISSES: Entry = Entry { limit: [i32::MAX; LANES], blocks: [0; LANES] };

/// The caches. A cache of N blocks overwrites a method's first block when it has loaded N blocks from there on, and that block
/// carries the method's name (Binder et al. 2009, Figure 3); so a method is there while the next block's number is at most that of its
/// first block + N.
#[derive(Debug)]
pub struct Fifo {
    /// N; 0 in lanes without a cache.
    size: Lanes,
    /// Number of the block that is written next. Whoever looks up keeps it in registers.
    pub next: Lanes,
    entries: Vec<Entry>,
}

/// A number per cache.
pub type Lanes = [i32; LANES];

impl Fifo {
    /// Cold caches; lanes of `None` never miss. The first `fixed` methods are always there.
    pub fn new(specs: &[Option<CacheSpec>], fixed: usize) -> Fifo {
        let mut size = [0; LANES];
        for (lane, spec) in specs.iter().enumerate().take(LANES) {
            size[lane] = spec.map_or(0, |spec| spec.blocks.min(MOST_BLOCKS) as i32);
        }
        Fifo { size, next: size.map(|n| n + 1), entries: vec![NEVER_MISSES; fixed] }
    }

    /// Adds a method that is nowhere yet; answers its number.
    pub fn add(&mut self, specs: &[Option<CacheSpec>], code_length: u32) -> u32 {
        let mut entry = NEVER_MISSES;
        for (lane, spec) in specs.iter().enumerate().take(LANES) {
            if let Some(spec) = spec {
                entry.blocks[lane] = spec.blocks_of(code_length) as i32;
                entry.limit[lane] = 0;
            }
        }
        self.entries.push(entry);
        self.entries.len() as u32 - 1
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
            // What is there keeps its distance to `next`; what is not stays below.
            let by = self.next[lane] - self.size[lane] - 1;
            self.next[lane] -= by;
            for entry in self.entries.iter_mut().filter(|e| e.limit[lane] != i32::MAX) {
                entry.limit[lane] = (entry.limit[lane] - by).max(0);
            }
        }
    }

    /// Looks a method up, and loads it where it is not there: the answer has -1 in those lanes. `None`: it is everywhere, or there is
    /// no such method.
    #[inline(always)]
    pub fn lookup(&mut self, method: u32, next: &mut Lanes) -> Option<Lanes> {
        let entry = self.entries.get_mut(method as usize)?;
        let mut missed = [0; LANES];
        let mut any = 0;
        for lane in 0..LANES {
            missed[lane] = -i32::from(next[lane] > entry.limit[lane]);
            any |= missed[lane];
        }
        if any == 0 {
            return None;
        }
        for lane in 0..LANES {
            let loaded = next[lane] + self.size[lane];
            entry.limit[lane] = missed[lane] & loaded | !missed[lane] & entry.limit[lane];
            next[lane] += missed[lane] & entry.blocks[lane];
        }
        Some(missed)
    }
}
