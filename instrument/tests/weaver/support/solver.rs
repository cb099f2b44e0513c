//! Recovers all counts of a method from its counters by the rule that `probes` states, and by nothing else of it.

use std::collections::BTreeMap;

use cprof_instrument::{EdgeKind, Level, Plan};

/// Counts of one method in one context.
#[derive(Debug)]
pub struct Counts {
    /// Entries, by block.
    pub blocks: Vec<i64>,
    /// Exceptions that left constructors' super() calls.
    pub super_throws: i64,
}

/// `departures`: by bytecode index, of every exception and of every frame still active.
pub fn solve(plan: &Plan, counters: &[u64], departures: &BTreeMap<u32, u64>) -> Counts {
    let exit = plan.blocks.len();
    let mut left = vec![0i64; exit];
    for (&bci, &number) in departures {
        left[block_of(plan, bci)] += number as i64;
    }
    let mut known: Vec<Option<i64>> = plan.edges.iter().map(|e| e.counter.map(|c| counters[usize::from(c)] as i64)).collect();
    // An equation per vertex: what comes in − what goes out = departures; for EXIT the departures come in.
    let mut ends = vec![Vec::new(); exit + 1];
    for (e, edge) in plan.edges.iter().enumerate().filter(|(_, edge)| edge.from != edge.to) {
        ends[edge.to as usize].push((e, 1));
        ends[edge.from as usize].push((e, -1));
    }
    let departed = |vertex: usize| if vertex == exit { -left.iter().sum::<i64>() } else { left[vertex] };
    let mut waiting: Vec<usize> = (0..=exit).collect();
    while let Some(vertex) = waiting.pop() {
        let mut unknown = ends[vertex].iter().filter(|&&(e, _)| known[e].is_none());
        if let (Some(&(e, sign)), None) = (unknown.next(), unknown.next()) {
            let sum: i64 = ends[vertex].iter().filter_map(|&(k, sign)| known[k].map(|n| n * sign)).sum();
            known[e] = Some((departed(vertex) - sum) * sign);
            waiting.extend([plan.edges[e].from as usize, plan.edges[e].to as usize]);
        }
    }
    let known: Vec<i64> = known.into_iter().map(|n| n.expect("uncounted edges form a forest")).collect();
    for (vertex, ends) in ends.iter().enumerate() {
        let sum: i64 = ends.iter().map(|&(e, sign)| known[e] * sign).sum();
        assert_eq!(sum, departed(vertex), "flow is conserved at block {vertex} of {exit}");
    }
    assert!(known.iter().all(|&n| n >= 0), "no edge is taken less than never: {known:?}");
    let edges = || plan.edges.iter().zip(&known);
    Counts {
        blocks: (0..exit).map(|b| edges().filter(|(e, _)| e.to as usize == b).map(|(_, n)| n).sum()).collect(),
        super_throws: edges().filter(|(e, _)| e.kind == EdgeKind::SuperThrow).map(|(_, n)| n).sum(),
    }
}

/// The block that a bytecode index lies in.
pub fn block_of(plan: &Plan, bci: u32) -> usize {
    let next = plan.blocks.partition_point(|b| b.start <= bci);
    assert!(next > 0 && bci < plan.blocks[next - 1].end, "bytecode {bci} is in a block");
    next - 1
}

impl Counts {
    /// Executions of the instruction at `bci`.
    pub fn executed(&self, plan: &Plan, level: Level, departures: &BTreeMap<u32, u64>, bci: u32) -> i64 {
        let block = block_of(plan, bci);
        let gone: u64 = match level {
            Level::Precise => departures.range(plan.blocks[block].start..bci).map(|(_, n)| n).sum(),
            Level::Block => 0,
        };
        self.blocks[block] - gone as i64
    }
}
