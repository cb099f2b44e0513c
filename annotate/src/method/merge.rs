//! Methods with the same code as one: of a class that several loaders have defined, or of hidden classes made alike.

use super::{Annotation, Choice, annotate};
use cprof_profile::cycles::EvaluateError;
use std::collections::BTreeMap;

/// As [`annotate`], by what `name` answers for a method: those of one name that have the same code, as hundreds of hidden classes
/// may have it, are one, which is the first, with the sums of their counts.
///
/// # Errors
/// As [`annotate`].
pub fn annotate_by_name(
    choice: &Choice<'_>,
    wanted: impl Fn(u32) -> bool,
    name: impl Fn(u32) -> u32,
) -> Result<BTreeMap<u32, Vec<Annotation>>, EvaluateError> {
    let mut by_name: BTreeMap<u32, Vec<Annotation>> = BTreeMap::new();
    annotate(choice, wanted, |annotation| {
        let same_name = by_name.entry(name(annotation.method)).or_default();
        match same_name.iter_mut().find(|other| other.same_code(&annotation)) {
            Some(same) => same.add(&annotation),
            None => same_name.push(annotation),
        }
    })?;
    Ok(by_name)
}

impl Annotation {
    /// Whether another method has the same instructions, lines and blocks, and was counted at the same level.
    fn same_code(&self, other: &Annotation) -> bool {
        let rows = self.rows.iter().zip(&other.rows);
        let blocks = self.blocks.iter().zip(&other.blocks);
        self.level == other.level
            && (self.rows.len(), self.blocks.len()) == (other.rows.len(), other.blocks.len())
            && rows.clone().all(|(a, b)| (a.bci, &a.text, a.line) == (b.bci, &b.text, b.line))
            && blocks.clone().all(|(a, b)| (a.start, a.end) == (b.start, b.end))
    }

    /// Adds the counts of a method with the same code.
    fn add(&mut self, other: &Annotation) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.calls, other.calls);
        add(&mut self.exceptional_exits, other.exceptional_exits);
        add(&mut self.bytecodes, other.bytecodes);
        add(&mut self.cycles, other.cycles);
        self.unexplained = self.unexplained.wrapping_add(other.unexplained);
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            add(&mut row.executions, more.executions);
            add(&mut row.cycles, more.cycles);
            for outcome in &more.outcomes {
                match row.outcomes.iter_mut().find(|o| (&o.way, o.target) == (&outcome.way, outcome.target)) {
                    Some(same) => add(&mut same.count, outcome.count),
                    None => row.outcomes.push(outcome.clone()),
                }
            }
        }
        for (block, more) in self.blocks.iter_mut().zip(&other.blocks) {
            add(&mut block.executions, more.executions);
            add(&mut block.handled, more.handled);
            add(&mut block.bytecodes, more.bytecodes);
            add(&mut block.cycles, more.cycles);
        }
        for more in &other.elsewhere {
            match self.elsewhere.iter_mut().find(|e| e.why == more.why) {
                Some(same) => same.cycles = same.cycles.wrapping_add(more.cycles),
                None => self.elsewhere.push(*more),
            }
        }
        self.elsewhere.sort_by_key(|e| e.why);
    }
}
