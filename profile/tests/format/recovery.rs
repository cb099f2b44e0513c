//! Random flow graphs, random executions of them: every count must come back from the counters of the chords.

use cprof_profile::flow::{Block, Edge, EdgeKind, Flow, FlowError};
use cprof_profile::recover::Recovery;
use proptest::prelude::*;

/// A flow with the counters on the chords of a spanning forest; entry and handlers are always counted.
fn flow(blocks: u32, edges: &[(u32, u32, u16)], handlers: &[u32]) -> Flow {
    let exit = blocks;
    let edge = |from, to, kind| Edge { from, to, kind, counter: None };
    let mut all = vec![edge(exit, 0, EdgeKind::Entry)];
    all.extend(handlers.iter().map(|&h| edge(exit, h % blocks, EdgeKind::Handler)));
    let counted = all.len();
    all.extend(edges.iter().map(|&(from, to, _)| edge(from % blocks, to % (blocks + 1), EdgeKind::Taken)));
    let mut order: Vec<usize> = (counted..all.len()).collect();
    order.sort_by_key(|&i| edges[i - counted].2);
    let mut tree: Vec<u32> = (0..=exit).collect();
    let mut is_chord = vec![true; all.len()];
    for i in order {
        let find = |tree: &[u32], mut v: u32| {
            while tree[v as usize] != v {
                v = tree[v as usize];
            }
            v
        };
        let (a, b) = (find(&tree, all[i].from), find(&tree, all[i].to));
        tree[a as usize] = b;
        is_chord[i] = a == b;
    }
    let mut counters = 0;
    for (edge, chord) in all.iter_mut().zip(is_chord) {
        if chord {
            edge.counter = Some(counters);
            counters += 1;
        }
    }
    Flow { blocks: (0..blocks).map(|b| Block { start: 3 * b, end: 3 * b + 3 }).collect(), edges: all, counters }
}

/// What an execution did.
struct Truth {
    edges: Vec<i64>,
    departures: Vec<i64>,
}

/// Walks the graph as the choices say: along an edge, out by an exception, or into a handler; the last frame stays.
fn execute(flow: &Flow, choices: &[u8]) -> Truth {
    let exit = flow.exit();
    let mut truth = Truth { edges: vec![0; flow.edges.len()], departures: vec![0; flow.blocks.len()] };
    let from = |at: u32| (0..flow.edges.len()).filter(move |&e| flow.edges[e].from == at).collect::<Vec<_>>();
    let handlers: Vec<usize> = (0..flow.edges.len()).filter(|&e| flow.edges[e].kind == EdgeKind::Handler).collect();
    let mut at = exit;
    for &choice in choices {
        let choice = choice as usize;
        if at == exit {
            truth.edges[0] += 1;
            at = 0;
            continue;
        }
        let ways = from(at);
        let next = match ways.get(choice % (ways.len() + 1)) {
            Some(&way) => Some(way),
            None => {
                truth.departures[at as usize] += 1;
                handlers.get(choice / 7 % (handlers.len() + 1)).copied()
            }
        };
        at = next.map_or(exit, |e| {
            truth.edges[e] += 1;
            flow.edges[e].to
        });
    }
    if at != exit {
        truth.departures[at as usize] += 1;
    }
    truth
}

fn counters(flow: &Flow, truth: &Truth) -> Vec<u64> {
    let mut counters = vec![0; flow.counters as usize];
    for (edge, &count) in flow.edges.iter().zip(&truth.edges) {
        if let Some(counter) = edge.counter {
            counters[counter as usize] = count as u64;
        }
    }
    counters
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_count_comes_back(
        blocks in 1u32..12,
        edges in prop::collection::vec((0u32..12, 0u32..13, any::<u16>()), 0..30),
        handlers in prop::collection::vec(0u32..12, 0..4),
        choices in prop::collection::vec(any::<u8>(), 0..300),
        values in prop::collection::vec(-1000i64..1000, 40),
    ) {
        let flow = flow(blocks, &edges, &handlers);
        let truth = execute(&flow, &choices);
        let counters = counters(&flow, &truth);
        let recovery = Recovery::new(&flow).unwrap();
        prop_assert_eq!(&recovery.edges(&flow, &counters, &truth.departures), &truth.edges);
        let mut entered = vec![0; blocks as usize];
        for (edge, count) in flow.edges.iter().zip(&truth.edges) {
            if edge.to < blocks {
                entered[edge.to as usize] += count;
            }
        }
        prop_assert_eq!(recovery.blocks(&flow, &counters, &truth.departures), entered);

        // Any linear quantity is the same through weights.
        let per_edge: Vec<i64> = (0..flow.edges.len()).map(|e| values[e % values.len()]).collect();
        let direct: i64 = per_edge.iter().zip(&truth.edges).map(|(v, c)| v * c).sum();
        let weights = recovery.weigh(&flow, per_edge);
        let counted: i64 = weights.counters.iter().zip(&counters).map(|(w, &c)| w * c as i64).sum();
        let departed: i64 = weights.departures.iter().zip(&truth.departures).map(|(w, d)| w * d).sum();
        prop_assert_eq!(counted + departed, direct);
    }
}

#[test]
fn a_cycle_without_counters_is_refused() {
    let mut loops = flow(2, &[(0, 1, 0), (1, 0, 1), (1, 2, 2)], &[]);
    assert!(Recovery::new(&loops).is_ok());
    loops.edges[2].counter = None;
    assert_eq!(Recovery::new(&loops).unwrap_err(), FlowError::Undetermined(1));
    let mut itself = flow(1, &[(0, 0, 0)], &[]);
    itself.edges[1].counter = None;
    assert_eq!(Recovery::new(&itself).unwrap_err(), FlowError::Undetermined(1));
}

#[test]
fn malformed_flows_are_refused() {
    let good = flow(2, &[(0, 1, 0), (1, 2, 1), (0, 2, 2)], &[]);
    let broken = |change: &dyn Fn(&mut Flow)| {
        let mut flow = good.clone();
        change(&mut flow);
        Recovery::new(&flow).unwrap_err()
    };
    assert_eq!(broken(&|f| f.blocks[1].start = 2), FlowError::Block(1));
    assert_eq!(broken(&|f| f.blocks[0].end = 0), FlowError::Block(0));
    assert_eq!(broken(&|f| f.edges[1].to = 3), FlowError::Edge(1));
    assert_eq!(broken(&|f| f.edges[1].counter = Some(9)), FlowError::Edge(1));
    assert_eq!(broken(&|f| f.edges[1].counter = Some(0)), FlowError::Shared(0));
}
