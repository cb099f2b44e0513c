//! Which instructions may throw, or run code of other methods.
//!
//! An instruction that can do neither needs no id for precise exceptions, and a method made of such instructions only
//! is a leaf: nothing can ask for its context. So the answer "no" has to be certain, resolution and class
//! initialisation included (JVMS §5.4.3, §5.5).

use super::Context;
use super::stack::Stack;
use crate::classfile::instructions::{Instruction, Instructions};
use crate::classfile::opcode::{COUNT, op};
use crate::classfile::{Error, MemberRef, tag};

/// Whether an instruction may throw or run other code, as far as its opcode says.
#[derive(Clone, Copy)]
enum Throws {
    Never,
    Depends,
    Always,
}

/// By opcode: most instructions need no closer look.
const THROWS: [Throws; 256] = {
    let mut throws = [Throws::Never; 256];
    let mut opcode = 0;
    while opcode < COUNT {
        throws[opcode] = match opcode as u8 {
            op::LDC..=op::LDC2_W | op::IDIV | op::LDIV | op::IREM | op::LREM | op::GETSTATIC..=op::PUTFIELD => Throws::Depends,
            op::IALOAD..=op::SALOAD
            | op::IASTORE..=op::SASTORE
            | op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC
            | op::NEW..=op::ATHROW
            | op::CHECKCAST..=op::MONITOREXIT
            | op::MULTIANEWARRAY => Throws::Always,
            _ => Throws::Never,
        };
        opcode += 1;
    }
    throws
};

/// What is known before an instruction, from the instructions before it in its block.
#[derive(Debug)]
pub(super) struct Before<'a> {
    code: &'a [u8],
    /// Where the instruction before is. (To keep all of it takes longer than it takes to read it where that is asked.)
    previous: Option<u32>,
    stack: Stack,
}

impl<'a> Before<'a> {
    /// For the instructions of this code.
    pub(super) fn new(code: &'a [u8]) -> Self {
        Self { code, previous: None, stack: Stack::default() }
    }

    /// Nothing is known where a block begins.
    pub(super) fn block_start(&mut self) {
        self.previous = None;
        self.stack.clear();
    }

    /// Answers whether `i` may throw or run other code, and moves behind it.
    pub(super) fn step(&mut self, context: &Context<'_, '_>, i: Instruction<'a>) -> Result<bool, Error> {
        let member = match i.opcode {
            op::GETSTATIC..=op::PUTFIELD => Some(context.class.pool.member(i.u2())?),
            // Whatever it names, it may throw.
            op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC if context.follow_this => Some(context.class.pool.member(i.u2())?),
            _ => None,
        };
        let throws = match THROWS[i.opcode as usize] {
            Throws::Never => false,
            Throws::Always => true,
            Throws::Depends => self.may_throw(context, &i, member.as_ref())?,
        };
        if context.follow_this {
            self.stack.apply(&i, member.as_ref());
        }
        self.previous = Some(i.bci);
        Ok(throws)
    }

    /// For those of which the opcode does not say it.
    fn may_throw(&self, context: &Context<'_, '_>, i: &Instruction<'_>, member: Option<&MemberRef<'_>>) -> Result<bool, Error> {
        // A field that this very class declares, named through it: resolving it loads nothing and finds it. (Another constant of
        // the same name is another class where this one is hidden.)
        let own = |is_static| {
            let class = context.class;
            member.is_some_and(|field| field.class_index == class.this_index && class.declares(field, is_static))
        };
        Ok(match i.opcode {
            op::LDC | op::LDC_W | op::LDC2_W => {
                let tag = context.class.pool.tag(i.ldc_index())?;
                !matches!(tag, tag::INTEGER | tag::FLOAT | tag::STRING | tag::LONG | tag::DOUBLE)
            }
            op::IDIV | op::LDIV | op::IREM | op::LREM => !self.divides_by_constant(context)?,
            // (A field inherited from an interface would initialise that, JLS §12.4.1.)
            op::GETSTATIC | op::PUTSTATIC => !(context.initialised && own(true)),
            op::GETFIELD => !(self.stack.is_this(0) && own(false)),
            op::PUTFIELD => {
                let value = match member.map(|field| field.descriptor) {
                    Some(b"J" | b"D") => 2,
                    _ => 1,
                };
                !(self.stack.is_this(value) && own(false))
            }
            _ => true,
        })
    }

    /// The divisor is a constant other than zero, pushed just before.
    fn divides_by_constant(&self, context: &Context<'_, '_>) -> Result<bool, Error> {
        let previous = self.previous.and_then(|bci| Instructions::from(self.code, bci, 0).next());
        let Some(i) = previous.transpose()? else { return Ok(false) };
        Ok(match i.opcode {
            op::ICONST_M1 | op::ICONST_1..=op::ICONST_5 | op::LCONST_1 => true,
            op::BIPUSH => i.bytes[1] != 0,
            op::SIPUSH => i.u2() != 0,
            op::LDC | op::LDC_W if context.class.pool.tag(i.ldc_index())? == tag::INTEGER => {
                context.class.pool.integer(i.ldc_index())? != 0
            }
            _ => false,
        })
    }
}
