//! The new code of a method: the program's instructions with the injected ones between them, and where everything went.

use super::SkipReason;
use super::calls::Call;
use super::layout::Layout;
use super::placement::{NONE, Placement};
use super::pool::NewConstants;
use super::sequences::{Emitter, local};
use super::{Options, Treatment};
use crate::classfile::instructions::{Instruction, Instructions};
use crate::classfile::opcode::{MOVES, Moves, op};
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
struct Jump {
    /// Position of the instruction that offsets count from.
    from: u32,
    /// Position of the offset.
    operand: u32,
    /// The offset has 32 bits.
    wide: bool,
    /// The pad it leads to; else the block.
    pad: Option<u32>,
    /// The block it leads to.
    block: u32,
    /// The block it comes from; EXIT for the `goto` that leads around pads.
    source: u32,
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
        let publishes = !design.leaf;
        let precise = design.level == Level::Precise;
        let mut emit = Emitter { out, constants, locals: design.layout.locals() };

        // What `w` holds, where that is known.
        let mut known = entry(&mut emit, source);
        *entry_end = emit.out.len() as u32;
        if source.frame_at_0 && design.layout.keeps_node() {
            // The stack maps after entry and at bytecode 0 need two positions.
            emit.out.push(op::NOP);
        }

        let mut block = 0u32;
        // The counter of a handler that is not yet entered, and whether it is now.
        let mut awaited = NONE;
        let mut unlocked = false;
        for next in Instructions::new(code.bytes, code.at) {
            let i = next?;
            let bci = i.bci as usize;
            let marks = graph.marks[bci];
            behind[bci] = emit.out.len() as u32;
            if unlocked {
                emit.caught();
                emit.count(awaited);
                if !precise {
                    let start = graph.blocks[block as usize].start;
                    emit.set_where(start, None);
                    known = Some(start);
                }
                awaited = NONE;
            }
            if marks & mark::LEADER != 0 {
                block = graph.block_at(i.bci);
                let counters = placement.blocks[block as usize];
                if counters.fall_in != NONE {
                    emit.count(counters.fall_in);
                }
                let falls = marks & mark::CUT_OFF == 0;
                landing_pads(&mut emit, jumps, source, placement, block, falls);
                if !(falls && placement.incoming[block as usize] == 1) {
                    known = None;
                }
                arrival[bci] = emit.out.len() as u32;
                if counters.at_start != NONE {
                    emit.count(counters.at_start);
                }
                awaited = counters.behind_unlock;
                if publishes && !precise && awaited == NONE && graph.blocks[block as usize].throws {
                    emit.set_where(i.bci, known);
                    known = Some(i.bci);
                }
            } else {
                arrival[bci] = emit.out.len() as u32;
            }
            if publishes && marks & mark::THROWS != 0 {
                // What it holds where a handler awaits its entrance is where the exception came from.
                if precise && awaited == NONE {
                    emit.set_where(i.bci, known);
                    known = Some(i.bci);
                }
                // A monitorexit that succeeds runs no other code.
                if source.options.sites && marks & mark::UNLOCK == 0 {
                    emit.site(i.bci);
                }
            }
            if graph.blocks[block as usize].last == i.bci {
                let at_end = placement.blocks[block as usize].at_end;
                if at_end != NONE {
                    emit.count(at_end);
                }
                if i.is_return() && publishes {
                    emit.leave(source.options.caches);
                    if design.treatment.ends_thread {
                        emit.invoke(Call::End);
                    }
                }
            }
            instruction[bci] = emit.out.len() as u32;
            copy(&mut emit, &i, block, source, placement, far, jumps);
            unlocked = awaited != NONE && marks & mark::UNLOCK != 0;
            if matches!(i.opcode, op::JSR | op::JSR_W) {
                known = None; // the subroutine sets it to its own
            }
        }
        let end = emit.out.len() as u32;
        for positions in [&mut *arrival, &mut *instruction, &mut *behind] {
            positions[code.bytes.len()] = end;
        }

        covered.clear();
        *handlers = [None, None];
        if publishes {
            cover(covered, graph, *entry_end, end, behind, instruction);
            for uninitialised in [false, true] {
                if covered.iter().any(|c| c.uninitialised == uninitialised) {
                    handlers[usize::from(uninitialised)] = Some(emit.out.len() as u32);
                    emit.unwind(design.constructor, design.treatment.ends_thread);
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

/// The entry sequence; answers what `w` holds after it, if there is one.
fn entry(emit: &mut Emitter<'_>, source: &Source<'_, '_>) -> Option<u32> {
    let design = &source.design;
    if design.treatment.starts_counting {
        emit.invoke(Call::Start);
    }
    if design.leaf {
        emit.enter_leaf(design.id, design.treatment.root, design.layout.keeps_node());
        return None;
    }
    emit.enter(design.id, design.treatment.root);
    if design.layout.keeps_this() {
        emit.keep_this();
    }
    let first = if design.level == Level::Precise { first_throwing(source.graph) } else { 0 };
    emit.set_where(first, None);
    Some(first)
}

/// The landing pads in front of a block, with a way around them if control `falls` into it.
fn landing_pads(
    emit: &mut Emitter<'_>,
    jumps: &mut Vec<Jump>,
    source: &Source<'_, '_>,
    placement: &mut Placement,
    block: u32,
    falls: bool,
) {
    let pads = placement.pads_before(block);
    let around = source.graph.exit();
    if !pads.is_empty() && falls {
        jump(emit.out, jumps, op::GOTO, false, None, block, around);
    }
    let last_pad = pads.end;
    for p in pads {
        let pad = &mut placement.pads[p];
        pad.position = emit.out.len() as u32;
        let pad = *pad;
        if let Some(to) = pad.detour {
            let counting = placement.counting_pad(pad.from, to).map(|p| p as u32);
            jump(emit.out, jumps, op::GOTO_W, true, counting, to, pad.from);
            placement.pads[p].end = emit.out.len() as u32;
            continue;
        }
        // Control comes from no block: an exception is caught.
        if pad.from == source.graph.exit() && !source.design.leaf {
            emit.caught();
        }
        emit.count(pad.counter);
        if p + 1 < last_pad {
            jump(emit.out, jumps, op::GOTO, false, None, block, around);
        }
        placement.pads[p].end = emit.out.len() as u32;
    }
}

/// The first bytecode index that `w` has to hold.
fn first_throwing(graph: &Graph) -> u32 {
    let block = graph.blocks[0];
    (block.start..block.end).find(|&bci| graph.marks[bci as usize] & mark::THROWS != 0).unwrap_or(0)
}

fn jump(out: &mut Vec<u8>, jumps: &mut Vec<Jump>, opcode: u8, wide: bool, pad: Option<u32>, block: u32, source: u32) {
    let from = out.len() as u32;
    out.push(opcode);
    out.extend_from_slice(if wide { &[0; 4] } else { &[0; 2] });
    jumps.push(Jump { from, operand: from + 1, wide, pad, block, source });
}

/// Copies an instruction of the program, locals moved, jumps and switches to be filled in.
fn copy(
    emit: &mut Emitter<'_>,
    i: &Instruction<'_>,
    block: u32,
    source: &Source<'_, '_>,
    placement: &Placement,
    far: &[u32],
    jumps: &mut Vec<Jump>,
) {
    let out = &mut *emit.out;
    // Targets were checked by the analysis.
    let target = |t: i64| source.graph.block_at(t as u32);
    let pad_to = |to: u32| placement.pad_between(block, to).map(|p| p as u32);
    match MOVES[i.opcode as usize] {
        Moves::Nothing => out.extend_from_slice(i.bytes),
        Moves::Local => match i.local().map(|index| (index, source.design.layout.moved(index))) {
            Some((index, moved)) if moved != index => copy_local(out, i, moved),
            _ => out.extend_from_slice(i.bytes),
        },
        Moves::Jump => {
            let to = target(i.jump_target().unwrap_or(0));
            let long = far.contains(&block);
            let opcode = match i.opcode {
                op::GOTO if long => op::GOTO_W,
                op::JSR if long => op::JSR_W,
                same => same,
            };
            jump(out, jumps, opcode, matches!(opcode, op::GOTO_W | op::JSR_W), pad_to(to), to, block);
        }
        Moves::Switch => {
            let from = out.len() as u32;
            out.push(i.opcode);
            while !out.len().is_multiple_of(4) {
                out.push(0);
            }
            let operands = i.operands_of_switch();
            let start = out.len();
            out.extend_from_slice(operands);
            for (offset, t) in i.switch_offsets().zip(i.switch_targets()) {
                let to = target(t);
                let operand = (start + offset) as u32;
                jumps.push(Jump { from, operand, wide: true, pad: pad_to(to), block: to, source: block });
            }
        }
    }
}

/// Copies a load, store, iinc or ret with another local.
fn copy_local(out: &mut Vec<u8>, i: &Instruction<'_>, index: u16) {
    let plain = |opcode: u8, first: u8, base: u8| base + (opcode - first) / 4;
    match i.opcode {
        op::ILOAD_0..=op::ALOAD_3 => {
            let opcode = plain(i.opcode, op::ILOAD_0, op::ILOAD);
            local(out, opcode, Some(op::ILOAD_0 + 4 * (opcode - op::ILOAD)), index);
        }
        op::ISTORE_0..=op::ASTORE_3 => {
            let opcode = plain(i.opcode, op::ISTORE_0, op::ISTORE);
            local(out, opcode, Some(op::ISTORE_0 + 4 * (opcode - op::ISTORE)), index);
        }
        op::IINC => {
            let [high, low] = index.to_be_bytes();
            if i.is_wide() || high != 0 {
                let delta = if i.is_wide() { [i.bytes[4], i.bytes[5]] } else { i16::from(i.bytes[2] as i8).to_be_bytes() };
                out.extend_from_slice(&[op::WIDE, op::IINC, high, low, delta[0], delta[1]]);
            } else {
                out.extend_from_slice(&[op::IINC, low, i.bytes[2]]);
            }
        }
        opcode => local(out, opcode, None, index),
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
