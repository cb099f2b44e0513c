//! All counts from the few that were taken.
//!
//! Of every block as much control leaves as came in: the sum of its in-edges is the sum of its out-edges and departures.
//! The edges without counters form a forest (the counters are on the chords of a spanning tree: Knuth and Stevenson 1973;
//! Ball and Larus 1994), so some vertex has exactly one unknown edge; solving it leaves a smaller forest. The order is found
//! once per method. The exit is never needed: a tree with an edge has two leaves, and one of them is a block.
//!
//! Counts are computed modulo 2⁶⁴, so that differences on the way need no care.

use crate::flow::{Flow, FlowError};

/// The order in which a method's unknown edges are solved.
#[derive(Debug, Clone)]
pub struct Recovery {
    steps: Vec<Step>,
    /// Edges at each vertex but loops, compressed: `adjacent[starts[v]..starts[v + 1]]`.
    starts: Vec<u32>,
    adjacent: Vec<u32>,
}

/// Solve `edge` by the equation of `vertex`.
#[derive(Debug, Clone, Copy)]
struct Step {
    edge: u32,
    vertex: u32,
}

/// A quantity that is linear in a node's counters and departures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    /// Per counter.
    pub counters: Vec<i64>,
    /// Per departure from each block.
    pub departures: Vec<i64>,
}

impl Weights {
    /// What the counters make of it, departures not regarded.
    pub(crate) fn dot(&self, counters: &[u64]) -> i64 {
        self.counters.iter().zip(counters).fold(0i64, |sum, (&w, &c)| sum.wrapping_add(w.wrapping_mul(c as i64)))
    }
}

impl Recovery {
    /// Finds the order. Fails where the flow is malformed or the counters do not suffice.
    pub fn new(flow: &Flow) -> Result<Recovery, FlowError> {
        flow.validate()?;
        let vertices = flow.blocks.len() + 1;
        let mut starts = vec![0u32; vertices + 1];
        for edge in flow.edges.iter().filter(|e| e.from != e.to) {
            starts[edge.from as usize + 1] += 1;
            starts[edge.to as usize + 1] += 1;
        }
        for v in 0..vertices {
            starts[v + 1] += starts[v];
        }
        let mut fill = starts.clone();
        let mut adjacent = vec![0u32; starts[vertices] as usize];
        let mut unknown = vec![0u32; vertices];
        for (i, edge) in flow.edges.iter().enumerate() {
            if edge.from == edge.to {
                if edge.counter.is_none() {
                    return Err(FlowError::Undetermined(i));
                }
                continue;
            }
            for v in [edge.from as usize, edge.to as usize] {
                adjacent[fill[v] as usize] = i as u32;
                fill[v] += 1;
                unknown[v] += u32::from(edge.counter.is_none());
            }
        }
        let exit = flow.exit() as usize;
        let mut solved: Vec<bool> = flow.edges.iter().map(|e| e.counter.is_some()).collect();
        let mut steps = Vec::new();
        let mut ready: Vec<usize> = (0..exit).filter(|&v| unknown[v] == 1).collect();
        while let Some(v) = ready.pop() {
            if unknown[v] != 1 {
                continue; // its edge was solved from the other side
            }
            let at = starts[v] as usize..starts[v + 1] as usize;
            let Some(&edge) = adjacent[at].iter().find(|&&e| !solved[e as usize]) else {
                continue;
            };
            solved[edge as usize] = true;
            steps.push(Step { edge, vertex: v as u32 });
            let ends = &flow.edges[edge as usize];
            for end in [ends.from as usize, ends.to as usize] {
                unknown[end] -= 1;
                if unknown[end] == 1 && end != exit {
                    ready.push(end);
                }
            }
        }
        match solved.iter().position(|s| !s) {
            Some(edge) => Err(FlowError::Undetermined(edge)),
            None => Ok(Recovery { steps, starts, adjacent }),
        }
    }

    fn at(&self, vertex: u32) -> &[u32] {
        let v = vertex as usize;
        &self.adjacent[self.starts[v] as usize..self.starts[v + 1] as usize]
    }

    /// The count of every edge, from a node's counters and its departures per block.
    pub fn edges(&self, flow: &Flow, counters: &[u64], departures: &[i64]) -> Vec<i64> {
        let count = |e: &crate::flow::Edge| e.counter.and_then(|c| counters.get(c as usize)).map_or(0, |&c| c as i64);
        let mut counts: Vec<i64> = flow.edges.iter().map(count).collect();
        for step in &self.steps {
            // in − out − departures = 0 without the unknown edge, which makes up the rest
            let mut rest = departures[step.vertex as usize].wrapping_neg();
            for &e in self.at(step.vertex) {
                if e == step.edge {
                    continue;
                }
                let c = counts[e as usize];
                let enters = flow.edges[e as usize].to == step.vertex;
                rest = if enters { rest.wrapping_add(c) } else { rest.wrapping_sub(c) };
            }
            let enters = flow.edges[step.edge as usize].to == step.vertex;
            counts[step.edge as usize] = if enters { rest.wrapping_neg() } else { rest };
        }
        counts
    }

    /// How often every block was entered, from a node's counters and its departures per block.
    pub fn blocks(&self, flow: &Flow, counters: &[u64], departures: &[i64]) -> Vec<i64> {
        let mut blocks = vec![0i64; flow.blocks.len()];
        for (edge, count) in flow.edges.iter().zip(self.edges(flow, counters, departures)) {
            if let Some(block) = blocks.get_mut(edge.to as usize) {
                *block = block.wrapping_add(count);
            }
        }
        blocks
    }

    /// Turns a value per edge execution into one per counter and departure: the steps of [`Recovery::edges`] backwards
    /// (its transpose). With it a metric is one sum of products per node.
    pub fn weigh(&self, flow: &Flow, mut per_edge: Vec<i64>) -> Weights {
        let mut departures = vec![0i64; flow.blocks.len()];
        for step in self.steps.iter().rev() {
            let enters = flow.edges[step.edge as usize].to == step.vertex;
            let value = per_edge[step.edge as usize];
            let value = if enters { value.wrapping_neg() } else { value };
            departures[step.vertex as usize] = departures[step.vertex as usize].wrapping_sub(value);
            for &e in self.at(step.vertex) {
                if e == step.edge {
                    continue;
                }
                let enters = flow.edges[e as usize].to == step.vertex;
                let other = &mut per_edge[e as usize];
                *other = if enters { other.wrapping_add(value) } else { other.wrapping_sub(value) };
            }
        }
        let mut counters = vec![0i64; flow.counters as usize];
        for (edge, value) in flow.edges.iter().zip(per_edge) {
            if let Some(counter) = edge.counter {
                counters[counter as usize] = value;
            }
        }
        Weights { counters, departures }
    }
}
