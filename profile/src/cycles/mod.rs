//! Cycles: what a recorded run costs on a processor.
//!
//! Per context, cycles are those of its bytecodes, by block counts; of the calls it made, by kind; and of its returns. So
//! everything but method cache outcomes follows from the recording, for any processor. What a miss costs more than a hit
//! depends on the size of the method loaded: an entry miss, recorded at the callee, is charged to the caller, and a return
//! miss to the method that returns, with the size of the method returned to (Binder et al. 2009).
//!
//! [`calls`] finds out how a context was called, [`evaluate()`] adds up, [`ledger`] is what it adds.

pub mod calls;
mod columns;
mod evaluate;
pub mod ledger;
mod limit;
mod notes;
mod outcomes;
mod rules;

pub use columns::Columns;
pub use evaluate::{EvaluateError, Evaluation, evaluate, evaluate_into};
pub use notes::whole_blocks;
pub use outcomes::{NotSimulated, Outcomes};

use crate::cache::CacheSpec;

/// A context on a processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Cycles of its bytecodes, the calls it made, and its returns.
    pub cycles: u64,
    /// Those of them that are averages: bytecodes executed in software, or of unknown cost.
    pub estimated: u64,
    /// Those of them that are calls the JVM or native code made: class initialisers, class loaders, reflection, callbacks.
    pub upcalls: u64,
    /// Cycles of bytecodes that threw, `athrow` or another. Calls that an exception ended are not among them.
    pub exceptions: u64,
    /// Times it was entered and not in the method cache.
    pub entry_misses: u64,
    /// Times it returned and its caller was not in the method cache.
    pub return_misses: u64,
    /// Lookups when it was entered: its calls.
    pub entries: u64,
    /// Lookups when it returned normally to a caller.
    pub returns: u64,
}

impl Metrics {
    /// Adds another context's.
    pub fn add(&mut self, other: &Metrics) {
        self.cycles = self.cycles.saturating_add(other.cycles);
        self.estimated = self.estimated.saturating_add(other.estimated);
        self.upcalls = self.upcalls.saturating_add(other.upcalls);
        self.exceptions = self.exceptions.saturating_add(other.exceptions);
        self.entry_misses = self.entry_misses.saturating_add(other.entry_misses);
        self.return_misses = self.return_misses.saturating_add(other.return_misses);
        self.entries = self.entries.saturating_add(other.entries);
        self.returns = self.returns.saturating_add(other.returns);
    }

    /// In the order of the fields.
    fn each(&self) -> [u64; 8] {
        let Metrics { cycles, estimated, upcalls, exceptions, entry_misses, return_misses, entries, returns } = *self;
        [cycles, estimated, upcalls, exceptions, entry_misses, return_misses, entries, returns]
    }

    /// All lookups.
    pub fn lookups(&self) -> u64 {
        self.entries.saturating_add(self.returns)
    }

    /// The share of lookups that found their method; none when there were no lookups.
    pub fn hit_rate(&self) -> Option<f64> {
        let misses = self.entry_misses.saturating_add(self.return_misses);
        (self.lookups() > 0).then(|| 1.0 - misses as f64 / self.lookups() as f64)
    }
}

/// What to evaluate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The method cache; the processor's own when none is given.
    pub cache: Option<CacheSpec>,
    /// Leave out what calls by the JVM and by native code cost the one who is interrupted by them.
    pub without_upcalls: bool,
    /// Leave out the bytecodes that threw.
    pub without_exceptions: bool,
}
