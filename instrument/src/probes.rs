//! Which edges are counted, and the rule that recovers all other counts.
//!
//! The strategy: the uncounted edges form a spanning forest of the flow graph, chosen so that the edges expected to be
//! taken most often stay uncounted; the others, the chords, have counters (Knuth; Ball and Larus, "Optimally profiling
//! and tracing programs", TOPLAS 16(4), 1994). Calls and handlers are always counted: the entry finds the node anyway, and
//! a handler's entrance runs injected code anyway.
//!
//! The rule is the [`Plan`] itself. For every block, and for EXIT, what comes in equals what goes out, where an
//! exception or a frame still active goes out of its block to EXIT as well ("departures", recorded as they happen).
//! As the uncounted edges have no cycle, one of them can always be derived next. A reader needs to know no more than
//! that; which strategy chose the counted edges is not its business.

use crate::abi;
use crate::classfile::{ClassFile, Code, Error, Method};
use crate::flow::{Block, FlowEdge, Graph};

pub use crate::flow::EdgeKind;

/// How precisely departures are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// At the bytecode that threw.
    Precise,
    /// At the block that was entered, which counts whole: the articles' Default BBA.
    Block,
}

/// An edge of the flow graph. Blocks by their numbers; the number of blocks stands for EXIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Block it leaves.
    pub from: u32,
    /// Block it enters.
    pub to: u32,
    /// How.
    pub kind: EdgeKind,
    /// The counter that counts it; `None`: derived.
    pub counter: Option<u16>,
}

/// The flow graph of a method, with its counters.
#[derive(Debug, Default)]
pub struct Plan {
    /// The blocks, in code order.
    pub blocks: Vec<Block>,
    /// The edges. The first is the entry, its counter 0.
    pub edges: Vec<Edge>,
    /// Number of counters.
    pub counters: u16,
    /// Nothing in the method can ask for its context: its node needs no child slots.
    pub leaf: bool,
}

/// Plans a method as the weaver does; `None` if it has no code.
///
/// # Errors
/// Malformed code, or more counters than [`abi::MAX_COUNTERS`].
pub fn plan<'a>(class: &ClassFile<'a>, method: &Method<'a>) -> Result<Option<Plan>, Error> {
    let Some(code) = class.code(method)? else { return Ok(None) };
    let mut planner = Planner::default();
    planner.plan(class, method, &code)?;
    let Planner { graph, edges, counters, .. } = planner;
    Ok(Some(Plan { leaf: graph.leaf, blocks: graph.blocks, edges, counters }))
}

/// Plans methods one after the other, reusing its memory.
#[derive(Debug, Default)]
pub struct Planner {
    /// The flow graph of the method planned last.
    pub graph: Graph,
    /// Its edges, as in [`Plan::edges`].
    pub edges: Vec<Edge>,
    /// Number of its counters.
    pub counters: u16,
    order: Vec<(u32, u32)>,
    parent: Vec<u32>,
}

impl Planner {
    /// Plans a method as for weaving it, but for what only that needs ([`Graph::outline`]), replacing what was here; false if it has
    /// no code.
    ///
    /// # Errors
    /// As [`plan`].
    pub fn outline<'a>(&mut self, class: &ClassFile<'a>, method: &Method<'a>) -> Result<bool, Error> {
        let Some(code) = class.code(method)? else { return Ok(false) };
        self.graph.outline(class, method, &code)?;
        self.number_chords(&code)?;
        Ok(true)
    }

    pub(crate) fn plan<'a>(&mut self, class: &ClassFile<'a>, method: &Method<'a>, code: &Code<'a>) -> Result<(), Error> {
        self.graph.analyse(class, method, code)?;
        self.number_chords(code)
    }

    fn number_chords(&mut self, code: &Code<'_>) -> Result<(), Error> {
        self.choose_chords().ok_or(Error::new(code.at, "more branches than cprof has counters for"))
    }

    fn choose_chords(&mut self) -> Option<()> {
        let exit = self.graph.exit();
        self.edges.clear();
        self.order.clear();
        for (i, edge) in self.graph.edges.iter().enumerate() {
            let &FlowEdge { from, to, kind } = edge;
            self.edges.push(Edge { from, to, kind, counter: None });
            self.order.push((u32::MAX - Self::weight(&self.graph, edge), i as u32));
        }
        // Heaviest first; among equals the earlier edge, so that a plan is the same wherever it is made.
        self.order.sort_unstable();
        self.parent.clear();
        self.parent.extend(0..=exit);
        for o in 0..self.order.len() {
            let e = self.order[o].1 as usize;
            let Edge { from, to, kind, .. } = self.edges[e];
            let always = matches!(kind, EdgeKind::Entry | EdgeKind::Handler);
            if always || !self.join(from, to) {
                self.edges[e].counter = Some(0);
            }
        }
        // Numbered in edge order, the entry first.
        let mut next = 0u16;
        for edge in self.edges.iter_mut().filter(|e| e.counter.is_some()) {
            edge.counter = Some(next);
            next = next.checked_add(1).filter(|&n| n <= abi::MAX_COUNTERS)?;
        }
        self.counters = next;
        Some(())
    }

    /// How often an edge is expected to be taken, and how much a counter on it would cost.
    fn weight(graph: &Graph, edge: &FlowEdge) -> u32 {
        // More than any depth of loops.
        const LOCKED: u32 = 1 << 20;
        // In front of a monitorexit that is in no exception range, as scalac leaves it, a counter would be the one call that could
        // leave the method with the monitor held, and HotSpot does not compile such methods (generateOopMap.cpp).
        let locked = if edge.to < graph.exit() && graph.unlocks(edge.to) { LOCKED } else { 0 };
        let depth = |b: u32| graph.blocks.get(b as usize).map_or(0, |b| u32::from(b.depth));
        match edge.kind {
            // No code runs when super() throws, so that this edge cannot carry a counter.
            EdgeKind::SuperThrow => u32::MAX,
            // A counter on a jump that is one of several out of its block may need a detour.
            EdgeKind::Taken | EdgeKind::Case => locked + 4 * depth(edge.from).min(depth(edge.to)) + 1,
            EdgeKind::Return => 4 * depth(edge.from),
            _ => locked + 4 * depth(edge.from).min(depth(edge.to)),
        }
    }

    /// Joins the trees of two blocks; answers false if they are one already.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a as usize] = b;
        a != b
    }

    fn find(&mut self, mut b: u32) -> u32 {
        while self.parent[b as usize] != b {
            let up = self.parent[self.parent[b as usize] as usize];
            self.parent[b as usize] = up;
            b = up;
        }
        b
    }
}
