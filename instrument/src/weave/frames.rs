//! The StackMapTable (JVMS §4.7.4) of the new code.
//!
//! The injected locals stand at one fixed place among the program's, right after the parameters. A stack map encodes
//! its locals as a change of the map before, so once a map behind the entry has added ours, the program's maps stay as
//! they are but for their distances. Only where a map's locals end before that place must it be written out in full.

use super::body::Body;
use super::layout::{Layout, WIDEST_GAP};
use super::placement::Placement;
use super::pool::NewConstants;
use super::tables::ended;
use crate::classfile::stack_map::{Entry, Frame, StackMapTable, Type, item, kind};
use crate::classfile::{ClassFile, Error, Method};
use crate::flow::{Graph, mark};

/// What a method's frames are made of. Reused from method to method.
#[derive(Debug, Default)]
pub(super) struct Frames<'a> {
    table: Table,
    /// What the original table says at the entry that was read last.
    frame: Frame<'a>,
}

/// The new table as far as it is written.
#[derive(Debug, Default)]
struct Table {
    /// The attribute's content: number of entries, entries. Empty: no attribute is needed.
    out: Vec<u8>,
    count: u16,
    /// Where the last entry is.
    last: Option<u32>,
    /// With [`Layout::keeps_this`], what is in that local.
    kept: Type,
}

/// The method around the frames.
pub(super) struct Around<'f, 'a> {
    pub(super) class: &'f ClassFile<'a>,
    pub(super) method: &'f Method<'a>,
    pub(super) graph: &'f Graph,
    pub(super) body: &'f Body,
    pub(super) placement: &'f Placement,
    pub(super) layout: Layout,
}

/// Whether our locals suit the maps of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suits {
    /// They do.
    Well,
    /// A long or double lies across the place where ours begin.
    NotHere,
    /// Uninitialised `this` is in another local than 0 alone, without anything having been stored to that.
    NotThis,
}

/// Whether uninitialised `this` is anywhere but in local 0, where our handlers have it.
fn has_this_elsewhere(locals: &[Type]) -> bool {
    locals.contains(&Type::UNINITIALIZED_THIS) && locals.first() != Some(&Type::UNINITIALIZED_THIS)
}

/// What is in the local that keeps `this`. In code that nothing leads to, the map alone says whether `this` is
/// initialised (JVMS §4.10.1.2, flagThisUninit).
fn kept(locals: &[Type]) -> Type {
    if locals.contains(&Type::UNINITIALIZED_THIS) { Type::UNINITIALIZED_THIS } else { Type::TOP }
}

impl<'a> Frames<'a> {
    /// The new attribute's content; empty: no attribute is needed.
    pub(super) fn content(&self) -> &[u8] {
        &self.table.out
    }

    /// Makes none.
    pub(super) fn none(&mut self) {
        self.table.out.clear();
    }

    /// Makes the table from the original one, if the layout suits its maps.
    ///
    /// # Errors
    /// A malformed table, or one without a map where a jump lands.
    pub(super) fn rewrite(
        &mut self,
        original: Option<StackMapTable<'a>>,
        around: &Around<'_, 'a>,
        constants: &mut NewConstants,
    ) -> Result<Suits, Error> {
        self.table.clear();
        let mut mapped_pads = 0;
        if let Some(original) = original {
            self.frame.enter(around.class, around.method)?;
            self.table.entry(&self.frame, around, constants);
            let needs_this = around.method.is_constructor() && !around.graph.leaf;
            let mut c = original.cursor();
            let mut bci = None;
            for _ in 0..c.u2()? {
                let before = self.frame.slots();
                let entry = self.frame.read(&mut c, bci)?;
                bci = Some(entry.bci);
                if around.graph.marks.get(entry.bci as usize).is_none_or(|marks| marks & mark::START == 0) {
                    return Err(c.error("a stack map for no instruction"));
                }
                if needs_this && !around.layout.keeps_this() && has_this_elsewhere(&self.frame.locals) {
                    return Ok(Suits::NotThis);
                }
                let full = !self.change_carries_over(&entry, before, around);
                if full && self.frame.straddles(around.layout.insert_at) {
                    // Nothing stores such a value there, so that no control arrives here; but the code is verified, too.
                    return Ok(Suits::NotHere);
                }
                mapped_pads += self.place(&entry, full, around, constants, original)?;
            }
            ended(&c)?;
            if mapped_pads != around.placement.pads.len() {
                return Err(Error::new(around.method.span.0, "no stack map where a jump or exception lands"));
            }
        }
        self.table.handlers(around, constants);
        self.table.finish();
        Ok(Suits::Well)
    }

    /// Whether the frame may be written as the same change of the frame before: if the injected locals lie below
    /// whatever it adds or drops.
    fn change_carries_over(&self, entry: &Entry, slots_before: u16, around: &Around<'_, '_>) -> bool {
        match entry.change {
            // What is kept of `this` changes with its initialisation.
            _ if around.layout.keeps_this() => false,
            0 => entry.kind != kind::FULL,
            1.. => slots_before >= around.layout.insert_at,
            _ => self.frame.slots() >= around.layout.insert_at,
        }
    }

    /// Writes the frame at every position in the new code where it holds: in front of each pad, and where control
    /// arrives. Answers the number of pads.
    fn place(
        &mut self,
        entry: &Entry,
        mut full: bool,
        around: &Around<'_, 'a>,
        constants: &mut NewConstants,
        original: StackMapTable<'a>,
    ) -> Result<usize, Error> {
        let Frames { table, frame } = self;
        let bci = entry.bci as usize;
        if around.layout.keeps_this() {
            table.kept = kept(&frame.locals);
        }
        let mut change = entry.change;
        let pads = match around.graph.marks[bci] & mark::LEADER {
            0 => 0..0,
            _ => around.placement.pads_before(around.graph.block_at(entry.bci)),
        };
        let number = pads.len();
        for pad in &around.placement.pads[pads] {
            if let Some(to) = pad.detour {
                let mut detour = Frame::default();
                detour.go_to(around.graph.blocks[to as usize].start, original, around.class, around.method)?;
                let here = std::mem::replace(&mut table.kept, kept(&detour.locals));
                table.full(pad.position, &detour, around, constants);
                table.kept = here;
                full = true; // the next frame must not build on this one
                continue;
            }
            table.write(frame, change, pad.position, full, around, constants);
            // Behind it, the same locals again.
            (change, full) = (0, false);
        }
        table.write(frame, change, around.body.arrival[bci], full, around, constants);
        Ok(number)
    }
}

impl Table {
    fn clear(&mut self) {
        self.out.clear();
        self.out.extend_from_slice(&[0, 0]);
        self.count = 0;
        self.last = None;
    }

    fn finish(&mut self) {
        self.out[..2].copy_from_slice(&self.count.to_be_bytes());
        if self.count == 0 {
            self.out.clear();
        }
    }

    /// The frames that add our locals to those at the method's start: of the gap up to them at the very start, of
    /// themselves behind the entry.
    fn entry(&mut self, frame: &Frame<'_>, around: &Around<'_, '_>, constants: &mut NewConstants) {
        let gap = around.layout.insert_at - around.layout.parameter_slots;
        let in_full = gap > WIDEST_GAP || around.layout.keeps_this();
        if gap > 0 && !in_full {
            self.begin(0, kind::SAME_EXTENDED + gap as u8);
            self.out.extend(std::iter::repeat_n(item::TOP, gap as usize));
        }
        match around.layout.shift {
            0 => {}
            _ if in_full => {
                self.kept = Type::UNINITIALIZED_THIS;
                self.full(around.body.entry_end, frame, around, constants);
            }
            2 => {
                self.begin(around.body.entry_end, kind::SAME_EXTENDED + 1);
                self.out.push(item::LONG);
            }
            _ => {
                self.begin(around.body.entry_end, kind::SAME_EXTENDED + 3);
                self.out.extend_from_slice(&[item::LONG, item::LONG, item::INTEGER]);
            }
        }
    }

    /// The frames of the injected handlers: nothing is known but our own locals, and in a constructor `this`.
    fn handlers(&mut self, around: &Around<'_, '_>, constants: &mut NewConstants) {
        for (uninitialised, position) in around.body.handlers.iter().enumerate() {
            let Some(position) = *position else { continue };
            let (uninitialised, kept) = (uninitialised == 1, around.layout.keeps_this());
            let below = around.layout.insert_at;
            self.begin(position, kind::FULL);
            self.out.extend_from_slice(&(below + 3 + u16::from(uninitialised && kept)).to_be_bytes());
            for slot in 0..below {
                self.out.push(if uninitialised && !kept && slot == 0 { item::UNINITIALIZED_THIS } else { item::TOP });
            }
            self.out.extend_from_slice(&[item::LONG, item::LONG, item::INTEGER]);
            if uninitialised && kept {
                self.out.push(item::UNINITIALIZED_THIS);
            }
            let [high, low] = constants.throwable().to_be_bytes();
            self.out.extend_from_slice(&[0, 1, item::OBJECT, high, low]);
        }
    }

    /// A frame of the program's: in full, or as a change of the one before.
    fn write(
        &mut self,
        frame: &Frame<'_>,
        change: i8,
        position: u32,
        full: bool,
        around: &Around<'_, '_>,
        constants: &mut NewConstants,
    ) {
        match (&frame.stack[..], change) {
            _ if full => self.full(position, frame, around, constants),
            ([], 0) => self.short(position, 0, kind::SAME_EXTENDED),
            (&[top], 0) => {
                self.short(position, kind::SAME_LOCALS_1, kind::SAME_LOCALS_1_EXTENDED);
                self.put(top, frame, around, constants);
            }
            (_, 0) => self.full(position, frame, around, constants),
            _ => {
                self.begin(position, (i16::from(kind::SAME_EXTENDED) + i16::from(change)) as u8);
                let added = change.max(0) as usize;
                for &local in &frame.locals[frame.locals.len() - added..] {
                    self.put(local, frame, around, constants);
                }
            }
        }
    }

    fn full(&mut self, position: u32, frame: &Frame<'_>, around: &Around<'_, '_>, constants: &mut NewConstants) {
        let ours: &[Type] = match around.layout.shift {
            0 => &[],
            2 => &[Type::LONG],
            6 => &[Type::LONG, Type::LONG, Type::INTEGER, self.kept],
            _ => &[Type::LONG, Type::LONG, Type::INTEGER],
        };
        self.begin(position, kind::FULL);
        let count_at = self.out.len();
        self.out.extend_from_slice(&[0, 0]);
        let (mut count, mut slot) = (0u16, 0u16);
        let mut rest = frame.locals.iter();
        while slot < around.layout.insert_at {
            let local = rest.next().copied().unwrap_or(Type::TOP);
            self.put(local, frame, around, constants);
            (count, slot) = (count + 1, slot + local.slots());
        }
        for &local in ours.iter().chain(rest) {
            self.put(local, frame, around, constants);
            count += 1;
        }
        self.out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
        self.out.extend_from_slice(&(frame.stack.len() as u16).to_be_bytes());
        for &operand in &frame.stack {
            self.put(operand, frame, around, constants);
        }
    }

    /// A frame without change of locals: `small` + distance in one byte, or `extended` and two bytes.
    fn short(&mut self, position: u32, small: u8, extended: u8) {
        let delta = self.delta(position);
        if delta <= 63 {
            self.out.push(small + delta as u8);
        } else {
            self.out.push(extended);
            self.out.extend_from_slice(&delta.to_be_bytes());
        }
    }

    fn begin(&mut self, position: u32, kind: u8) {
        let delta = self.delta(position);
        self.out.push(kind);
        self.out.extend_from_slice(&delta.to_be_bytes());
    }

    fn delta(&mut self, position: u32) -> u16 {
        let delta = self.last.map_or(position, |last| position.wrapping_sub(last + 1));
        self.last = Some(position);
        self.count += 1;
        delta as u16
    }

    fn put(&mut self, local: Type, frame: &Frame<'_>, around: &Around<'_, '_>, constants: &mut NewConstants) {
        let (tag, data) = match local.tag {
            item::OBJECT => (item::OBJECT, local.data),
            item::UNINITIALIZED => {
                let moved = around.body.instruction.get(local.data as usize).map_or(0, |&at| at as u16);
                (item::UNINITIALIZED, moved)
            }
            item::PARAMETER => (item::OBJECT, constants.class(frame.parameters[local.data as usize])),
            tag => return self.out.push(tag),
        };
        self.out.push(tag);
        self.out.extend_from_slice(&data.to_be_bytes());
    }
}
