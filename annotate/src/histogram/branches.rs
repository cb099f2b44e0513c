//! Outcomes of branches and switches.

use crate::method::{Row, Way};
use std::collections::BTreeMap;

/// Outcomes of conditional branches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Taken.
    pub taken: u64,
    /// Not taken.
    pub not_taken: u64,
    /// Branches of class files that were executed.
    pub sites: u64,
    /// Those of them that were always taken.
    pub always: u64,
    /// Those of them that were never taken.
    pub never: u64,
}

impl Outcomes {
    /// How often branches were executed.
    pub fn executed(&self) -> u64 {
        self.taken.saturating_add(self.not_taken)
    }

    /// Adds others.
    pub fn add(&mut self, other: &Outcomes) {
        self.taken = self.taken.saturating_add(other.taken);
        self.not_taken = self.not_taken.saturating_add(other.not_taken);
        self.sites += other.sites;
        self.always += other.always;
        self.never += other.never;
    }
}

/// Outcomes of switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// How often switches were executed.
    pub executed: u64,
    /// How often of these they went where the default leads.
    pub default: u64,
    /// Switches of class files that were executed.
    pub sites: u64,
}

/// Outcomes of branches and switches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Branches {
    /// Conditional branches by opcode.
    pub by_opcode: BTreeMap<u8, Outcomes>,
    /// Those that lead back, to their own bytecode index or one before: most end loops.
    pub backward: Outcomes,
    /// Those that lead on.
    pub forward: Outcomes,
    /// Switches.
    pub switches: Switches,
}

impl Branches {
    /// All conditional branches.
    pub fn all(&self) -> Outcomes {
        let mut all = self.backward;
        all.add(&self.forward);
        all
    }

    /// Adds a bytecode that was executed.
    pub(super) fn add(&mut self, row: &Row) {
        let count = |way: &dyn Fn(&Way) -> bool| {
            let of = row.outcomes.iter().filter(|outcome| way(&outcome.way));
            of.fold(0u64, |sum, outcome| sum.saturating_add(outcome.count))
        };
        if let Some(target) = row.outcomes.iter().find(|o| o.way == Way::Taken).and_then(|o| o.target) {
            let (taken, not_taken) = (count(&|way| *way == Way::Taken), count(&|way| *way == Way::NotTaken));
            // Neither, where an exception always left the block before it (`bba=block` charges it all the same).
            let (always, never) = (u64::from(taken > 0 && not_taken == 0), u64::from(not_taken > 0 && taken == 0));
            let outcomes = Outcomes { taken, not_taken, sites: 1, always, never };
            self.by_opcode.entry(row.opcode).or_default().add(&outcomes);
            let direction = if target <= row.bci { &mut self.backward } else { &mut self.forward };
            direction.add(&outcomes);
        }
        if !row.text.cases.is_empty() {
            let switches = &mut self.switches;
            let executed = count(&|way| matches!(way, Way::Case { .. }));
            let default = count(&|way| matches!(way, Way::Case { default: true, .. }));
            switches.executed = switches.executed.saturating_add(executed);
            switches.default = switches.default.saturating_add(default);
            switches.sites += 1;
        }
    }
}
