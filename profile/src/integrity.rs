//! Whether a profile's counts agree with each other, for those that were read without the program's stacks.
//!
//! A frame that was active when the counts were read has entered a block and not left it, and nobody knows which. The flow
//! equations then let its last execution run on to the exit along the edges without counters: a tree, so that it passes each
//! block at most once. Counts are off by one per such frame and block, and a block may come out as -1. (Code that C2 has unrolled
//! adds up its counters once for several rounds, so that a loop may be off by some more.)

use crate::code::CodeError;
use crate::measure::ByNode;
use crate::model::{Profile, special};
use crate::recover::Recovery;

/// What a check found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Integrity {
    /// Contexts checked: all that are of methods.
    pub contexts: usize,
    /// Of these, how many have a block with a negative count: it was active, or its counters contradict each other.
    pub contradictory: usize,
    /// The most negative count of a block, 0 when there is none.
    pub worst: i64,
}

/// Checks every context.
///
/// # Errors
/// A method whose flow is no flow, a departure that is in no block.
pub fn check(profile: &Profile) -> Result<Integrity, CodeError> {
    let fail = |method: usize, reason: String| {
        let method = &profile.methods[method];
        let class = profile.classes[method.class as usize].name.clone();
        CodeError { class, reason: format!("{}{}: {reason}", method.name, method.descriptor) }
    };
    let mut recoveries = Vec::with_capacity(profile.methods.len());
    for (m, method) in profile.methods.iter().enumerate() {
        recoveries.push(Recovery::new(&method.flow).map_err(|e| fail(m, e.to_string()))?);
    }
    let mut found = Integrity::default();
    let mut by_node = ByNode::new(&profile.departures);
    let mut gone = Vec::new();
    let mut rows = profile.nodes.rows();
    for node in 0..profile.nodes.len() {
        let departures = &profile.departures[by_node.of(node)];
        let m = profile.nodes.method[node];
        if m >= special::FIRST {
            continue;
        }
        let flow = &profile.methods[m as usize].flow;
        gone.clear();
        gone.resize(flow.blocks.len(), 0i64);
        for d in departures {
            let block = flow.block_at(d.bci).ok_or_else(|| fail(m as usize, format!("no block has bytecode {}", d.bci)))?;
            gone[block] = gone[block].wrapping_add(d.count);
        }
        let counters = rows.of(node);
        // Most methods are one block, whose count is the number of calls.
        let least = match flow.blocks.len() {
            1 if flow.edges.len() <= 2 => counters.first().map_or(0, |&c| c as i64),
            _ => recoveries[m as usize].blocks(flow, counters, &gone).into_iter().min().unwrap_or(0),
        };
        found.contexts += 1;
        found.contradictory += usize::from(least < 0);
        found.worst = found.worst.min(least);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Block, Edge, EdgeKind, Flow};
    use crate::model::{Class, Counters, Departure, DepartureKind, Level, Method, Nodes};

    /// `if` with an `else`: the entry and the branch are counted.
    fn profile(counters: [u64; 2], departures: Vec<Departure>) -> Profile {
        let edge = |from, to, kind, counter| Edge { from, to, kind, counter };
        let flow = Flow {
            blocks: [0, 4, 8].map(|start| Block { start, end: start + 4 }).to_vec(),
            edges: vec![
                edge(3, 0, EdgeKind::Entry, Some(0)),
                edge(0, 1, EdgeKind::Fall, None),
                edge(0, 2, EdgeKind::Taken, Some(1)),
                edge(1, 3, EdgeKind::Return, None),
                edge(2, 3, EdgeKind::Return, None),
            ],
            counters: 2,
        };
        let (name, descriptor) = ("f".to_owned(), "()V".to_owned());
        let methods = vec![Method { class: 0, index: 0, name, descriptor, access: 0, level: Level::Precise, flow }];
        let method = vec![special::ROOT, 0];
        let counters = Counters::pack(counters, &methods, &method).unwrap();
        let nodes = Nodes { method, parent: vec![0, 0], site: Vec::new(), counters };
        Profile {
            classes: vec![Class {
                name: "A".into(),
                loader: String::new(),
                hidden: false,
                source_file: String::new(),
                bytes: Vec::new(),
            }],
            methods,
            nodes,
            departures,
            ..Profile::default()
        }
    }

    #[test]
    fn counts_that_agree_and_counts_that_do_not() {
        let found = check(&profile([5, 3], Vec::new())).unwrap();
        assert_eq!(found, Integrity { contexts: 1, contradictory: 0, worst: 0 });
        let found = check(&profile([5, 9], Vec::new())).unwrap();
        assert_eq!(found, Integrity { contexts: 1, contradictory: 1, worst: -4 });
    }

    #[test]
    fn departures_count_and_must_be_in_the_code() {
        let gone = |bci| vec![Departure { node: 1, bci, kind: DepartureKind::Thrown, count: 3 }];
        assert_eq!(check(&profile([5, 3], gone(2))).unwrap().worst, -1);
        assert!(check(&profile([5, 3], gone(12))).unwrap_err().to_string().contains("bytecode 12"));
    }
}
