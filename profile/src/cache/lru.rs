//! Least recently used: a missing method takes the place of those not used for the longest time.

use super::{CacheSpec, CacheStrategy, Lookup, each};

/// A cache of blocks that may be anywhere: methods leave whole, the least recently used first, until the new one fits.
/// A method of more blocks than the cache has empties it and does not stay.
///
/// Every use is written down behind those before, and none is crossed out: of a method's uses the last is the one that counts, so
/// that the one to leave is named by the first use that is its method's last. Uses are read when methods leave, once, or when the list
/// has grown so long that half of it or more is of no use any more; a lookup takes constant time on average.
#[derive(Debug)]
pub struct Lru {
    spec: CacheSpec,
    free: u32,
    /// By number.
    methods: Vec<Method>,
    /// Methods in the order of their uses.
    uses: Vec<u32>,
    /// How many of the uses have been read.
    read: usize,
    /// The uses are read through when there are so many.
    most: usize,
}

/// How many uses are written down at least before they are read through: 8 KB.
const LEAST: usize = 2048;

#[derive(Debug, Clone, Copy, Default)]
struct Method {
    /// How many uses there were with its last one; 0 if it is not there.
    last: u32,
    /// 0 until it is loaded first.
    blocks: u32,
}

impl Lru {
    /// An empty cache.
    pub fn new(spec: CacheSpec) -> Lru {
        Lru { spec, free: spec.blocks, methods: Vec::new(), uses: Vec::new(), read: 0, most: LEAST }
    }

    /// Writes down that a method was used which is there.
    fn used(&mut self, method: u32) {
        if self.uses.len() >= self.most {
            self.read_through();
        }
        self.uses.push(method);
        self.methods[method as usize].last = self.uses.len() as u32;
    }

    /// Forgets the uses that were not their method's last.
    #[cold]
    fn read_through(&mut self) {
        let mut kept = 0;
        for at in self.read..self.uses.len() {
            let method = &mut self.methods[self.uses[at] as usize];
            if method.last as usize == at + 1 {
                self.uses[kept] = self.uses[at];
                kept += 1;
                method.last = kept as u32;
            }
        }
        self.uses.truncate(kept);
        self.read = 0;
        self.most = LEAST.max(2 * kept);
    }

    /// How many uses are written down.
    #[cfg(test)]
    pub(super) fn uses(&self) -> usize {
        self.uses.len()
    }

    /// Has the method leave that was used longest ago. Answers false if there is none.
    fn evict_oldest(&mut self) -> bool {
        while let Some(&method) = self.uses.get(self.read) {
            self.read += 1;
            let method = &mut self.methods[method as usize];
            if method.last as usize == self.read {
                method.last = 0;
                self.free += method.blocks;
                return true;
            }
        }
        false
    }

    fn load(&mut self, event: &Lookup) {
        let method = event.method as usize;
        if method >= self.methods.len() {
            self.methods.resize(method + 1, Method::default());
        }
        let known = &mut self.methods[method];
        if known.blocks == 0 {
            known.blocks = self.spec.blocks_of(event.code_length);
        }
        let blocks = known.blocks;
        while self.free < blocks && self.evict_oldest() {}
        if self.free >= blocks {
            self.free -= blocks;
            self.used(event.method);
        }
    }
}

impl CacheStrategy for Lru {
    fn spec(&self) -> CacheSpec {
        self.spec
    }

    fn lookups(&mut self, events: &[Lookup], missed: &mut [bool]) {
        each(events, missed, |event| {
            let last = self.methods.get(event.method as usize).map_or(0, |method| method.last as usize);
            if last == 0 {
                self.load(event);
            } else if last != self.uses.len() {
                self.used(event.method);
            }
            last == 0
        });
    }
}
