//! Where each counter goes: into a block, or onto a landing pad in front of one.

use crate::flow::{EdgeKind, Graph};
use crate::probes::Edge;

/// "No counter".
pub(super) const NONE: u16 = u16::MAX;

/// Counters that belong to a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockCounters {
    /// Counted when control falls into the block from the one before (or comes back from the jsr before it).
    pub(super) fall_in: u16,
    /// Counted however control comes.
    pub(super) at_start: u16,
    /// Counted before the last instruction, a jump or return.
    pub(super) at_end: u16,
    /// The block, or EXIT, that `at_end` counts the way to.
    pub(super) after: u32,
    /// The counter of a handler that is entered behind its monitorexit ([`Graph::unlocks`]), not on a pad: a call in front of that
    /// would be one with the monitor held, and in the range of the very handler, which C1 does not compile (`exception handler
    /// covers itself`), or, where that does not cover itself, in no range that releases it, which HotSpot does not compile at all.
    pub(super) behind_unlock: u16,
}

impl BlockCounters {
    fn count_at_end(&mut self, after: u32, counter: u16) {
        (self.at_end, self.after) = (counter, after);
    }
}

/// Code in front of a block that only those execute who come there by way of it: a critical edge with its counter, or
/// the entrance of an exception handler (but see [`BlockCounters::behind_unlock`]).
#[derive(Debug, Clone, Copy)]
pub(super) struct Pad {
    /// The block behind the pad.
    pub(super) to: u32,
    /// The block whose jump leads here; EXIT for a handler.
    pub(super) from: u32,
    /// The counter; [`NONE`] on a detour.
    pub(super) counter: u16,
    /// The block that a conditional jump cannot reach with its 16 bits: the pad is a `goto_w` to there.
    pub(super) detour: Option<u32>,
    /// Where the pad is in the new code; set while the code is written.
    pub(super) position: u32,
    /// Its end there, exclusive.
    pub(super) end: u32,
}

/// Placement of all counters of a method.
#[derive(Debug, Default)]
pub(super) struct Placement {
    pub(super) blocks: Vec<BlockCounters>,
    /// In the order of the blocks behind them.
    pub(super) pads: Vec<Pad>,
    /// Number of edges into each block.
    pub(super) incoming: Vec<u32>,
    outgoing: Vec<u32>,
    has_detours: bool,
}

impl Placement {
    /// Places the counters of a planned method.
    pub(super) fn place(&mut self, graph: &Graph, edges: &[Edge]) {
        let exit = graph.exit();
        self.pads.clear();
        self.has_detours = false;
        self.blocks.clear();
        let none = BlockCounters { fall_in: NONE, at_start: NONE, at_end: NONE, after: exit, behind_unlock: NONE };
        self.blocks.resize(graph.blocks.len(), none);
        self.incoming.clear();
        self.incoming.resize(graph.blocks.len() + 1, 0);
        self.outgoing.clear();
        self.outgoing.resize(graph.blocks.len() + 1, 0);
        for edge in edges {
            self.incoming[edge.to as usize] += 1;
            self.outgoing[edge.from as usize] += 1;
        }
        for edge in edges {
            let Some(counter) = edge.counter else { continue };
            let pad = Pad { to: edge.to, from: edge.from, counter, detour: None, position: 0, end: 0 };
            match edge.kind {
                EdgeKind::Entry | EdgeKind::SuperThrow => {}
                EdgeKind::Handler if self.incoming[edge.to as usize] == 1 && graph.unlocks(edge.to) => {
                    self.blocks[edge.to as usize].behind_unlock = counter;
                }
                EdgeKind::Handler => self.pads.push(pad),
                EdgeKind::Fall => self.blocks[edge.to as usize].fall_in = counter,
                // Back from a subroutine: to the instruction after the jsr.
                EdgeKind::Subroutine if edge.from == exit => self.blocks[edge.to as usize].fall_in = counter,
                EdgeKind::Return | EdgeKind::Subroutine => self.blocks[edge.from as usize].count_at_end(edge.to, counter),
                EdgeKind::Taken | EdgeKind::Case => {
                    if self.outgoing[edge.from as usize] == 1 {
                        self.blocks[edge.from as usize].count_at_end(edge.to, counter);
                    } else if self.incoming[edge.to as usize] == 1 {
                        self.blocks[edge.to as usize].at_start = counter;
                    } else {
                        self.pads.push(pad);
                    }
                }
            }
        }
        self.pads.sort_by_key(|pad| pad.to);
    }

    /// Adds a detour in front of block `at` to the start of block `to`; the pads are in order afterwards.
    pub(super) fn add_detour(&mut self, at: u32, from: u32, to: u32) {
        self.has_detours = true;
        let pad = Pad { to: at, from, counter: NONE, detour: Some(to), position: 0, end: 0 };
        let i = self.pads.partition_point(|p| p.to <= at);
        self.pads.insert(i, pad);
    }

    /// The range of the pads in front of a block.
    pub(super) fn pads_before(&self, block: u32) -> std::ops::Range<usize> {
        if self.pads.is_empty() {
            return 0..0;
        }
        self.pads.partition_point(|pad| pad.to < block)..self.pads.partition_point(|pad| pad.to <= block)
    }

    /// The pad that a jump from one block to another takes, if there is one: a detour first, as it leads on to the
    /// counting pad.
    pub(super) fn pad_between(&self, from: u32, to: u32) -> Option<usize> {
        let detour = || self.pads.iter().position(|pad| pad.from == from && pad.detour == Some(to));
        if self.has_detours { detour() } else { None }.or_else(|| self.counting_pad(from, to))
    }

    /// The pad with the counter of an edge, if the edge's counter is on one.
    pub(super) fn counting_pad(&self, from: u32, to: u32) -> Option<usize> {
        self.pads_before(to).find(|&i| self.pads[i].from == from && self.pads[i].detour.is_none())
    }
}
