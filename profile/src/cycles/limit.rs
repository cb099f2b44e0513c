//! Whether 64 bits hold the cycles: sums are taken modulo 2⁶⁴ on the way, and what does not fit would look like any other number.

use super::{Columns, EvaluateError};
use crate::cache::CacheSpec;
use crate::measure::Measures;
use crate::target::{Cost, CycleEstimator, InvokeKind, TargetError};
use cprof_instrument::classfile::instructions::Instruction;
use std::cell::Cell;

/// A processor, and the dearest of the costs that it was asked for.
pub(super) struct Watched<'e> {
    estimator: &'e dyn CycleEstimator,
    dearest: Cell<u64>,
}

impl<'e> Watched<'e> {
    pub(super) fn new(estimator: &'e dyn CycleEstimator) -> Watched<'e> {
        Watched { estimator, dearest: Cell::new(0) }
    }

    fn seen(&self, cycles: u64) -> u64 {
        self.dearest.set(self.dearest.get().max(cycles));
        cycles
    }

    /// Refuses numbers that may not be what they seem: a context's own sum is exact as long as its bytecodes could all be the
    /// dearest, sums of several end at the largest number there is.
    pub(super) fn check(&self, measures: &Measures, cycles: &Columns) -> Result<(), EvaluateError> {
        let bytecodes = measures.own.iter().max().unwrap_or(0);
        let dearest = self.dearest.get();
        let all: u128 = cycles.cycles.iter().map(u128::from).sum();
        if u128::from(bytecodes) * u128::from(dearest) > i64::MAX as u128 {
            return Err(EvaluateError::TooMany { bytecodes, dearest });
        }
        if all >= u128::from(u64::MAX) {
            return Err(EvaluateError::TooManyTogether);
        }
        Ok(())
    }
}

impl CycleEstimator for Watched<'_> {
    fn name(&self) -> &str {
        self.estimator.name()
    }

    fn bytecode(&self, instruction: &Instruction<'_>) -> Result<Cost, TargetError> {
        let cost = self.estimator.bytecode(instruction)?;
        self.seen(cost.cycles);
        Ok(cost)
    }

    fn invoke(&self, kind: InvokeKind, miss: Option<u32>) -> Result<u64, TargetError> {
        Ok(self.seen(self.estimator.invoke(kind, miss)?))
    }

    fn leave(&self, opcode: u8, miss: Option<u32>) -> Result<u64, TargetError> {
        Ok(self.seen(self.estimator.leave(opcode, miss)?))
    }

    fn words(&self, code_length: u32) -> u32 {
        self.estimator.words(code_length)
    }

    fn only_completed(&self) -> bool {
        self.estimator.only_completed()
    }

    fn clock_mhz(&self) -> Option<u64> {
        self.estimator.clock_mhz()
    }

    fn cache(&self) -> CacheSpec {
        self.estimator.cache()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::Metrics;
    use crate::target::Library;

    #[test]
    fn contexts_that_fit_one_by_one_fit_together_or_are_refused() {
        let model = Library.load("bytecodes").unwrap();
        let watched = Watched::new(&model);
        let mut columns = Columns::zeros(2);
        let mut add = |at, cycles| {
            columns.add(at, &Metrics { cycles, ..Metrics::default() });
            watched.check(&Measures::default(), &columns).is_ok()
        };
        assert!(add(0, 1 << 63));
        assert!(add(1, (1 << 63) - 2));
        assert!(!add(1, 1), "a sum that ended there would be the same");
    }
}
