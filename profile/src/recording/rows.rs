//! The counters of all nodes of a capture, a row for each, packed as the file has them: most are small, and there are millions.

use super::capture::Capture;
use crate::leb128;
use cprof_instrument::abi;

/// Rows of counters. How many a row has is its method's number.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// In LEB128, one row after the other.
    pub(super) bytes: Vec<u8>,
    /// By method id less the first one; 0: none, or not met.
    lengths: Vec<u16>,
}

impl Rows {
    /// Appends the row of a node of `what`, of which all have as many counters.
    pub(super) fn push(&mut self, what: u32, counters: impl ExactSizeIterator<Item = u64> + Clone) {
        if let Some(at) = at(what) {
            if self.lengths.len() <= at {
                self.lengths.resize(at + 1, 0);
            }
            self.lengths[at] = counters.len() as u16;
        }
        // A byte each, mostly.
        if counters.clone().fold(0, |all, counter| all | counter) < 0x80 {
            self.bytes.extend(counters.map(|counter| counter as u8));
        } else {
            counters.for_each(|counter| leb128::put(counter, &mut self.bytes));
        }
    }

    /// Number of counters of a node of `what`.
    pub(super) fn length(&self, what: u32) -> usize {
        at(what).and_then(|at| self.lengths.get(at)).map_or(0, |&length| length.into())
    }
}

/// A tree's root and its marker nodes have no counters.
fn at(what: u32) -> Option<usize> {
    Some(what.checked_sub(abi::FIRST_METHOD)? as usize)
}

/// The rows of a capture, in the order of its nodes.
pub(super) struct Reading<'c> {
    capture: &'c Capture,
    rest: &'c [u8],
    node: usize,
    row: Vec<u64>,
}

impl<'c> Reading<'c> {
    pub(super) fn new(capture: &'c Capture) -> Reading<'c> {
        Reading { capture, rest: &capture.rows.bytes, node: 0, row: Vec::new() }
    }

    /// The next node's row.
    pub(super) fn next(&mut self) -> &[u64] {
        self.row.clear();
        let what = self.capture.what.get(self.node).copied().unwrap_or(0);
        self.node += 1;
        // What was pushed can be read.
        self.row.extend((0..self.capture.rows.length(what)).map_while(|_| leb128::get(&mut self.rest)));
        &self.row
    }
}

/// The counters of a capture for any order of access, eight bytes each.
pub(super) struct Unpacked {
    /// All, one row after the other.
    counters: Vec<u64>,
    /// Where each node's begin, and the end of the last.
    starts: Vec<usize>,
}

impl Unpacked {
    pub(super) fn new(capture: &Capture) -> Unpacked {
        let mut all = Unpacked { counters: Vec::new(), starts: Vec::with_capacity(capture.nodes() + 1) };
        all.starts.push(0);
        let mut rows = Reading::new(capture);
        for _ in 0..capture.nodes() {
            all.counters.extend_from_slice(rows.next());
            all.starts.push(all.counters.len());
        }
        all
    }

    /// A node's counters.
    pub(super) fn of(&mut self, node: usize) -> &mut [u64] {
        &mut self.counters[self.starts[node]..self.starts[node + 1]]
    }

    /// The same, packed.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.counters.iter().for_each(|&counter| leb128::put(counter, &mut bytes));
        bytes
    }
}
