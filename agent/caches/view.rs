//! The arena as the simulation of caches reads and writes it: while nobody else touches what it writes.

use super::lanes::Vector;
use crate::arena::Arena;
use cprof_instrument::abi::{self, MethodEntry, node};
use cprof_profile::cache::Cause;
use cprof_profile::recording::Memory;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::sync::RwLockReadGuard;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Where a node can be, in [`abi::UNIT`] from the arena's start: all that a node of any size has may be touched there, as it is
/// below the top, and [`abi::MARGIN`] bytes beyond that are usable.
#[derive(Debug, Clone, Copy)]
pub struct Node(u32);

/// Where the misses are in a method's nodes, in [`abi::UNIT`] from their start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misses(NonZeroU32);

impl Misses {
    /// Of the method with this entry in the table.
    pub fn of(entry: MethodEntry) -> Option<Misses> {
        let counters = entry.counters.min(abi::METHOD_COUNTERS as u16);
        NonZeroU32::new((abi::node_size(counters, entry.leaf, 0) / abi::UNIT) as u32).map(Misses)
    }
}

// The largest node.
const _: () = assert!(abi::node_size(abi::METHOD_COUNTERS as u16, false, super::lanes::LANES as u32) <= abi::MARGIN);

/// The arena up to its present top. Misses are counted in it by one thread at a time.
pub struct View<'a> {
    base: *mut u8,
    len: u64,
    /// Where no node can be any more, in [`abi::UNIT`].
    nodes: u32,
    /// Whoever reads misses waits until the view is gone.
    _no_reader: PhantomData<RwLockReadGuard<'a, ()>>,
}

impl<'a> View<'a> {
    /// `no_reader` keeps those out who read misses.
    ///
    /// # Safety
    /// While misses are counted in a node through this view, nobody counts any there through another.
    pub unsafe fn new(arena: &'a Arena, _no_reader: &'a RwLockReadGuard<'_, ()>) -> View<'a> {
        let len = arena.len();
        let nodes = (len / abi::UNIT).min(u32::MAX.into()) as u32;
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

    /// The node that a reference names; `None` beyond the end.
    #[inline(always)]
    pub fn node(&self, reference: u32) -> Option<Node> {
        (reference < self.nodes).then_some(Node(reference))
    }

    /// A node's method.
    pub fn method(&self, Node(node): Node) -> Option<u32> {
        self.u32(u64::from(node) * abi::UNIT + node::METHOD)
    }

    /// The record of a node.
    #[inline(always)]
    pub fn record(&self, node: Node) -> u32 {
        // SAFETY: a node's record may be touched, and nodes and records are aligned; mapped as in u32.
        unsafe { AtomicU32::from_ptr(self.at(node, node::RECORD as usize).cast()) }.load(Ordering::Relaxed)
    }

    /// Gives a node its record.
    pub fn set_record(&mut self, node: Node, record: u32) {
        // SAFETY: as in record.
        unsafe { AtomicU32::from_ptr(self.at(node, node::RECORD as usize).cast()) }.store(record, Ordering::Relaxed);
    }

    /// Counts misses of one cause in a node of a method with misses there: of N caches those in the mask.
    #[inline(always)]
    pub fn count<V: Vector, const N: usize>(&mut self, node: Node, misses: Misses, cause: Cause, missed: V) {
        const { assert!(N <= super::lanes::LANES) };
        let row = if cause == Cause::Return { N } else { 0 };
        let at = self.at(node, (misses.0.get() as usize + row) * abi::UNIT as usize);
        // SAFETY: a node's misses may be touched, and are aligned; every bit pattern is a counter. That they are not atomic ones
        // while this borrows them is sound as nobody else touches them now: other views do not (the promise to `new`), woven code
        // and the runtime never do where lookups are logged, and whoever takes a capture waits for the guard.
        missed.count(unsafe { &mut *at.cast::<[u64; N]>() });
    }

    /// Where something is in a node, in bytes from its start.
    #[inline(always)]
    fn at(&self, Node(node): Node, offset: usize) -> *mut u8 {
        // SAFETY: what a node has is inside the mapping.
        unsafe { self.base.add(node as usize * abi::UNIT as usize + offset) }
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
