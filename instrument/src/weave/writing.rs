//! A method's code, instruction by instruction: what is injected around each.

use super::body::{Jump, Source};
use super::calls::Call;
use super::placement::{NONE, Placement};
use super::pool::NewConstants;
use super::sequences::{Emitter, local};
use crate::classfile::instructions::Instruction;
use crate::classfile::opcode::{MOVES, Moves, op};
use crate::flow::{Graph, mark};
use crate::probes::Level;

/// The code so far, and what is known where it ends.
pub(super) struct Writing<'w, 's, 'a> {
    emit: Emitter<'w>,
    source: &'w Source<'s, 'a>,
    placement: &'w mut Placement,
    jumps: &'w mut Vec<Jump>,
    /// Blocks whose jump is written as goto_w or jsr_w.
    far: &'w [u32],
    /// What `w` holds, where that is known.
    known: Option<u32>,
    /// The block that is being written.
    block: u32,
    /// The counter of a handler that is not yet entered, and whether it is now.
    awaited: u16,
    unlocked: bool,
}

impl<'w, 's, 'a> Writing<'w, 's, 'a> {
    pub(super) fn new(
        out: &'w mut Vec<u8>,
        constants: &'w mut NewConstants,
        source: &'w Source<'s, 'a>,
        placement: &'w mut Placement,
        jumps: &'w mut Vec<Jump>,
        far: &'w [u32],
    ) -> Writing<'w, 's, 'a> {
        let emit = Emitter { out, constants, locals: source.design.layout.locals() };
        Writing { emit, source, placement, jumps, far, known: None, block: 0, awaited: NONE, unlocked: false }
    }

    /// Where the code ends.
    pub(super) fn position(&self) -> u32 {
        self.emit.out.len() as u32
    }

    fn publishes(&self) -> bool {
        !self.source.design.leaf
    }

    fn is_precise(&self) -> bool {
        self.source.design.level == Level::Precise
    }

    /// `w` holds a bytecode index from here on.
    fn set_where(&mut self, bci: u32) {
        self.emit.set_where(bci, self.known);
        self.known = Some(bci);
    }

    /// The entry sequence.
    pub(super) fn enter(&mut self) {
        let design = &self.source.design;
        if design.treatment.starts_counting {
            self.emit.invoke(Call::Start);
        }
        if design.leaf {
            self.emit.enter_leaf(design.id, design.treatment.root, design.layout.keeps_node());
            return;
        }
        self.emit.enter(design.id, design.treatment.root);
        if design.layout.keeps_this() {
            self.emit.keep_this();
        }
        self.set_where(if self.is_precise() { first_throwing(self.source.graph) } else { 0 });
    }

    /// The stack maps after entry and at bytecode 0 need two positions.
    pub(super) fn set_off_entry(&mut self) {
        if self.source.frame_at_0 && self.source.design.layout.keeps_node() {
            self.emit.out.push(op::NOP);
        }
    }

    /// Behind the `monitorexit` for which a handler waits, it is entered.
    pub(super) fn behind_unlock(&mut self) {
        if self.unlocked {
            self.emit.caught();
            self.emit.count(self.awaited);
            if !self.is_precise() {
                self.known = None;
                self.set_where(self.source.graph.blocks[self.block as usize].start);
            }
            self.awaited = NONE;
        }
    }

    /// In front of the block that begins there: what counts those who come to it.
    pub(super) fn land(&mut self, bci: u32) {
        let Source { graph, .. } = self.source;
        self.block = graph.block_at(bci);
        let counters = self.placement.blocks[self.block as usize];
        if counters.fall_in != NONE {
            self.emit.count(counters.fall_in);
        }
        let falls = graph.marks[bci as usize] & mark::CUT_OFF == 0;
        self.landing_pads(falls);
        if !(falls && self.placement.incoming[self.block as usize] == 1) {
            self.known = None;
        }
    }

    /// The landing pads in front of the block, with a way around them if control `falls` into it.
    fn landing_pads(&mut self, falls: bool) {
        let pads = self.placement.pads_before(self.block);
        let around = self.source.graph.exit();
        if !pads.is_empty() && falls {
            self.jump(op::GOTO, false, None, self.block, around);
        }
        let last_pad = pads.end;
        for p in pads {
            let position = self.position();
            let pad = &mut self.placement.pads[p];
            pad.position = position;
            let pad = *pad;
            if let Some(to) = pad.detour {
                let counting = self.placement.counting_pad(pad.from, to).map(|p| p as u32);
                self.jump(op::GOTO_W, true, counting, to, pad.from);
                self.placement.pads[p].end = self.position();
                continue;
            }
            // Control comes from no block: an exception is caught.
            if pad.from == around && self.publishes() {
                self.emit.caught();
            }
            self.emit.count(pad.counter);
            if p + 1 < last_pad {
                self.jump(op::GOTO, false, None, self.block, around);
            }
            self.placement.pads[p].end = self.position();
        }
    }

    /// Where jumps to the block arrive.
    pub(super) fn begin_block(&mut self) {
        let counters = self.placement.blocks[self.block as usize];
        if counters.at_start != NONE {
            self.emit.count(counters.at_start);
        }
        self.awaited = counters.behind_unlock;
        let block = self.source.graph.blocks[self.block as usize];
        if self.publishes() && !self.is_precise() && self.awaited == NONE && block.throws {
            self.set_where(block.start);
        }
    }

    /// In front of an instruction: where the method is, for exceptions, and from where it calls.
    pub(super) fn announce(&mut self, bci: u32) {
        let marks = self.source.graph.marks[bci as usize];
        if self.publishes() && marks & mark::THROWS != 0 {
            // What it holds where a handler awaits its entrance is where the exception came from.
            if self.is_precise() && self.awaited == NONE {
                self.set_where(bci);
            }
            // A monitorexit that succeeds runs no other code.
            if self.source.options.sites && marks & mark::UNLOCK == 0 {
                self.emit.site(bci);
            }
        }
    }

    /// In front of a block's last instruction: what counts those who leave it, and the method.
    pub(super) fn end_block(&mut self, i: &Instruction<'_>) {
        if self.source.graph.blocks[self.block as usize].last != i.bci {
            return;
        }
        let at_end = self.placement.blocks[self.block as usize].at_end;
        if at_end != NONE {
            self.emit.count(at_end);
        }
        if i.is_return() && self.publishes() {
            self.emit.leave(self.source.options.caches);
            if self.source.design.treatment.ends_thread {
                self.emit.invoke(Call::End);
            }
        }
    }

    /// The program's instruction, locals moved, jumps and switches to be filled in.
    pub(super) fn copy(&mut self, i: &Instruction<'_>) {
        let out = &mut *self.emit.out;
        // Targets were checked by the analysis.
        let target = |t: i64| self.source.graph.block_at(t as u32);
        let pad_to = |to: u32| self.placement.pad_between(self.block, to).map(|p| p as u32);
        match MOVES[i.opcode as usize] {
            Moves::Nothing => out.extend_from_slice(i.bytes),
            Moves::Local => match i.local().map(|index| (index, self.source.design.layout.moved(index))) {
                Some((index, moved)) if moved != index => copy_local(out, i, moved),
                _ => out.extend_from_slice(i.bytes),
            },
            Moves::Jump => {
                let to = target(i.jump_target().unwrap_or(0));
                let pad = pad_to(to);
                let opcode = match i.opcode {
                    op::GOTO if self.far.contains(&self.block) => op::GOTO_W,
                    op::JSR if self.far.contains(&self.block) => op::JSR_W,
                    same => same,
                };
                self.jump(opcode, matches!(opcode, op::GOTO_W | op::JSR_W), pad, to, self.block);
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
                    self.jumps.push(Jump { from, operand, wide: true, pad: pad_to(to), block: to, source: self.block });
                }
            }
        }
        self.unlocked = self.awaited != NONE && self.source.graph.marks[i.bci as usize] & mark::UNLOCK != 0;
        if matches!(i.opcode, op::JSR | op::JSR_W) {
            self.known = None; // the subroutine sets it to its own
        }
    }

    /// A jump to be filled in: to a pad or a block, from a block.
    fn jump(&mut self, opcode: u8, wide: bool, pad: Option<u32>, block: u32, source: u32) {
        let from = self.position();
        self.emit.out.push(opcode);
        self.emit.out.extend_from_slice(if wide { &[0; 4] } else { &[0; 2] });
        self.jumps.push(Jump { from, operand: from + 1, wide, pad, block, source });
    }

    /// The injected handler: the exception leaves the method.
    pub(super) fn unwind(&mut self) {
        let design = &self.source.design;
        self.emit.unwind(design.constructor, design.treatment.ends_thread);
    }
}

/// The first bytecode index that `w` has to hold.
fn first_throwing(graph: &Graph) -> u32 {
    let block = graph.blocks[0];
    (block.start..block.end).find(|&bci| graph.marks[bci as usize] & mark::THROWS != 0).unwrap_or(0)
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
