//! Which instructions may throw, or run code of other methods.
//!
//! An instruction that can do neither needs no id for precise exceptions, and a method made of such instructions only
//! is a leaf: nothing can ask for its context. So the answer "no" has to be certain, resolution and class
//! initialisation included (JVMS §5.4.3, §5.5).

use super::Context;
use crate::classfile::instructions::Instruction;
use crate::classfile::opcode::op;
use crate::classfile::{Error, tag};

/// The two instructions before the present one, within its block.
#[derive(Debug, Default)]
pub(super) struct Recent<'a> {
    previous: Option<Instruction<'a>>,
    before: Option<Instruction<'a>>,
}

impl<'a> Recent<'a> {
    pub(super) fn push(&mut self, i: Instruction<'a>) {
        self.before = self.previous.replace(i);
    }
}

/// Whether `i` may throw or run other code.
pub(super) fn may_throw(context: &Context<'_, '_>, i: &Instruction<'_>, recent: &Recent<'_>) -> Result<bool, Error> {
    Ok(match i.opcode {
        op::LDC | op::LDC_W | op::LDC2_W => {
            let tag = context.class.pool.tag(i.ldc_index())?;
            !matches!(tag, tag::INTEGER | tag::FLOAT | tag::STRING | tag::LONG | tag::DOUBLE)
        }
        op::IDIV | op::LDIV | op::IREM | op::LREM => !divides_by_constant(context, recent)?,
        // The class of a running method is initialised, or being initialised by this thread.
        op::GETSTATIC | op::PUTSTATIC => !names_own_class(context, i)?,
        op::GETFIELD => !(loads_this(context, recent.previous.as_ref()) && names_own_class(context, i)?),
        op::PUTFIELD => {
            let on_this = recent.previous.as_ref().is_some_and(pushes_plainly)
                && loads_this(context, recent.before.as_ref())
                && names_own_class(context, i)?;
            !on_this
        }
        op::IALOAD..=op::SALOAD
        | op::IASTORE..=op::SASTORE
        | op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC
        | op::NEW..=op::ATHROW
        | op::CHECKCAST..=op::MONITOREXIT
        | op::MULTIANEWARRAY => true,
        _ => false,
    })
}

fn loads_this(context: &Context<'_, '_>, i: Option<&Instruction<'_>>) -> bool {
    context.this_in_0 && i.is_some_and(|i| i.opcode == op::ALOAD_0)
}

/// A field of this very class: named through it, so that resolving it loads nothing.
fn names_own_class(context: &Context<'_, '_>, i: &Instruction<'_>) -> Result<bool, Error> {
    let field = context.class.pool.member(i.u2())?;
    Ok(field.class_index == context.class.this_index || field.class == context.class.name())
}

/// Pushes one value and does nothing else, so that what was on the stack lies just below it.
fn pushes_plainly(i: &Instruction<'_>) -> bool {
    matches!(i.opcode, op::ACONST_NULL..=op::SIPUSH | op::ILOAD..=op::ALOAD_3)
}

/// The divisor is a constant other than zero, pushed just before.
fn divides_by_constant(context: &Context<'_, '_>, recent: &Recent<'_>) -> Result<bool, Error> {
    let Some(i) = &recent.previous else { return Ok(false) };
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
