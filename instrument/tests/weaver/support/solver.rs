//! Recovers all counts of a method from its counters by the rule that `probes` states, and by nothing else of it.

use std::collections::BTreeMap;

use cprof_instrument::{EdgeKind, Level, Plan};

/// Counts of one method in one context.
#[derive(Debug)]
pub struct Counts {
    /// Executions by bytecode index of the first instruction of each run of equal counts: asked with [`Counts::executed`].
    blocks: Vec<i64>,
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
    let mut known: Vec<Option<i64>> =
        plan.edges.iter().map(|e| e.counter.map(|c| counters[usize::from(c)] as i64)).collect();
    // An equation per vertex: what comes in − what goes out = departures; for EXIT the departures come in.
    let departed = |vertex: usize| if vertex == exit { -left.iter().sum::<i64>() } else { left[vertex] };
    let touches = |e: usize, vertex: usize| {
        let edge = &plan.edges[e];
        i64::from(edge.to as usize == vertex) - i64::from(edge.from as usize == vertex)
    };
    let mut progress = true;
    while progress {
        progress = false;
        for vertex in 0..=exit {
            let mut unknown = (0..plan.edges.len()).filter(|&e| known[e].is_none() && touches(e, vertex) != 0);
            if let (Some(e), None) = (unknown.next(), unknown.next()) {
                let sum: i64 = (0..plan.edges.len()).filter_map(|k| known[k].map(|n| n * touches(k, vertex))).sum();
                known[e] = Some((departed(vertex) - sum) * touches(e, vertex));
                progress = true;
            }
        }
    }
    let known: Vec<i64> = known.into_iter().map(|n| n.expect("uncounted edges form a forest")).collect();
    for vertex in 0..=exit {
        let sum: i64 = (0..known.len()).map(|e| known[e] * touches(e, vertex)).sum();
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
