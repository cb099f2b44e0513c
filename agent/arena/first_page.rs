//! What the arena's first page says from the beginning.

use super::Arena;
use super::growth::{FIRST_STEP, KEPT};
use crate::caches;
use cprof_instrument::abi::{self, flags, header};
use cprof_profile::cache::{CacheKind, CacheSpec, Scope};
use cprof_profile::options::Options;
use std::sync::atomic::Ordering;

impl Arena {
    pub(super) fn write_header(&self, options: &Options, soft_limit: u64) {
        let bits = [(options.sites, flags::SITES), (options.fold, flags::FOLD), (!options.roots.is_empty(), flags::ROOTS)];
        let flags = bits.iter().filter(|(given, _)| *given).fold(0, |all, (_, bit)| all | bit);
        self.u32_at(header::VERSION).store(abi::LAYOUT_VERSION, Ordering::Relaxed);
        self.u64_at(header::TOP).store(abi::CHUNKS, Ordering::Relaxed);
        self.u64_at(header::LIMIT).store(abi::CHUNKS + FIRST_STEP - KEPT, Ordering::Relaxed);
        self.u64_at(header::SOFT_LIMIT).store(soft_limit, Ordering::Relaxed);
        self.u32_at(header::FLAGS).store(flags, Ordering::Relaxed);
        self.u32_at(header::DEPTH).store(options.depth, Ordering::Relaxed);
        self.take_wishes(false);
        self.u64_at(header::MAX_NODES).store(options.max_nodes, Ordering::Relaxed);
        self.u32_at(header::METHOD_COUNT).store(1, Ordering::Relaxed);
        self.u32_at(header::MAGIC).store(abi::MAGIC, Ordering::Release);
    }

    /// What is simulated, and the record of what never misses.
    pub(super) fn write_caches(&self, specs: &[CacheSpec]) {
        let put = |at: u64, value: u32| self.u32_at(at).store(value, Ordering::Relaxed);
        put(header::CACHES, specs.len() as u32);
        put(header::LANES, caches::lanes(specs));
        for (i, spec) in specs.iter().enumerate() {
            let kind = if spec.kind == CacheKind::Lru { abi::caches::LRU } else { abi::caches::FIFO };
            let shared = if spec.scope == Scope::Shared { abi::caches::SHARED } else { 0 };
            let at = header::CACHE_SPECS + 16 * i as u64;
            put(at, kind | shared);
            put(at + 4, spec.size);
            put(at + 8, spec.blocks);
        }
        put(header::HIT + abi::record::MISSES, abi::node::COUNTERS as u32);
        self.u64_at(header::HIT + abi::record::LIMIT).store(i64::MAX as u64, Ordering::Relaxed);
        put(header::HIT, abi::kind::RECORD);
        // The last: the junk node as a leaf's.
        for node in [header::EARLY, abi::JUNK, abi::JUNK + abi::node::LEAF_BIAS] {
            put(node + abi::node::RECORD, (header::HIT / abi::UNIT) as u32);
        }
    }
}
