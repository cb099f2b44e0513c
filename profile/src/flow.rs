//! A method's blocks and edges, and which edges were counted.

pub use cprof_instrument::EdgeKind;
use thiserror::Error;

/// Control flow of a method as it was counted. Vertices are the blocks and [`Flow::exit`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    /// In order of bytecode index, not overlapping.
    pub blocks: Vec<Block>,
    /// All ways control passes between blocks but for exceptions.
    pub edges: Vec<Edge>,
    /// Number of counters; counter 0 counts calls.
    pub counters: u16,
}

/// A run of bytecodes that executes from its start up to a departure or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// First bytecode index.
    pub start: u32,
    /// End, exclusive.
    pub end: u32,
}

/// A way from a block to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Vertex it leaves.
    pub from: u32,
    /// Vertex it reaches.
    pub to: u32,
    /// Why control passes.
    pub kind: EdgeKind,
    /// Index of its counter; none: follows from the others.
    pub counter: Option<u16>,
}

/// The number of a kind in a profile file.
pub fn kind_number(kind: EdgeKind) -> u8 {
    match kind {
        EdgeKind::Entry => 0,
        EdgeKind::Fall => 1,
        EdgeKind::Taken => 2,
        EdgeKind::Case => 3,
        EdgeKind::Return => 4,
        EdgeKind::Handler => 5,
        EdgeKind::SuperThrow => 6,
        EdgeKind::Subroutine => 7,
    }
}

/// The kind of a number in a profile file.
pub fn kind_from_number(number: u8) -> Option<EdgeKind> {
    use EdgeKind::{Case, Entry, Fall, Handler, Return, Subroutine, SuperThrow, Taken};
    [Entry, Fall, Taken, Case, Return, Handler, SuperThrow, Subroutine].into_iter().find(|&kind| kind_number(kind) == number)
}

/// What is wrong with a flow.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FlowError {
    /// Blocks overlap, run backwards, or are missing.
    #[error("block {0} is out of order")]
    Block(usize),
    /// An edge names a vertex or a counter that is not there.
    #[error("edge {0} leads nowhere or has a counter that does not exist")]
    Edge(usize),
    /// Two edges share a counter.
    #[error("counter {0} counts two edges")]
    Shared(u16),
    /// The counts do not follow from the counters.
    #[error("the counters do not determine the count of edge {0}")]
    Undetermined(usize),
}

impl Flow {
    /// The vertex outside the method.
    pub fn exit(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Checks everything that later steps rely on but for determination, which [`crate::recover`] checks.
    pub fn validate(&self) -> Result<(), FlowError> {
        let mut end = 0;
        for (i, block) in self.blocks.iter().enumerate() {
            if block.start < end || block.end <= block.start {
                return Err(FlowError::Block(i));
            }
            end = block.end;
        }
        let mut counted = vec![false; self.counters as usize];
        for (i, edge) in self.edges.iter().enumerate() {
            if edge.from > self.exit() || edge.to > self.exit() {
                return Err(FlowError::Edge(i));
            }
            if let Some(counter) = edge.counter {
                match counted.get_mut(counter as usize) {
                    None => return Err(FlowError::Edge(i)),
                    Some(true) => return Err(FlowError::Shared(counter)),
                    Some(seen) => *seen = true,
                }
            }
        }
        Ok(())
    }

    /// The block that holds a bytecode index.
    pub fn block_at(&self, bci: u32) -> Option<usize> {
        let after = self.blocks.partition_point(|b| b.start <= bci);
        let block = after.checked_sub(1)?;
        (bci < self.blocks[block].end).then_some(block)
    }
}
