//! The code of a method: instructions, labels, exception table, stack maps.

use super::Pool;
use super::op::{GOTO_W, IINC, JSR_W, LOOKUPSWITCH, TABLESWITCH, WIDE};

/// A place in the code, perhaps not reached yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// A verification type in a stack map (JVMS 4.7.4); longs and doubles are one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Item {
    Top,
    Integer,
    Float,
    Double,
    Long,
    Null,
    UninitializedThis,
    /// Of this class of the constant pool.
    Object(u16),
    /// What the `new` there has made.
    Uninitialized(Label),
}

/// An entry of the stack map: where, what is in the locals, what is on the stack.
#[derive(Debug)]
struct Frame {
    at: usize,
    locals: Vec<Item>,
    stack: Vec<Item>,
}

/// An offset that is written when all labels are placed.
#[derive(Debug)]
struct Jump {
    instruction: usize,
    offset: usize,
    /// In bytes.
    width: usize,
    to: Label,
}

/// A row of the exception table; class 0 is any exception.
#[derive(Debug)]
struct Handler {
    labels: [Label; 3],
    class: u16,
}

/// Code with labels.
#[derive(Debug, Default)]
pub struct Code {
    bytes: Vec<u8>,
    labels: Vec<Option<usize>>,
    jumps: Vec<Jump>,
    handlers: Vec<Handler>,
    frames: Vec<Frame>,
    /// Most slots on the stack.
    pub max_stack: u16,
    /// Slots of locals.
    pub max_locals: u16,
}

impl Code {
    /// No instruction yet.
    pub fn new(max_stack: u16, max_locals: u16) -> Code {
        Code { max_stack, max_locals, ..Code::default() }
    }

    /// Bytes so far.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// A label for a place that comes later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label stands for this place.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.bytes.len());
    }

    /// A label for this place.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    /// Where a label is that was placed.
    fn position(&self, label: Label) -> usize {
        self.labels[label.0].expect("every label is placed")
    }

    /// Whether something was emitted between two places.
    pub fn is_between(&self, from: Label, to: Label) -> bool {
        self.position(from) < self.position(to)
    }

    /// Whether two labels stand for the same place.
    pub fn is_same(&self, one: Label, other: Label) -> bool {
        self.position(one) == self.position(other)
    }

    /// Instructions without labels.
    pub fn emit(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// An instruction with an operand of two bytes.
    pub fn emit_u2(&mut self, opcode: u8, operand: u16) {
        let [high, low] = operand.to_be_bytes();
        self.emit(&[opcode, high, low]);
    }

    /// A load, store or ret in its long form, with `wide` where the local asks for it.
    pub fn local(&mut self, opcode: u8, local: u16) {
        match local.to_be_bytes() {
            [0, low] => self.emit(&[opcode, low]),
            [high, low] => self.emit(&[WIDE, opcode, high, low]),
        }
    }

    /// `iinc`, with `wide` where one of its operands asks for it.
    pub fn increment(&mut self, local: u16, by: i16) {
        match (u8::try_from(local), i8::try_from(by)) {
            (Ok(local), Ok(by)) => self.emit(&[IINC, local, by as u8]),
            _ => {
                let ([a, b], [c, d]) = (local.to_be_bytes(), by.to_be_bytes());
                self.emit(&[WIDE, IINC, a, b, c, d]);
            }
        }
    }

    fn offset(&mut self, instruction: usize, width: usize, to: Label) {
        self.jumps.push(Jump { instruction, offset: self.bytes.len(), width, to });
        self.bytes.resize(self.bytes.len() + width, 0);
    }

    /// A jump.
    pub fn jump(&mut self, opcode: u8, to: Label) {
        let at = self.bytes.len();
        self.bytes.push(opcode);
        self.offset(at, if matches!(opcode, GOTO_W | JSR_W) { 4 } else { 2 }, to);
    }

    /// The opcode of a switch, what aligns it, and its default; answers where it begins.
    fn switch(&mut self, opcode: u8, default: Label) -> usize {
        let at = self.bytes.len();
        self.bytes.push(opcode);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.offset(at, 4, default);
        at
    }

    /// `tableswitch`.
    pub fn table(&mut self, low: i32, targets: &[Label], default: Label) {
        let at = self.switch(TABLESWITCH, default);
        self.emit(&low.to_be_bytes());
        self.emit(&(low + targets.len() as i32 - 1).to_be_bytes());
        for &target in targets {
            self.offset(at, 4, target);
        }
    }

    /// `lookupswitch`; the keys ascend.
    pub fn lookup(&mut self, pairs: &[(i32, Label)], default: Label) {
        let at = self.switch(LOOKUPSWITCH, default);
        self.emit(&(pairs.len() as i32).to_be_bytes());
        for &(key, target) in pairs {
            self.emit(&key.to_be_bytes());
            self.offset(at, 4, target);
        }
    }

    /// A further row of the exception table: start, end, handler; a class of the constant pool, or 0 for any exception.
    pub fn handler(&mut self, labels: [Label; 3], class: u16) {
        self.handlers.push(Handler { labels, class });
    }

    /// An entry of the stack map for this place, instead of one that was there.
    pub fn frame(&mut self, locals: &[Item], stack: &[Item]) {
        let at = self.bytes.len();
        self.frames.retain(|frame| frame.at != at);
        self.frames.push(Frame { at, locals: locals.to_vec(), stack: stack.to_vec() });
    }

    /// What is in the `Code` attribute.
    pub(super) fn attribute(mut self, pool: &mut Pool) -> Vec<u8> {
        let jumps = std::mem::take(&mut self.jumps);
        for Jump { instruction, offset, width, to } in jumps {
            let distance = self.position(to) as i64 - instruction as i64;
            let fits = width == 4 || i16::try_from(distance).is_ok();
            assert!(fits, "a jump over {distance} bytes needs goto_w");
            self.bytes[offset..offset + width].copy_from_slice(&distance.to_be_bytes()[8 - width..]);
        }
        let mut out = Vec::new();
        out.extend(self.max_stack.to_be_bytes());
        out.extend(self.max_locals.to_be_bytes());
        out.extend((self.bytes.len() as u32).to_be_bytes());
        out.extend(&self.bytes);
        out.extend((self.handlers.len() as u16).to_be_bytes());
        for Handler { labels, class } in &self.handlers {
            labels.iter().for_each(|&label| out.extend((self.position(label) as u16).to_be_bytes()));
            out.extend(class.to_be_bytes());
        }
        out.extend(u16::from(!self.frames.is_empty()).to_be_bytes()); // attributes of the code
        if !self.frames.is_empty() {
            let maps = self.stack_map();
            out.extend(pool.utf8("StackMapTable").to_be_bytes());
            out.extend((maps.len() as u32).to_be_bytes());
            out.extend(&maps);
        }
        out
    }

    /// What is in the `StackMapTable` attribute: full frames only.
    fn stack_map(&self) -> Vec<u8> {
        const FULL: u8 = 255;
        let mut out = (self.frames.len() as u16).to_be_bytes().to_vec();
        let mut next = 0;
        for frame in &self.frames {
            out.push(FULL);
            out.extend(((frame.at - next) as u16).to_be_bytes());
            for items in [&frame.locals, &frame.stack] {
                out.extend((items.len() as u16).to_be_bytes());
                items.iter().for_each(|&item| self.item(item, &mut out));
            }
            next = frame.at + 1;
        }
        out
    }

    fn item(&self, item: Item, out: &mut Vec<u8>) {
        let (tag, operand) = match item {
            Item::Top => (0, None),
            Item::Integer => (1, None),
            Item::Float => (2, None),
            Item::Double => (3, None),
            Item::Long => (4, None),
            Item::Null => (5, None),
            Item::UninitializedThis => (6, None),
            Item::Object(class) => (7, Some(class)),
            Item::Uninitialized(new) => (8, Some(self.position(new) as u16)),
        };
        out.push(tag);
        operand.iter().for_each(|operand| out.extend(operand.to_be_bytes()));
    }
}
