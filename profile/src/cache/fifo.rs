//! First in, first out: methods are loaded behind each other, around and around.

use super::{CacheSpec, CacheStrategy, Lookup, each};
use rustc_hash::FxHashMap;

/// The method cache of Binder et al. 2009, Figure 3, at constant cost per lookup.
///
/// There, a method's first block carries its name; loading a method overwrites the blocks behind the last one loaded. Let
/// `written` be the number of blocks ever written, and `first` its value when a method was loaded. The method's first block
/// is overwritten when the writer comes round to it, which is when more than all blocks have been written since: the
/// method is there if and only if `written - first <= blocks`. A method of more blocks than the cache has overwrites its own
/// first block, and by the same rule is never there.
#[derive(Debug)]
pub struct Fifo {
    spec: CacheSpec,
    /// Blocks written so far.
    written: u64,
    /// Per method, `written` when it was loaded last.
    first: FxHashMap<u32, u64>,
}

impl Fifo {
    /// An empty cache.
    pub fn new(spec: CacheSpec) -> Fifo {
        Fifo { spec, written: 0, first: FxHashMap::default() }
    }
}

impl CacheStrategy for Fifo {
    fn spec(&self) -> CacheSpec {
        self.spec
    }

    fn lookups(&mut self, events: &[Lookup], missed: &mut [bool]) {
        each(events, missed, |event| {
            let there = self.first.get(&event.method).is_some_and(|first| self.written - first <= u64::from(self.spec.blocks));
            if !there {
                self.first.insert(event.method, self.written);
                self.written += u64::from(self.spec.blocks_of(event.code_length));
            }
            !there
        });
    }
}
