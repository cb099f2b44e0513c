//! The StackMapTable (JVMS §4.7.4) of the new code.
//!
//! The injected locals stand at one fixed place among the program's, right after the parameters. A stack map encodes
//! its locals as a change of the map before, so once a map behind the entry has added ours, the program's maps stay as
//! they are but for their distances. Only where a map's locals end before that place must it be written out in full.

use super::body::Body;
use super::layout::{Layout, WIDEST_GAP};
use super::placement::Placement;
use super::pool::NewConstants;
use crate::classfile::descriptor::parameters;
use crate::classfile::{ClassFile, Code, Cursor, Error, Method, access};
use crate::flow::{Graph, mark};

/// Verification types (JVMS §4.7.4).
mod item {
    pub(super) const TOP: u8 = 0;
    pub(super) const INTEGER: u8 = 1;
    pub(super) const FLOAT: u8 = 2;
    pub(super) const DOUBLE: u8 = 3;
    pub(super) const LONG: u8 = 4;
    pub(super) const NULL: u8 = 5;
    pub(super) const UNINITIALIZED_THIS: u8 = 6;
    pub(super) const OBJECT: u8 = 7;
    pub(super) const UNINITIALIZED: u8 = 8;
    /// Ours: the class of a parameter, which may have no constant in the pool yet; the data is its number.
    pub(super) const PARAMETER: u8 = 255;
}

/// A verification type: its tag, and a pool index, bytecode index or parameter number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Type {
    tag: u8,
    data: u16,
}

impl Type {
    const TOP: Self = Self { tag: item::TOP, data: 0 };
    const INTEGER: Self = Self { tag: item::INTEGER, data: 0 };
    const LONG: Self = Self { tag: item::LONG, data: 0 };
    const UNINITIALIZED_THIS: Self = Self { tag: item::UNINITIALIZED_THIS, data: 0 };

    fn slots(self) -> u16 {
        if matches!(self.tag, item::LONG | item::DOUBLE) { 2 } else { 1 }
    }
}

/// What a method's frames are made of. Reused from method to method.
#[derive(Debug, Default)]
pub(super) struct Frames<'a> {
    /// The new attribute's content: number of entries, entries. Empty: no attribute is needed.
    pub(super) out: Vec<u8>,
    locals: Vec<Type>,
    stack: Vec<Type>,
    parameters: Vec<&'a [u8]>,
    /// With [`Layout::keeps_this`], what is in that local.
    kept: Type,
    count: u16,
    last: Option<u32>,
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

/// An entry of the original table.
struct Entry {
    kind: u8,
    bci: u32,
    /// Locals added (positive), or dropped (negative); for a full frame, 0.
    change: i8,
}

const SAME_LOCALS_1: u8 = 64;
const SAME_LOCALS_1_EXTENDED: u8 = 247;
const SAME_EXTENDED: u8 = 251;
const FULL: u8 = 255;

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

/// What is in the local that keeps `this`. In code that nothing leads to, the map alone says whether `this` is initialised (JVMS §4.10.1.2,
/// flagThisUninit).
fn kept(locals: &[Type]) -> Type {
    if locals.contains(&Type::UNINITIALIZED_THIS) { Type::UNINITIALIZED_THIS } else { Type::TOP }
}

impl<'a> Frames<'a> {
    /// Makes the table from the original one (its content, and its offset in the file), if the layout suits its maps.
    ///
    /// # Errors
    /// A malformed table, or one without a map where a jump lands.
    pub(super) fn rewrite(
        &mut self,
        original: Option<(usize, &[u8])>,
        around: &Around<'_, 'a>,
        constants: &mut NewConstants,
    ) -> Result<Suits, Error> {
        self.out.clear();
        self.out.extend_from_slice(&[0, 0]);
        self.count = 0;
        self.last = None;
        let mut mapped_pads = 0;
        if let Some((at, content)) = original {
            self.initial_locals(around)?;
            self.entry_frames(around, constants);
            let needs_this = around.method.is_constructor() && !around.graph.leaf;
            let mut c = Cursor::part(content, at);
            let mut bci = None;
            for _ in 0..c.u2()? {
                let before = slots(&self.locals);
                let entry = self.read(&mut c, bci)?;
                bci = Some(entry.bci);
                self.check(around, &c, entry.bci)?;
                if needs_this && !around.layout.keeps_this() && has_this_elsewhere(&self.locals) {
                    return Ok(Suits::NotThis);
                }
                let full = !self.change_carries_over(&entry, before, around);
                if full && straddles(&self.locals, around.layout.insert_at) {
                    // Nothing stores such a value there, so that no control arrives here; but the code is verified, too.
                    return Ok(Suits::NotHere);
                }
                mapped_pads += self.place(&entry, full, around, constants, content, at)?;
            }
        }
        if original.is_some() && mapped_pads != around.placement.pads.len() {
            return Err(Error::new(around.method.span.0, "no stack map where a jump or exception lands"));
        }
        self.handler_frames(around, constants);
        let count = self.count.to_be_bytes();
        self.out[..2].copy_from_slice(&count);
        if self.count == 0 {
            self.out.clear();
        }
        Ok(Suits::Well)
    }

    fn check(&self, around: &Around<'_, '_>, c: &Cursor<'_>, bci: u32) -> Result<(), Error> {
        match around.graph.marks.get(bci as usize) {
            Some(marks) if marks & mark::START != 0 => Ok(()),
            _ => Err(c.error("a stack map for no instruction")),
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
        content: &[u8],
        at: usize,
    ) -> Result<usize, Error> {
        let bci = entry.bci as usize;
        let arrival = around.body.arrival[bci];
        let mut first = true;
        if around.layout.keeps_this() {
            self.kept = kept(&self.locals);
        }
        let mut pads = 0..0;
        if around.graph.marks[bci] & mark::LEADER != 0 {
            pads = around.placement.pads_before(around.graph.block_at(entry.bci));
        }
        let number = pads.len();
        for pad in &around.placement.pads[pads] {
            if let Some(to) = pad.detour {
                let mut detour = Frames { parameters: self.parameters.clone(), ..Frames::default() };
                detour.read_at(around.graph.blocks[to as usize].start, content, at, around)?;
                let here = std::mem::replace(&mut self.kept, kept(&detour.locals));
                self.full(pad.position, &detour.locals, &detour.stack, around, constants);
                self.kept = here;
                full = true; // the next frame must not build on this one
                continue;
            }
            self.write(entry, pad.position, first, full, around, constants);
            (first, full) = (false, false);
        }
        self.write(entry, arrival, first, full, around, constants);
        Ok(number)
    }

    /// Reads the table up to the frame at a bytecode index, leaving its locals and stack here.
    fn read_at(&mut self, target: u32, content: &[u8], at: usize, around: &Around<'_, 'a>) -> Result<(), Error> {
        self.initial_locals(around)?;
        let mut c = Cursor::part(content, at);
        let mut bci = None;
        for _ in 0..c.u2()? {
            let entry = self.read(&mut c, bci)?;
            if entry.bci == target {
                return Ok(());
            }
            bci = Some(entry.bci);
        }
        Err(c.error("no stack map where a jump lands"))
    }

    /// Whether the frame may be written as the same change of the frame before: if the injected locals lie below
    /// whatever it adds or drops.
    fn change_carries_over(&self, entry: &Entry, slots_before: u16, around: &Around<'_, '_>) -> bool {
        match entry.change {
            // What is kept of `this` changes with its initialisation.
            _ if around.layout.keeps_this() => false,
            0 => entry.kind != FULL,
            1.. => slots_before >= around.layout.insert_at,
            _ => slots(&self.locals) >= around.layout.insert_at,
        }
    }

    fn write(
        &mut self,
        entry: &Entry,
        position: u32,
        first: bool,
        full: bool,
        around: &Around<'_, 'a>,
        constants: &mut NewConstants,
    ) {
        if full {
            let (locals, stack) = (std::mem::take(&mut self.locals), std::mem::take(&mut self.stack));
            self.full(position, &locals, &stack, around, constants);
            (self.locals, self.stack) = (locals, stack);
            return;
        }
        if !first || entry.change == 0 {
            // The same locals as in the frame before.
            match self.stack.len() {
                0 => self.short(position, 0, SAME_EXTENDED),
                1 => {
                    self.short(position, SAME_LOCALS_1, SAME_LOCALS_1_EXTENDED);
                    let top = self.stack[0];
                    self.put(top, around, constants);
                }
                _ => {
                    let (locals, stack) = (std::mem::take(&mut self.locals), std::mem::take(&mut self.stack));
                    self.full(position, &locals, &stack, around, constants);
                    (self.locals, self.stack) = (locals, stack);
                }
            }
            return;
        }
        self.begin(position, (i16::from(SAME_EXTENDED) + i16::from(entry.change)) as u8);
        for k in (0..entry.change.max(0) as usize).rev() {
            let added = self.locals[self.locals.len() - 1 - k];
            self.put(added, around, constants);
        }
    }

    /// The locals at the method's start, from its descriptor (JVMS §4.10.1.6).
    fn initial_locals(&mut self, around: &Around<'_, 'a>) -> Result<(), Error> {
        self.locals.clear();
        self.stack.clear();
        self.parameters.clear();
        let method = around.method;
        if method.access & access::STATIC == 0 {
            let constructor = method.is_constructor() && around.class.super_index != 0;
            self.locals.push(if constructor {
                Type { tag: item::UNINITIALIZED_THIS, data: 0 }
            } else {
                Type { tag: item::OBJECT, data: around.class.this_index }
            });
        }
        for parameter in parameters(method.descriptor) {
            let bytes = parameter.ok_or(Error::new(method.span.0, "a malformed method descriptor"))?;
            let tag = match bytes[0] {
                b'J' => item::LONG,
                b'D' => item::DOUBLE,
                b'F' => item::FLOAT,
                b'L' | b'[' => item::PARAMETER,
                _ => item::INTEGER,
            };
            let data = self.parameters.len() as u16;
            if tag == item::PARAMETER {
                // The name of an array class is its descriptor (JVMS §4.4.1).
                self.parameters.push(if bytes[0] == b'L' { &bytes[1..bytes.len() - 1] } else { bytes });
            }
            self.locals.push(Type { tag, data: if tag == item::PARAMETER { data } else { 0 } });
        }
        Ok(())
    }

    /// The frames that add our locals: of the gap up to them at the very start, of themselves behind the entry.
    fn entry_frames(&mut self, around: &Around<'_, 'a>, constants: &mut NewConstants) {
        let gap = around.layout.insert_at - around.layout.parameter_slots;
        let in_full = gap > WIDEST_GAP || around.layout.keeps_this();
        if gap > 0 && !in_full {
            self.begin(0, SAME_EXTENDED + gap as u8);
            self.out.extend(std::iter::repeat_n(item::TOP, gap as usize));
        }
        match around.layout.shift {
            0 => {}
            _ if in_full => {
                self.kept = Type::UNINITIALIZED_THIS;
                let locals = std::mem::take(&mut self.locals);
                self.full(around.body.entry_end, &locals, &[], around, constants);
                self.locals = locals;
            }
            2 => {
                self.begin(around.body.entry_end, SAME_EXTENDED + 1);
                self.out.push(item::LONG);
            }
            _ => {
                self.begin(around.body.entry_end, SAME_EXTENDED + 3);
                self.out.extend_from_slice(&[item::LONG, item::LONG, item::INTEGER]);
            }
        }
    }

    /// The frames of the injected handlers: nothing is known but our own locals, and in a constructor `this`.
    fn handler_frames(&mut self, around: &Around<'_, '_>, constants: &mut NewConstants) {
        for (uninitialised, position) in around.body.handlers.iter().enumerate() {
            let Some(position) = *position else { continue };
            let (uninitialised, kept) = (uninitialised == 1, around.layout.keeps_this());
            let below = around.layout.insert_at;
            self.begin(position, FULL);
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

    /// Reads one entry, applying it to `locals` and `stack`.
    fn read(&mut self, c: &mut Cursor<'_>, before: Option<u32>) -> Result<Entry, Error> {
        let kind = c.u1()?;
        let delta = match kind {
            0..=63 => u32::from(kind),
            64..=127 => u32::from(kind - SAME_LOCALS_1),
            SAME_LOCALS_1_EXTENDED..=FULL => 0,
            _ => return Err(c.error("an unknown kind of stack map")),
        };
        let delta = if kind >= SAME_LOCALS_1_EXTENDED { u32::from(c.u2()?) } else { delta };
        let bci = before.map_or(delta, |before| before + delta + 1);
        self.stack.clear();
        let mut change = 0;
        match kind {
            64..=127 | SAME_LOCALS_1_EXTENDED => self.stack.push(read_type(c)?),
            248..=250 => {
                change = kind as i8 - SAME_EXTENDED as i8;
                let dropped = SAME_EXTENDED - kind;
                let left = self.locals.len().checked_sub(dropped as usize);
                self.locals.truncate(left.ok_or_else(|| c.error("a stack map that drops more locals than there are"))?);
            }
            252..=254 => {
                change = (kind - SAME_EXTENDED) as i8;
                for _ in 0..change {
                    self.locals.push(read_type(c)?);
                }
            }
            FULL => {
                self.locals.clear();
                for _ in 0..c.u2()? {
                    self.locals.push(read_type(c)?);
                }
                for _ in 0..c.u2()? {
                    self.stack.push(read_type(c)?);
                }
            }
            _ => {}
        }
        Ok(Entry { kind, bci, change })
    }

    fn full(&mut self, position: u32, locals: &[Type], stack: &[Type], around: &Around<'_, 'a>, constants: &mut NewConstants) {
        let ours: &[Type] = match around.layout.shift {
            0 => &[],
            2 => &[Type::LONG],
            6 => &[Type::LONG, Type::LONG, Type::INTEGER, self.kept],
            _ => &[Type::LONG, Type::LONG, Type::INTEGER],
        };
        self.begin(position, FULL);
        let count_at = self.out.len();
        self.out.extend_from_slice(&[0, 0]);
        let (mut count, mut slot) = (0u16, 0u16);
        let mut rest = locals.iter();
        while slot < around.layout.insert_at {
            let local = rest.next().copied().unwrap_or(Type::TOP);
            self.put(local, around, constants);
            (count, slot) = (count + 1, slot + local.slots());
        }
        for local in ours.iter().chain(rest) {
            self.put(*local, around, constants);
            count += 1;
        }
        self.out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
        self.out.extend_from_slice(&(stack.len() as u16).to_be_bytes());
        for operand in stack {
            self.put(*operand, around, constants);
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

    fn put(&mut self, local: Type, around: &Around<'_, 'a>, constants: &mut NewConstants) {
        let data = match local.tag {
            item::OBJECT => local.data,
            item::UNINITIALIZED => around.body.instruction.get(local.data as usize).map_or(0, |&at| at as u16),
            item::PARAMETER => {
                let name = self.parameters[local.data as usize];
                let index = constants.class(name);
                self.out.push(item::OBJECT);
                self.out.extend_from_slice(&index.to_be_bytes());
                return;
            }
            tag => {
                self.out.push(tag);
                return;
            }
        };
        self.out.push(local.tag);
        self.out.extend_from_slice(&data.to_be_bytes());
    }
}

fn read_type(c: &mut Cursor<'_>) -> Result<Type, Error> {
    let tag = c.u1()?;
    let data = match tag {
        item::TOP | item::INTEGER | item::FLOAT | item::DOUBLE | item::LONG | item::NULL | item::UNINITIALIZED_THIS => 0,
        item::OBJECT | item::UNINITIALIZED => c.u2()?,
        _ => return Err(c.error("an unknown verification type")),
    };
    Ok(Type { tag, data })
}

fn slots(locals: &[Type]) -> u16 {
    locals.iter().fold(0, |sum: u16, local| sum.saturating_add(local.slots()))
}

/// Whether a long or double takes the slots on both sides of the boundary.
fn straddles(locals: &[Type], boundary: u16) -> bool {
    let mut slot = 0;
    for local in locals {
        if slot >= boundary {
            break;
        }
        slot += local.slots();
    }
    slot > boundary
}

/// The content of a method's StackMapTable, and where it is in the class file.
pub(super) fn original<'a>(class: &ClassFile<'a>, code: &Code<'a>) -> Option<(usize, &'a [u8])> {
    let mut attributes = code.attributes();
    let found = attributes.find(|&(name, ..)| class.pool.utf8(name).is_ok_and(|name| name == b"StackMapTable"));
    found.map(|(_, at, content)| (at, content))
}

/// Whether a StackMapTable's first entry is for bytecode 0.
pub(super) fn start_at_0(content: &[u8]) -> bool {
    match *content {
        [_, _, 0 | SAME_LOCALS_1, ..] => true,
        [_, _, kind, high, low, ..] if kind >= SAME_LOCALS_1_EXTENDED => high == 0 && low == 0,
        _ => false,
    }
}
