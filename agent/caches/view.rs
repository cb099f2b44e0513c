//! The arena as the simulation of caches reads and writes it: while nobody else touches what it writes.

use crate::arena::Arena;
use cprof_instrument::abi::{self, node};
use cprof_profile::recording::Memory;
use std::marker::PhantomData;
use std::sync::RwLockReadGuard;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The arena up to its present top. Misses are counted in it by one thread at a time.
pub struct View<'a> {
    base: *mut u8,
    len: u64,
    /// Where the last node can begin, in [`abi::UNIT`], and one more.
    nodes: u32,
    /// Whoever reads misses waits until the view is gone.
    _no_reader: PhantomData<RwLockReadGuard<'a, ()>>,
}

impl<'a> View<'a> {
    /// `no_reader` keeps those out who read misses. The caller is the only one who has a view of a core's nodes.
    pub fn new(arena: &'a Arena, _no_reader: &'a RwLockReadGuard<'_, ()>) -> View<'a> {
        let len = arena.len();
        let nodes = (len.saturating_sub(node::CHILDREN) / abi::UNIT).min(u32::MAX.into()) as u32;
        View { base: arena.base() as *mut u8, len, nodes, _no_reader: PhantomData }
    }

    /// A word; `None` beyond the end.
    #[inline(always)]
    pub fn u32(&self, at: u64) -> Option<u32> {
        if at + 4 > self.len || !at.is_multiple_of(4) {
            return None;
        }
        // SAFETY: aligned, and inside the arena, which is mapped as long as its caches are simulated.
        Some(unsafe { AtomicU32::from_ptr(self.base.add(at as usize).cast()) }.load(Ordering::Relaxed))
    }

    /// Writes a word, if it is in the arena.
    pub fn set_u32(&mut self, at: u64, value: u32) {
        if at + 4 <= self.len && at.is_multiple_of(4) {
            // SAFETY: as in u32.
            unsafe { AtomicU32::from_ptr(self.base.add(at as usize).cast()) }.store(value, Ordering::Relaxed);
        }
    }

    /// The record of a node, given in [`abi::UNIT`] from the arena's start; `None` beyond the end.
    #[inline(always)]
    pub fn record(&self, node: u32) -> Option<u32> {
        if node >= self.nodes {
            return None;
        }
        let at = node as usize * abi::UNIT as usize + node::RECORD as usize;
        // SAFETY: as in u32: `nodes` leaves room for a node's record, and nodes and records are aligned.
        Some(unsafe { AtomicU32::from_ptr(self.base.add(at).cast()) }.load(Ordering::Relaxed))
    }

    /// Adds one to a counter, given in [`abi::UNIT`] from the arena's start.
    pub fn increment(&mut self, at: u64) {
        self.counters::<1>(at, |counters| counters[0] = counters[0].wrapping_add(1));
    }

    /// Changes adjacent counters, given in [`abi::UNIT`] from the arena's start, if they are in it.
    #[inline(always)]
    pub fn counters<const N: usize>(&mut self, at: u64, change: impl FnOnce(&mut [u64; N])) {
        if at + N as u64 > self.len / abi::UNIT {
            return;
        }
        // SAFETY: aligned, being a multiple of 8 from the arena's start, and inside the arena; every bit pattern is a counter.
        // Nobody else writes the misses of this core's nodes (the caller of `new`), and whoever reads them waits for the guard.
        change(unsafe { &mut *self.base.add((at * abi::UNIT) as usize).cast::<[u64; N]>() });
    }

    /// Words where they are; `None` beyond the end. Their owner may go on writing behind what was asked for.
    pub fn words(&self, at: u64, count: usize) -> Option<&'a [AtomicU64]> {
        if at.checked_add(8 * count as u64)? > self.len || !at.is_multiple_of(8) {
            return None;
        }
        // SAFETY: aligned, and inside the arena, which is mapped as long as its caches are simulated.
        Some(unsafe { std::slice::from_raw_parts(self.base.add(at as usize).cast(), count) })
    }
}
