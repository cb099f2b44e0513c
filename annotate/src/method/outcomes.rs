//! Where control went from a bytecode.

use super::counts::Counts;
use crate::disassemble::Text;
use cprof_profile::flow::{EdgeKind, Flow};
use cprof_profile::model::DepartureKind;
use std::collections::BTreeMap;

/// A way that control took from a bytecode, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Which way.
    pub way: Way,
    /// The bytecode index it leads to, where it leads to one.
    pub target: Option<u32>,
    /// How often.
    pub count: u64,
}

/// A way that control takes from a bytecode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// A conditional branch was taken.
    Taken,
    /// A conditional branch was not taken.
    NotTaken,
    /// A switch went to a target, which these values have in common.
    Case {
        /// In the order of the class file.
        values: Vec<i32>,
        /// The default leads there, too.
        default: bool,
    },
    /// An exception left the method. In a method that was counted by blocks, somewhere in the block.
    Thrown,
    /// An exception went to a handler of the method. In a method that was counted by blocks, somewhere in the block.
    Caught,
    /// The bytecode was being executed when the profile was taken: a call not yet returned from.
    Active,
    /// Counting was resumed behind the bytecode, which was being executed when it was paused or before it began.
    Resumed,
}

impl Way {
    /// Its name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Way::Taken => "taken",
            Way::NotTaken => "not_taken",
            Way::Case { .. } => "case",
            Way::Thrown => "thrown",
            Way::Caught => "caught",
            Way::Active => "active",
            Way::Resumed => "resumed",
        }
    }
}

/// A count for people; contradictions may have made it negative.
pub(crate) fn shown(count: i64) -> u64 {
    count.max(0) as u64
}

/// The outcomes of a block's last instruction, as far as it has a choice.
pub(super) fn choices(flow: &Flow, counts: &Counts, block: usize, conditional: bool, text: &Text) -> Vec<Outcome> {
    let leaving = || flow.edges.iter().zip(&counts.edges).filter(|(e, _)| e.from as usize == block);
    let start = |to: u32| flow.blocks.get(to as usize).map(|b| b.start);
    let outcome = |way: Way, to: u32, count: i64| Outcome { way, target: start(to), count: shown(count) };
    if conditional {
        let way = |kind: EdgeKind, way: Way| leaving().find(|(e, _)| e.kind == kind).map(|(e, &count)| outcome(way, e.to, count));
        return way(EdgeKind::Taken, Way::Taken).into_iter().chain(way(EdgeKind::Fall, Way::NotTaken)).collect();
    }
    let mut values: BTreeMap<i64, (Vec<i32>, bool)> = BTreeMap::new();
    for case in &text.cases {
        let (values, default) = values.entry(case.target).or_default();
        values.extend(case.value);
        *default |= case.value.is_none();
    }
    let cases = leaving().filter(|(e, _)| e.kind == EdgeKind::Case).filter_map(|(e, &count)| {
        let (values, default) = values.get(&i64::from(start(e.to)?))?.clone();
        Some(outcome(Way::Case { values, default }, e.to, count))
    });
    cases.collect()
}

/// The departures in a range of bytecode indices as outcomes, those of a kind together, and exceptions out of `super(...)`.
pub(super) fn departures(counts: &Counts, start: u32, end: u32, super_throws: i64) -> Vec<Outcome> {
    let departed = counts.departed_in(start, end);
    let sum = |fits: &dyn Fn(DepartureKind, bool) -> bool| {
        departed.iter().filter(|d| fits(d.kind, d.count < 0)).fold(0i64, |sum, d| sum.wrapping_add(d.count))
    };
    let ways = [
        (Way::Thrown, sum(&|kind, resumed| kind == DepartureKind::Thrown && !resumed).wrapping_add(super_throws)),
        (Way::Caught, sum(&|kind, resumed| kind == DepartureKind::Caught && !resumed)),
        (Way::Active, sum(&|kind, resumed| kind == DepartureKind::Active && !resumed)),
        (Way::Resumed, sum(&|_, resumed| resumed).wrapping_neg()),
    ];
    let some = ways.into_iter().filter(|(_, count)| *count > 0);
    some.map(|(way, count)| Outcome { way, target: None, count: shown(count) }).collect()
}
