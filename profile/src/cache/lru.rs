//! Least recently used: a missing method takes the place of those not used for the longest time.

use super::{CacheSpec, CacheStrategy, Lookup, each};
use rustc_hash::FxHashMap;

/// A cache of blocks that may be anywhere: methods leave whole, the least recently used first, until the new one fits.
/// A method of more blocks than the cache has empties it and does not stay. Each method leaves as often as it comes, so
/// that a lookup takes constant time on average.
#[derive(Debug)]
pub struct Lru {
    spec: CacheSpec,
    free: u32,
    /// Entry by method.
    entries: FxHashMap<u32, usize>,
    /// Entry 0 is the list's end: its `older` is the one used last, its `newer` the one to leave next.
    list: Vec<Entry>,
    unused: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    method: u32,
    blocks: u32,
    newer: usize,
    older: usize,
}

impl Lru {
    /// An empty cache.
    pub fn new(spec: CacheSpec) -> Lru {
        let end = Entry { method: 0, blocks: 0, newer: 0, older: 0 };
        Lru { spec, free: spec.blocks, entries: FxHashMap::default(), list: vec![end], unused: Vec::new() }
    }

    fn unlink(&mut self, at: usize) {
        let Entry { newer, older, .. } = self.list[at];
        self.list[newer].older = older;
        self.list[older].newer = newer;
    }

    fn link_as_newest(&mut self, at: usize) {
        let second = self.list[0].older;
        self.list[at].newer = 0;
        self.list[at].older = second;
        self.list[second].newer = at;
        self.list[0].older = at;
    }

    fn evict_oldest(&mut self) {
        let at = self.list[0].newer;
        self.unlink(at);
        self.free += self.list[at].blocks;
        self.entries.remove(&self.list[at].method);
        self.unused.push(at);
    }

    fn load(&mut self, method: u32, blocks: u32) {
        while self.free < blocks && !self.entries.is_empty() {
            self.evict_oldest();
        }
        if self.free < blocks {
            return;
        }
        self.free -= blocks;
        let entry = Entry { method, blocks, newer: 0, older: 0 };
        let at = match self.unused.pop() {
            Some(at) => {
                self.list[at] = entry;
                at
            }
            None => {
                self.list.push(entry);
                self.list.len() - 1
            }
        };
        self.entries.insert(method, at);
        self.link_as_newest(at);
    }
}

impl CacheStrategy for Lru {
    fn spec(&self) -> CacheSpec {
        self.spec
    }

    fn lookups(&mut self, events: &[Lookup], missed: &mut [bool]) {
        each(events, missed, |event| match self.entries.get(&event.method).copied() {
            Some(at) => {
                self.unlink(at);
                self.link_as_newest(at);
                false
            }
            None => {
                self.load(event.method, self.spec.blocks_of(event.code_length));
                true
            }
        });
    }
}
