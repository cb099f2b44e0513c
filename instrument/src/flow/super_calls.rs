//! A constructor's calls of `super(...)` or `this(...)`: each `<init>` of the own class or the superclass whose receiver
//! is the `this` that is not yet initialised (JVMS §4.10.1.9, invokespecial).

use super::stack::Stack;
use super::{is_own_or_super, mark};
use crate::classfile::instructions::{Instruction, Instructions};
use crate::classfile::opcode::op;
use crate::classfile::{ClassFile, Code, Error, descriptor};

/// Where `this` is, as long as it is not initialised.
#[derive(Debug, Clone, Default)]
struct Places {
    stack: Stack,
    locals: Vec<u16>,
}

impl Places {
    fn at_entry() -> Self {
        Self { stack: Stack::default(), locals: vec![0] }
    }

    /// On arrival in an exception handler, from code with these places.
    fn at_handler(&self) -> Self {
        let mut stack = Stack::default();
        stack.push_one(false);
        Self { stack, locals: self.locals.clone() }
    }

    fn apply(&mut self, class: &ClassFile<'_>, i: &Instruction<'_>) -> Result<(), Error> {
        match (i.opcode, i.local()) {
            (op::ALOAD | op::ALOAD_0..=op::ALOAD_3, Some(local)) => {
                self.stack.push_one(self.locals.contains(&local));
                return Ok(());
            }
            (op::ASTORE | op::ASTORE_0..=op::ASTORE_3, Some(local)) => {
                self.locals.retain(|&holder| holder != local);
                if self.stack.is_this(0) {
                    self.locals.push(local);
                }
            }
            _ => {}
        }
        let member = match i.opcode {
            op::GETSTATIC..=op::INVOKEDYNAMIC => Some(class.pool.member(i.u2())?),
            _ => None,
        };
        self.stack.apply(i, member.as_ref());
        Ok(())
    }
}

/// Marks the calls, and what follows them as leaders. Only one path to an instruction is followed: where two meet, `this` is
/// where both have it, or it cannot be used any more (JVMS §4.10.1.2).
///
/// # Errors
/// Constants that cannot be read. Jumps and handlers lead into the code already.
pub(super) fn mark_along_paths(class: &ClassFile<'_>, code: &Code<'_>, marks: &mut [u8]) -> Result<(), Error> {
    let mut seen = vec![false; code.bytes.len()];
    let mut handlers: Vec<_> = code.handlers().collect();
    let mut ahead = vec![(0, Places::at_entry())];
    while let Some((start, mut places)) = ahead.pop() {
        if marks[start as usize] & mark::START == 0 {
            continue; // malformed; found later, with the blocks
        }
        for instruction in Instructions::from(code.bytes, start, code.at) {
            let i = instruction?;
            if std::mem::replace(&mut seen[i.bci as usize], true) {
                break;
            }
            handlers.retain(|handler| {
                let covers = (u32::from(handler.start)..u32::from(handler.end)).contains(&i.bci);
                if covers {
                    ahead.push((u32::from(handler.target), places.at_handler()));
                }
                !covers
            });
            if calls_super(class, &i, &places.stack)? {
                marks[i.bci as usize] |= mark::SUPER_CALL;
                marks[i.bci as usize + i.bytes.len()] |= mark::LEADER;
                break;
            }
            let is_call = matches!(i.opcode, op::JSR | op::JSR_W);
            if is_call {
                // Back from the subroutine; no compiler lets one change where `this` is.
                ahead.push((i.bci + i.bytes.len() as u32, places.clone()));
            }
            places.apply(class, &i)?;
            ahead.extend(i.jump_target().into_iter().chain(i.switch_targets()).map(|target| (target as u32, places.clone())));
            if i.is_unconditional() || is_call {
                break;
            }
        }
    }
    Ok(())
}

fn calls_super(class: &ClassFile<'_>, i: &Instruction<'_>, stack: &Stack) -> Result<bool, Error> {
    if i.opcode != op::INVOKESPECIAL {
        return Ok(false);
    }
    let callee = class.pool.member(i.u2())?;
    let arguments = descriptor::slots(callee.descriptor).map_or(0, |(arguments, _)| arguments);
    Ok(callee.name == b"<init>" && is_own_or_super(class, callee.class) && stack.is_this(arguments))
}
