//! The chosen contexts of a method added up, and every edge recovered.

use super::Choice;
use cprof_profile::code::CodeError;
use cprof_profile::model::{DepartureKind, Level, Method, special};
use cprof_profile::recover::Recovery;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What the chosen contexts of a method add up to.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Calls.
    pub calls: u64,
    /// Calls that ended with an exception.
    pub exceptional_exits: u64,
    /// Own bytecodes.
    pub own: u64,
    /// Own cycles; 0 without a processor.
    pub cycles: u64,
    /// Counter by counter.
    counters: Vec<u64>,
    /// By bytecode index, kind, and whether counting was resumed there; those are below 0.
    departures: BTreeMap<(u32, DepartureKind, bool), i64>,
}

/// Totals of the methods that are wanted, by method, and within it by the `group` of each node; zeros, as group 0, for those without
/// a chosen context.
pub fn totals(
    choice: &Choice<'_>,
    wanted: impl Fn(u32) -> bool,
    group: impl Fn(u32) -> u32,
) -> FxHashMap<u32, Vec<(u32, Totals)>> {
    let Choice { profile, measures, nodes, .. } = *choice;
    let chosen = |node: usize| nodes.get(node) == Some(&true) && profile.nodes.method[node] < special::FIRST;
    let key = |node: usize| (profile.nodes.method[node], group(node as u32));
    let mut totals: FxHashMap<(u32, u32), Totals> = FxHashMap::default();
    let mut rows = profile.nodes.rows();
    for node in (0..profile.nodes.len()).filter(|&node| chosen(node) && wanted(profile.nodes.method[node])) {
        let of = totals.entry(key(node)).or_insert_with(|| Totals::zero(&profile.methods[profile.nodes.method[node] as usize]));
        of.calls = of.calls.saturating_add(measures.calls.get(node));
        of.exceptional_exits = of.exceptional_exits.saturating_add(measures.exceptional_exits.get(node));
        of.own = of.own.saturating_add(measures.own.get(node));
        if !measures.processor.is_empty() {
            of.cycles = of.cycles.saturating_add(measures.processor.cycles.get(node));
        }
        for (sum, counter) in of.counters.iter_mut().zip(rows.of(node)) {
            *sum = sum.wrapping_add(*counter);
        }
    }
    for d in profile.departures.iter().filter(|d| chosen(d.node as usize)) {
        if let Some(of) = totals.get_mut(&key(d.node as usize)) {
            let sum = of.departures.entry((d.bci, d.kind, d.count < 0)).or_default();
            *sum = sum.wrapping_add(d.count);
        }
    }
    let mut of_methods: FxHashMap<u32, Vec<(u32, Totals)>> =
        (0..profile.methods.len() as u32).filter(|&m| wanted(m)).map(|m| (m, Vec::new())).collect();
    for ((method, group), totals) in totals {
        of_methods.entry(method).or_default().push((group, totals));
    }
    for (method, groups) in of_methods.iter_mut().filter(|(_, groups)| groups.is_empty()) {
        groups.push((0, Totals::zero(&profile.methods[*method as usize])));
    }
    of_methods
}

impl Totals {
    /// Of no context of a method.
    pub fn zero(method: &Method) -> Totals {
        Totals { counters: vec![0; method.flow.counters as usize], ..Totals::default() }
    }
}

/// Departures from a bytecode in all chosen contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departed {
    /// The last bytecode executed; of a method counted by blocks, any in the block.
    pub bci: u32,
    /// How.
    pub kind: DepartureKind,
    /// How often; below 0 where counting was resumed behind the bytecode.
    pub count: i64,
}

/// Every count of a method.
#[derive(Debug, Clone)]
pub struct Counts {
    /// Beside the edges of its flow.
    pub edges: Vec<i64>,
    /// How often each block was entered.
    pub entered: Vec<i64>,
    /// In order of bytecode index.
    pub departed: Vec<Departed>,
    level: Level,
}

impl Counts {
    /// Recovers the counts of a method, whose flow's `recovery` this is; `class` is for errors.
    ///
    /// # Errors
    /// A departure stands in none of its blocks.
    pub fn new(method: &Method, recovery: &Recovery, totals: &Totals, class: &str) -> Result<Counts, CodeError> {
        let fail = |reason: String| CodeError { class: class.to_owned(), reason };
        let flow = &method.flow;
        let mut left = vec![0i64; flow.blocks.len()];
        let mut departed = Vec::with_capacity(totals.departures.len());
        for (&(bci, kind, _), &count) in &totals.departures {
            let block = flow.block_at(bci).ok_or_else(|| fail(format!("{} has no bytecode {bci}", method.name)))?;
            left[block] = left[block].wrapping_add(count);
            departed.push(Departed { bci, kind, count });
        }
        let edges = recovery.edges(flow, &totals.counters, &left);
        let mut entered = vec![0i64; flow.blocks.len()];
        for (edge, count) in flow.edges.iter().zip(&edges) {
            if let Some(block) = entered.get_mut(edge.to as usize) {
                *block = block.wrapping_add(*count);
            }
        }
        Ok(Counts { edges, entered, departed, level: method.level })
    }

    /// The departures in a range of bytecode indices.
    pub fn departed_in(&self, start: u32, end: u32) -> &[Departed] {
        let first = self.departed.partition_point(|d| d.bci < start);
        let rest = &self.departed[first..];
        &rest[..rest.partition_point(|d| d.bci < end)]
    }

    /// How often a bytecode was executed; `block` holds it and begins at `start`.
    pub fn executions(&self, block: usize, start: u32, bci: u32) -> i64 {
        let before = match self.level {
            Level::Precise => self.departed_in(start, bci),
            Level::Block => &[],
        };
        before.iter().fold(self.entered[block], |sum, d| sum.wrapping_sub(d.count))
    }
}
