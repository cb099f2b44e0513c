//! Which call sites were executed.

use crate::model::{Departure, Method, Profile};
use crate::recover::Recovery;
use rustc_hash::{FxHashMap, FxHashSet};

/// The counts of some methods in a profile that is being added, and in those before.
#[derive(Default)]
pub(super) struct Executed {
    pub(super) here: Sums,
    pub(super) before: Sums,
}

/// The counts of some methods, those of all contexts together.
#[derive(Default)]
pub(super) struct Sums(FxHashMap<u32, Sum>);

#[derive(Default)]
struct Sum {
    counters: Vec<u64>,
    departures: Vec<Departure>,
}

impl Sums {
    /// Those of a profile.
    pub(super) fn of(profile: &Profile, methods: &FxHashSet<u32>) -> Sums {
        let nodes = &profile.nodes;
        let mut sums = Sums::default();
        let mut rows = nodes.rows();
        for (node, method) in nodes.method.iter().enumerate().filter(|(_, method)| methods.contains(method)) {
            sums.add(*method, rows.of(node).iter().copied());
        }
        for departure in &profile.departures {
            sums.leave(nodes.method[departure.node as usize], *departure);
        }
        sums
    }

    /// Adds a context's counters.
    pub(super) fn add(&mut self, method: u32, counters: impl Iterator<Item = u64>) {
        let sum = &mut self.0.entry(method).or_default().counters;
        for (at, more) in counters.enumerate() {
            match sum.get_mut(at) {
                Some(sum) => *sum = sum.wrapping_add(more),
                None => sum.push(more),
            }
        }
    }

    /// Adds a departure from one of the methods.
    pub(super) fn leave(&mut self, method: u32, departure: Departure) {
        if let Some(sum) = self.0.get_mut(&method) {
            sum.departures.push(departure);
        }
    }

    /// Whether a bytecode was executed.
    pub(super) fn has(&self, number: u32, method: &Method, bci: u32) -> bool {
        let Some(Sum { counters, departures }) = self.0.get(&number) else { return false };
        let (Some(block), Ok(recovery)) = (method.flow.block_at(bci), Recovery::new(&method.flow)) else { return true };
        let mut left = Vec::new();
        method.left(departures, &mut left);
        let entered = recovery.blocks(&method.flow, counters, &left)[block];
        method.executions(block, bci, entered, departures) != 0
    }
}
