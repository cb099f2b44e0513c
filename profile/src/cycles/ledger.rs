//! What a context is charged for, entry by entry, so that cycles can be shown where they arise.

use crate::target::InvokeKind;

/// An entry of the ledger. The cycles of a node ([`Metrics::cycles`](super::Metrics::cycles)) are the sum of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge<'a> {
    /// The node that is charged.
    pub node: u32,
    /// For what.
    pub reason: Reason<'a>,
    /// How much; below 0 where an earlier entry is taken back.
    pub cycles: i64,
}

/// For what a node is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason<'a> {
    /// Its bytecodes by themselves, and its returns as if none had missed the method cache.
    Code,
    /// Bytecodes that threw and were left out on request.
    ExceptionsLeftOut,
    /// What its returns cost more because the caller's method was not in the cache.
    ReturnMisses,
    /// So many calls as if none had missed, through one of these sites: (bytecode index, kind).
    Calls {
        /// Where the call may have been made; one when that is known.
        sites: &'a [(u32, InvokeKind)],
        /// How many.
        calls: u64,
    },
    /// What calls through one of these sites cost more because the callee was not in the cache; no site: by the VM, or unknown.
    CallMisses {
        /// Where the calls may have been made.
        sites: &'a [(u32, InvokeKind)],
    },
    /// Calls that no bytecode asked for: class initialisers, class loaders, callbacks from native code.
    Upcalls,
    /// Calls of a native method, taken back where calls were charged by executions.
    NativeCalls {
        /// Index in [`Profile::natives`](crate::model::Profile::natives).
        native: u32,
        /// Call site (bci + 1), 0 when sites are merged.
        site: u32,
        /// How many.
        calls: u64,
    },
}

impl<'a> Charge<'a> {
    /// A charge that changes a node's cycles from one number to another.
    pub(super) fn new(node: usize, reason: Reason<'a>, from: u64, to: u64) -> Charge<'a> {
        Charge { node: node as u32, reason, cycles: to.wrapping_sub(from) as i64 }
    }
}
