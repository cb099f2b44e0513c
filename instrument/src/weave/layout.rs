//! Where the injected locals stand among the program's, and what room a frame of the woven method has.

use super::SkipReason;
use super::sequences::{EXTRA_STACK, LEAST_STACK, Locals};
use crate::classfile::descriptor::parameters;
use crate::classfile::{Code, Error, Method, access};
use crate::flow::Graph;

/// Most slots between the parameters and ours that a stack map can add to the one before (JVMS §4.7.4, append_frame).
pub(super) const WIDEST_GAP: u16 = 3;

/// Slots of all of [`Locals`].
const WITH_THIS: u16 = 6;

/// The frame of a woven method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Slots of the parameters, `this` included.
    pub(super) parameter_slots: u16,
    /// The injected locals stand here; the program's, from this index on, move up.
    pub(super) insert_at: u16,
    /// By how much they move. 0: there are none of ours; 2: the node; 5: all of [`Locals`] but [`Locals::this`]; [`WITH_THIS`]:
    /// that, too.
    pub(super) shift: u16,
    pub(super) max_stack: u16,
    pub(super) max_locals: u16,
}

impl Layout {
    /// The layout for a method with so many counters, or why there is none.
    pub(super) fn new(method: &Method<'_>, code: &Code<'_>, graph: &Graph, counters: u16) -> Result<Layout, SkipReason> {
        let parameter_slots = parameter_slots(method).ok_or(Error::new(method.span.0, "a malformed method descriptor"))?;
        if code.max_locals < parameter_slots {
            // The JVM's to refuse; with ours, there would be room.
            return Err(Error::new(code.at, "fewer locals than its parameters take").into());
        }
        let insert_at = undivided(parameter_slots, graph);
        let shift = match (graph.leaf, counters) {
            (true, ..=1) => 0,
            (true, _) => 2,
            (false, _) if graph.overwrites_this => WITH_THIS,
            (false, _) => WITH_THIS - 1,
        };
        let max_locals = max_locals(code, insert_at, shift)?;
        let max_stack = code.max_stack.checked_add(EXTRA_STACK).ok_or(SkipReason::StackTooDeep)?.max(LEAST_STACK);
        Ok(Layout { parameter_slots, insert_at, shift, max_stack, max_locals })
    }

    /// The same with ours further up: by half the distance so far, so that few attempts lead to the end, where there is room.
    pub(super) fn further(self, code: &Code<'_>, graph: &Graph) -> Result<Layout, SkipReason> {
        let next = self.insert_at.checked_add(1).ok_or(SkipReason::TooManyLocals)?;
        let far = self.insert_at.saturating_add((self.insert_at - self.parameter_slots) / 2).min(code.max_locals);
        let insert_at = undivided(next.max(far), graph);
        Ok(Layout { insert_at, max_locals: max_locals(code, insert_at, self.shift)?, ..self })
    }

    /// The same with a local for `this`.
    pub(super) fn keeping_this(self, code: &Code<'_>) -> Result<Layout, SkipReason> {
        let shift = WITH_THIS;
        Ok(Layout { shift, max_locals: max_locals(code, self.insert_at, shift)?, ..self })
    }

    /// Whether `this` is kept in a local: as a handler's frame has it in one as long as it is uninitialised (JVMS §4.10.1.4), a
    /// constructor that overwrites local 0 before that, or whose stack maps forget what is there, has it in another as well.
    pub(super) fn keeps_this(&self) -> bool {
        self.shift == WITH_THIS
    }

    /// Whether `n` is kept in a local.
    pub(super) fn keeps_node(&self) -> bool {
        self.shift > 0
    }

    /// Ours, where the shift has room for them.
    pub(super) fn locals(&self) -> Locals {
        let first = self.insert_at;
        Locals { n: first, p: first.saturating_add(2), w: first.saturating_add(4), this: first.saturating_add(5) }
    }

    /// Where a local of the program's is now. (One beyond max_locals is the JVM's to refuse.)
    pub(super) fn moved(&self, local: u16) -> u16 {
        if local >= self.insert_at { local.saturating_add(self.shift) } else { local }
    }
}

fn max_locals(code: &Code<'_>, insert_at: u16, shift: u16) -> Result<u16, SkipReason> {
    if insert_at > code.max_locals {
        // The JVM's to refuse; with ours, there would be room.
        return Err(Error::new(code.at, "a long or double beyond the last local").into());
    }
    code.max_locals.checked_add(shift).ok_or(SkipReason::TooManyLocals)
}

/// From here on, the first place for our locals: a long or double stored to the last slot below would reach into them.
fn undivided(mut insert_at: u16, graph: &Graph) -> u16 {
    while insert_at > 0 && graph.wide_stores.contains(&(insert_at - 1)) {
        insert_at += 1;
    }
    insert_at
}

/// `None` if the descriptor is malformed or they are more than 255.
fn parameter_slots(method: &Method<'_>) -> Option<u16> {
    let mut slots = u16::from(method.access & access::STATIC == 0);
    for parameter in parameters(method.descriptor) {
        slots += if matches!(parameter?, b"J" | b"D") { 2 } else { 1 };
        if slots > 255 {
            return None;
        }
    }
    Some(slots)
}
