//! Metrics of millions of contexts.

use super::Metrics;
use crate::amounts::Amounts;

/// A column for each of [`Metrics`]; by default none has a number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// As [`Metrics::cycles`], and so on.
    pub cycles: Amounts,
    estimated: Amounts,
    upcalls: Amounts,
    exceptions: Amounts,
    entry_misses: Amounts,
    return_misses: Amounts,
    entries: Amounts,
    returns: Amounts,
}

impl Columns {
    /// As many zeros in each.
    pub fn zeros(len: usize) -> Columns {
        let mut columns = Columns::default();
        columns.each().into_iter().for_each(|column| *column = Amounts::zeros(len));
        columns
    }

    /// How many contexts.
    pub fn len(&self) -> usize {
        self.cycles.len()
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.cycles.is_empty()
    }

    /// The metrics at a position.
    pub fn get(&self, at: usize) -> Metrics {
        Metrics {
            cycles: self.cycles.get(at),
            estimated: self.estimated.get(at),
            upcalls: self.upcalls.get(at),
            exceptions: self.exceptions.get(at),
            entry_misses: self.entry_misses.get(at),
            return_misses: self.return_misses.get(at),
            entries: self.entries.get(at),
            returns: self.returns.get(at),
        }
    }

    /// Replaces those at a position.
    pub fn set(&mut self, at: usize, metrics: &Metrics) {
        for (column, number) in self.each().into_iter().zip(metrics.each()) {
            column.set(at, number);
        }
    }

    /// Adds to those at a position, as [`Metrics::add`].
    pub fn add(&mut self, at: usize, more: &Metrics) {
        for (column, more) in self.each().into_iter().zip(more.each()) {
            column.add(at, more);
        }
    }

    /// Appends zeros.
    pub fn push(&mut self) {
        self.each().into_iter().for_each(|column| column.push(0));
    }

    /// Keeps the first ones.
    pub fn truncate(&mut self, len: usize) {
        self.each().into_iter().for_each(|column| column.truncate(len));
    }

    /// Those at some positions, one after the other.
    pub fn gathered(&self, positions: impl Iterator<Item = usize>) -> Columns {
        let mut gathered = Columns::default();
        for (to, from) in positions.enumerate() {
            gathered.push();
            gathered.set(to, &self.get(from));
        }
        gathered
    }

    fn each(&mut self) -> [&mut Amounts; 8] {
        let Columns { cycles, estimated, upcalls, exceptions, entry_misses, return_misses, entries, returns } = self;
        [cycles, estimated, upcalls, exceptions, entry_misses, return_misses, entries, returns]
    }
}
