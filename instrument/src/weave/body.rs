//! The new code of a method: the program's instructions with the injected ones between them, and where everything went.

use super::SkipReason;
use super::layout::Layout;
use super::placement::Placement;
use super::pool::NewConstants;
use super::writing::Writing;
use super::{Options, Treatment};
use crate::classfile::instructions::Instructions;
use crate::classfile::opcode::op;
use crate::classfile::{Code, Error, Handler};
use crate::flow::{Graph, mark};
use crate::probes::Level;

/// What is decided about a method before its code is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Design {
    pub(super) id: u32,
    /// It is a constructor.
    pub(super) constructor: bool,
    /// The method has no node of its own to publish: see [`Graph::leaf`].
    pub(super) leaf: bool,
    pub(super) level: Level,
    pub(super) treatment: Treatment,
    pub(super) layout: Layout,
}

/// A jump whose offset is filled in when all positions are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jump {
    /// Position of the instruction that offsets count from.
    pub(super) from: u32,
    /// Position of the offset.
    pub(super) operand: u32,
    /// The offset has 32 bits.
    pub(super) wide: bool,
    /// The pad it leads to; else the block.
    pub(super) pad: Option<u32>,
    /// The block it leads to.
    pub(super) block: u32,
    /// The block it comes from; EXIT for the `goto` that leads around pads.
    pub(super) source: u32,
}

/// A range that one of the injected catch-any handlers covers: positions in the new code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Covered {
    pub(super) start: u32,
    pub(super) end: u32,
    /// `this` is not yet initialised in it.
    pub(super) uninitialised: bool,
}

/// The new code and the positions of the old code in it. Reused from method to method.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The new code.
    pub(super) out: Vec<u8>,
    /// By bytecode index: where control arrives by a jump; for the code's length, the end of the program's part.
    pub(super) arrival: Vec<u32>,
    /// By bytecode index: the instruction itself.
    pub(super) instruction: Vec<u32>,
    /// By bytecode index: right behind the instruction before it.
    pub(super) behind: Vec<u32>,
    /// First position after the entry sequence.
    pub(super) entry_end: u32,
    /// What the injected handlers cover.
    pub(super) covered: Vec<Covered>,
    /// Position of the injected handler for initialised (0) and uninitialised (1) `this`, if there is one.
    pub(super) handlers: [Option<u32>; 2],
    jumps: Vec<Jump>,
    /// Blocks whose jump is written as goto_w or jsr_w.
    far: Vec<u32>,
}

/// The inputs that stay the same while a method's code is written.
pub(super) struct Source<'s, 'a> {
    pub(super) code: &'s Code<'a>,
    pub(super) graph: &'s Graph,
    pub(super) design: Design,
    pub(super) options: &'s Options,
    /// The class file has stack maps (version 50 and later), so that no two may fall on one position.
    pub(super) frame_at_0: bool,
}

impl Body {
    /// Writes the code; jumps that do not reach are made long and the code written again until all do.
    pub(super) fn write(
        &mut self,
        source: &Source<'_, '_>,
        placement: &mut Placement,
        constants: &mut NewConstants,
    ) -> Result<(), SkipReason> {
        self.far.clear();
        loop {
            self.write_once(source, placement, constants)?;
            if self.out.len() > 65535 {
                return Err(SkipReason::TooLarge);
            }
            let far_before = (self.far.len(), placement.pads.len());
            self.resolve_jumps(source, placement)?;
            if far_before == (self.far.len(), placement.pads.len()) {
                return Ok(());
            }
        }
    }

    fn write_once(
        &mut self,
        source: &Source<'_, '_>,
        placement: &mut Placement,
        constants: &mut NewConstants,
    ) -> Result<(), Error> {
        let &Source { code, graph, design, .. } = source;
        let Self { out, arrival, instruction, behind, covered, handlers, jumps, far, entry_end } = self;
        out.clear();
        jumps.clear();
        for positions in [&mut *arrival, &mut *instruction, &mut *behind] {
            positions.clear();
            positions.resize(code.bytes.len() + 1, 0);
        }
        let mut writing = Writing::new(out, constants, source, placement, jumps, far);
        writing.enter();
        *entry_end = writing.position();
        writing.set_off_entry();
        for next in Instructions::new(code.bytes, code.at) {
            let i = next?;
            let bci = i.bci as usize;
            let leads = graph.marks[bci] & mark::LEADER != 0;
            behind[bci] = writing.position();
            writing.behind_unlock();
            if leads {
                writing.land(i.bci);
            }
            arrival[bci] = writing.position();
            if leads {
                writing.begin_block();
            }
            writing.announce(i.bci);
            writing.end_block(&i);
            instruction[bci] = writing.position();
            writing.copy(&i);
        }
        let end = writing.position();
        for positions in [&mut *arrival, &mut *instruction, &mut *behind] {
            positions[code.bytes.len()] = end;
        }

        covered.clear();
        *handlers = [None, None];
        if !design.leaf {
            cover(covered, graph, *entry_end, end, behind, instruction);
            for uninitialised in [false, true] {
                if covered.iter().any(|c| c.uninitialised == uninitialised) {
                    handlers[usize::from(uninitialised)] = Some(writing.position());
                    writing.unwind();
                }
            }
        }
        Ok(())
    }

    /// Fills in the offsets. A jump that cannot reach is noted in `far` or given a detour.
    fn resolve_jumps(&mut self, source: &Source<'_, '_>, placement: &mut Placement) -> Result<(), SkipReason> {
        let graph = source.graph;
        let mut detours = Vec::new();
        for j in 0..self.jumps.len() {
            let jump = self.jumps[j];
            let to = match jump.pad {
                Some(pad) => placement.pads[pad as usize].position,
                None => self.arrival[graph.blocks[jump.block as usize].start as usize],
            };
            let offset = i64::from(to) - i64::from(jump.from);
            let operand = jump.operand as usize;
            if jump.wide {
                self.out[operand..operand + 4].copy_from_slice(&(offset as i32).to_be_bytes());
            } else if let Ok(offset) = i16::try_from(offset) {
                self.out[operand..operand + 2].copy_from_slice(&offset.to_be_bytes());
            } else if matches!(self.out[jump.from as usize], op::GOTO | op::JSR) {
                if jump.source == graph.exit() || self.far.contains(&jump.source) {
                    // A jump around pads or from pad to block: those are short unless a block has thousands.
                    return Err(SkipReason::TooLarge);
                }
                self.far.push(jump.source);
            } else {
                let has_detour = jump.pad.is_some_and(|pad| placement.pads[pad as usize].detour.is_some());
                let at =
                    self.detour_place(source, jump.from, to, jump.block).filter(|_| !has_detour).ok_or(SkipReason::TooLarge)?;
                detours.push((at, jump));
            }
        }
        for (at, jump) in detours {
            placement.add_detour(at, jump.source, jump.block);
        }
        Ok(())
    }

    /// A block between a conditional jump and its far target, well within reach, that has a stack map (being a jump target or
    /// behind an unconditional jump). The locals are the target's there, which every handler around it must take (JVMS
    /// §4.10.1.6): so no handler may be there that is not at the target.
    fn detour_place(&self, source: &Source<'_, '_>, from: u32, to: u32, target: u32) -> Option<u32> {
        // What moves when detours are written, often many at one place, should not put them out of reach again.
        const REACH: i64 = 24_000;
        let from = i64::from(from);
        let Source { graph, code, .. } = source;
        let target = graph.blocks[target as usize];
        let at = |b: u32| i64::from(self.behind[graph.blocks[b as usize].start as usize]);
        let is_reachable = |&b: &u32| {
            let start = graph.blocks[b as usize].start;
            let marks = graph.marks[start as usize];
            marks & (mark::TARGET | mark::HANDLER | mark::CUT_OFF) != 0 && start > 0 && (at(b) - from).abs() < REACH
        };
        let suits = |&b: &u32| {
            let place = graph.blocks[b as usize];
            let covers = |h: &Handler, bci: u32| (u32::from(h.start)..u32::from(h.end)).contains(&bci);
            (place.uninitialised, place.dead) == (target.uninitialised, target.dead)
                && !code.handlers().any(|h| covers(&h, place.start) && !covers(&h, target.start))
        };
        let mut places: Vec<u32> = (0..graph.exit()).filter(is_reachable).collect();
        places.sort_by_key(|&b| (at(b) - i64::from(to)).abs());
        places.into_iter().find(suits)
    }
}

/// The ranges for the catch-any handlers: everything after the entry, save a constructor's super() and this() calls, and what
/// nothing leads to, where the frame may be any.
fn cover(covered: &mut Vec<Covered>, graph: &Graph, from: u32, end: u32, behind: &[u32], instruction: &[u32]) {
    let mut push = |start: u32, end: u32, uninitialised: bool| {
        if start < end {
            match covered.last_mut() {
                Some(last) if last.end == start && last.uninitialised == uninitialised => last.end = end,
                _ => covered.push(Covered { start, end, uninitialised }),
            }
        }
    };
    let mut start = from;
    for block in &graph.blocks {
        let block_end = if block.end as usize + 1 == graph.marks.len() { end } else { behind[block.end as usize] };
        let leads = graph.marks[block.start as usize] & (mark::CUT_OFF | mark::TARGET | mark::HANDLER);
        if leads == mark::CUT_OFF || block.dead {
            // Nothing runs here.
        } else if graph.ends_in_super(block) {
            push(start, instruction[block.last as usize], block.uninitialised);
        } else {
            push(start, block_end, block.uninitialised);
        }
        start = block_end;
    }
}
