//! Walking the instructions of a method (JVMS §4.7.3, §6.5).

use super::cursor::Error;
use super::opcode::{LENGTH, op};

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// Bytecode index.
    pub bci: u32,
    /// Opcode; for a `wide` instruction, that of the instruction it widens.
    pub opcode: u8,
    /// All its bytes, the opcode (or `wide`) first.
    pub bytes: &'a [u8],
}

impl<'a> Instruction<'a> {
    /// Whether `wide` precedes the instruction.
    pub fn is_wide(&self) -> bool {
        self.bytes[0] == op::WIDE
    }

    /// The u2 operand at byte 1: a constant pool index, for the instructions that have one there.
    pub fn u2(&self) -> u16 {
        u16::from_be_bytes([self.bytes[1], self.bytes[2]])
    }

    /// The local variable that a load, store, iinc or ret names; for other instructions `None`.
    pub fn local(&self) -> Option<u16> {
        match self.opcode {
            op::ILOAD..=op::ALOAD | op::ISTORE..=op::ASTORE | op::IINC | op::RET => {
                Some(if self.is_wide() { u16::from_be_bytes([self.bytes[2], self.bytes[3]]) } else { u16::from(self.bytes[1]) })
            }
            op::ILOAD_0..=op::ALOAD_3 => Some(u16::from((self.opcode - op::ILOAD_0) % 4)),
            op::ISTORE_0..=op::ASTORE_3 => Some(u16::from((self.opcode - op::ISTORE_0) % 4)),
            _ => None,
        }
    }

    /// The constant pool index of ldc, ldc_w, ldc2_w.
    pub fn ldc_index(&self) -> u16 {
        if self.opcode == op::LDC { u16::from(self.bytes[1]) } else { self.u2() }
    }

    /// The bytecode index that a jump leads to; for other instructions `None`. Not checked against the code.
    pub fn jump_target(&self) -> Option<i64> {
        let offset = match self.opcode {
            op::IFEQ..=op::JSR | op::IFNULL | op::IFNONNULL => i64::from(self.u2() as i16),
            op::GOTO_W | op::JSR_W => i64::from(i32::from_be_bytes([self.bytes[1], self.bytes[2], self.bytes[3], self.bytes[4]])),
            _ => return None,
        };
        Some(i64::from(self.bci) + offset)
    }

    /// The operands of a switch, without the padding.
    pub fn operands_of_switch(&self) -> &'a [u8] {
        &self.bytes[1 + padding(self.bci)..]
    }

    /// Where in its operands a switch has its jump offsets, in the order of [`Self::switch_targets`].
    pub fn switch_offsets(&self) -> impl Iterator<Item = usize> + use<'a> {
        let step = if self.opcode == op::TABLESWITCH { 4 } else { 8 };
        let end = self.operands_of_switch().len();
        std::iter::once(0).chain((12..end).step_by(step))
    }

    /// The targets of a switch, the default first; empty for other instructions. Not checked against the code.
    pub fn switch_targets(&self) -> impl Iterator<Item = i64> + use<'a> {
        let (bytes, first, step): (&[u8], usize, usize) = match self.opcode {
            op::TABLESWITCH => (self.operands_of_switch(), 12, 4),
            op::LOOKUPSWITCH => (self.operands_of_switch(), 12, 8),
            _ => (&[], 0, 4),
        };
        let bci = i64::from(self.bci);
        let word = move |at: usize| bci + i64::from(be_i32(bytes, at));
        let default = (!bytes.is_empty()).then(|| word(0));
        default.into_iter().chain((first..bytes.len()).step_by(step).map(word))
    }

    /// Whether control never reaches the following instruction from here, save as a jump or return target.
    pub fn is_unconditional(&self) -> bool {
        matches!(self.opcode, op::GOTO | op::GOTO_W | op::JSR | op::JSR_W | op::RET | op::TABLESWITCH..=op::RETURN | op::ATHROW)
    }

    /// Whether it is a two-way branch.
    pub fn is_conditional(&self) -> bool {
        matches!(self.opcode, op::IFEQ..=op::IF_ACMPNE | op::IFNULL | op::IFNONNULL)
    }

    /// Whether it is one of the six return instructions.
    pub fn is_return(&self) -> bool {
        matches!(self.opcode, op::IRETURN..=op::RETURN)
    }

    /// Whether it is one of the five invoke instructions.
    pub fn is_invoke(&self) -> bool {
        matches!(self.opcode, op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC)
    }
}

/// Number of zero bytes between a switch's opcode at `bci` and its operands.
pub fn padding(bci: u32) -> usize {
    3 - (bci as usize & 3)
}

fn be_i32(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// An iterator over the instructions of a method; stops at the first that is malformed, with the error.
#[derive(Debug, Clone)]
pub struct Instructions<'a> {
    code: &'a [u8],
    bci: usize,
    origin: usize,
}

impl<'a> Instructions<'a> {
    /// `code` is the instructions' bytes, `origin` their offset in the class file (for errors).
    pub fn new(code: &'a [u8], origin: usize) -> Self {
        Self { code, bci: 0, origin }
    }

    /// As [`Instructions::new`], beginning with the instruction at `bci`.
    pub fn from(code: &'a [u8], bci: u32, origin: usize) -> Self {
        Self { code, bci: bci as usize, origin }
    }

    #[inline]
    fn length(&self) -> Result<usize, Error> {
        let rest = &self.code[self.bci..];
        match LENGTH.get(rest[0] as usize) {
            Some(&length) if length != 0 && length as usize <= rest.len() => Ok(length as usize),
            _ => self.odd_length(),
        }
    }

    /// The length of a switch, a `wide` instruction, or what is none.
    #[cold]
    fn odd_length(&self) -> Result<usize, Error> {
        let rest = &self.code[self.bci..];
        let fail = |what| Err(Error::new(self.origin + self.bci, what));
        let length = match rest[0] {
            op::TABLESWITCH | op::LOOKUPSWITCH => {
                let start = 1 + padding(self.bci as u32);
                let fixed = if rest[0] == op::TABLESWITCH { 12 } else { 8 };
                if rest.len() < start + fixed {
                    return fail("a switch cut short");
                }
                let operands = &rest[start..];
                let words = if rest[0] == op::TABLESWITCH {
                    let (low, high) = (i64::from(be_i32(operands, 4)), i64::from(be_i32(operands, 8)));
                    if low > high {
                        return fail("a tableswitch whose low is above its high");
                    }
                    3 + high - low + 1
                } else {
                    let pairs = i64::from(be_i32(operands, 4));
                    if pairs < 0 {
                        return fail("a lookupswitch with a negative number of pairs");
                    }
                    2 + 2 * pairs
                };
                if words > 65535 {
                    return fail("a switch longer than a method");
                }
                start + 4 * words as usize
            }
            op::WIDE => match rest.get(1) {
                Some(&op::IINC) => 6,
                Some(&(op::ILOAD..=op::ALOAD | op::ISTORE..=op::ASTORE | op::RET)) => 4,
                _ => return fail("wide before an instruction that cannot be widened"),
            },
            opcode => match LENGTH.get(opcode as usize) {
                Some(&length) => length as usize,
                None => return fail("unknown opcode"),
            },
        };
        if length > rest.len() { fail("an instruction cut short") } else { Ok(length) }
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.bci >= self.code.len() {
            return None;
        }
        match self.length() {
            Ok(length) => {
                let bytes = &self.code[self.bci..self.bci + length];
                let opcode = if bytes[0] == op::WIDE { bytes[1] } else { bytes[0] };
                let instruction = Instruction { bci: self.bci as u32, opcode, bytes };
                self.bci += length;
                Some(Ok(instruction))
            }
            Err(error) => {
                self.bci = self.code.len();
                Some(Err(error))
            }
        }
    }
}
