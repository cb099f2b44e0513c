//! Where on the operand stack `this` is: within a block, for field accesses that cannot meet a null, and from a
//! constructor's entry to its call of `super(...)`.

use crate::classfile::instructions::Instruction;
use crate::classfile::opcode::op;
use crate::classfile::{MemberRef, descriptor};

/// The operand stack slots pushed since the block, or path, began; true: `this`.
#[derive(Debug, Clone, Default)]
pub(super) struct Stack {
    slots: Vec<bool>,
}

impl Stack {
    pub(super) fn clear(&mut self) {
        self.slots.clear();
    }

    /// Whether `this` is in the slot with so many above it.
    pub(super) fn is_this(&self, above: usize) -> bool {
        self.slots.len() > above && self.slots[self.slots.len() - 1 - above]
    }

    /// Pops; what lies below the block's first push is not `this` as far as anybody knows.
    fn pop(&mut self, slots: usize) {
        self.slots.truncate(self.slots.len().saturating_sub(slots));
    }

    /// Pushes one slot.
    pub(super) fn push_one(&mut self, is_this: bool) {
        self.slots.push(is_this);
    }

    fn push(&mut self, slots: usize) {
        self.slots.resize(self.slots.len() + slots, false);
    }

    /// Inserts a copy of the top `count` slots below the `below` slots under them (JVMS dup, dup_x1 …).
    fn duplicate(&mut self, count: usize, below: usize) {
        let missing = (count + below).saturating_sub(self.slots.len());
        self.slots.splice(0..0, std::iter::repeat_n(false, missing));
        let length = self.slots.len();
        let top: [bool; 2] = [self.slots[length - count], self.slots[length - 1]];
        let at = length - count - below;
        self.slots.splice(at..at, top[2 - count.min(2)..].iter().copied().take(count));
    }

    /// The effect of an instruction; `member` is what a field access or invoke names.
    pub(super) fn apply(&mut self, i: &Instruction<'_>, member: Option<&MemberRef<'_>>) {
        match i.opcode {
            op::ALOAD_0 => self.slots.push(true),
            op::ALOAD => self.slots.push(i.local() == Some(0)),
            op::DUP => self.duplicate(1, 0),
            op::DUP_X1 => self.duplicate(1, 1),
            op::DUP_X2 => self.duplicate(1, 2),
            op::DUP2 => self.duplicate(2, 0),
            op::DUP2_X1 => self.duplicate(2, 1),
            op::DUP2_X2 => self.duplicate(2, 2),
            op::SWAP => {
                let missing = 2usize.saturating_sub(self.slots.len());
                self.slots.splice(0..0, std::iter::repeat_n(false, missing));
                let top = self.slots.len() - 1;
                self.slots.swap(top, top - 1);
            }
            op::MULTIANEWARRAY => {
                self.pop(i.bytes[3] as usize);
                self.push(1);
            }
            op::GETSTATIC..=op::INVOKEDYNAMIC => {
                // A malformed descriptor is the JVM's to refuse.
                let Some((arguments, result)) = member.and_then(|m| descriptor::slots(m.descriptor)) else {
                    self.clear();
                    return;
                };
                let receiver =
                    usize::from(!matches!(i.opcode, op::GETSTATIC | op::PUTSTATIC | op::INVOKESTATIC | op::INVOKEDYNAMIC));
                match i.opcode {
                    op::PUTSTATIC | op::PUTFIELD => self.pop(receiver + result),
                    _ => {
                        self.pop(receiver + arguments);
                        self.push(result);
                    }
                }
            }
            opcode => {
                let (popped, pushed) = EFFECT[opcode as usize];
                self.pop(popped as usize);
                self.push(pushed as usize);
            }
        }
    }
}

/// Slots popped and pushed, by opcode (JVMS §6.5); (0, 0) for those that [`Stack::apply`] treats itself.
#[rustfmt::skip]
const EFFECT: [(u8, u8); 202] = {
    const C1: (u8, u8) = (0, 1);
    const C2: (u8, u8) = (0, 2);
    const S1: (u8, u8) = (1, 0);
    const S2: (u8, u8) = (2, 0);
    const I: (u8, u8) = (2, 1);
    const L: (u8, u8) = (4, 2);
    const X: (u8, u8) = (0, 0);
    [
        X, C1, C1, C1, C1, C1, C1, C1, C1, C2, C2, C1, C1, C1, C2, C2, C1, C1, C1, C1, C2, // nop … ldc2_w
        C1, C2, C1, C2, C1, // iload … aload
        C1, C1, C1, C1, C2, C2, C2, C2, C1, C1, C1, C1, C2, C2, C2, C2, C1, C1, C1, C1, // iload_0 … aload_3
        I, (2, 2), I, (2, 2), I, I, I, I, // iaload … saload
        S1, S2, S1, S2, S1, // istore … astore
        S1, S1, S1, S1, S2, S2, S2, S2, S1, S1, S1, S1, S2, S2, S2, S2, S1, S1, S1, S1, // istore_0 … astore_3
        (3, 0), (4, 0), (3, 0), (4, 0), (3, 0), (3, 0), (3, 0), (3, 0), // iastore … sastore
        S1, S2, X, X, X, X, X, X, X, // pop, pop2, dup … swap
        I, L, I, L, I, L, I, L, I, L, I, L, I, L, I, L, I, L, I, L, // iadd … drem
        (1, 1), (2, 2), (1, 1), (2, 2), // ineg … dneg
        I, (3, 2), I, (3, 2), I, (3, 2), // ishl … lushr
        I, L, I, L, I, L, // iand … lxor
        X, // iinc
        (1, 2), (1, 1), (1, 2), (2, 1), (2, 1), (2, 2), (1, 1), (1, 2), (1, 2), (2, 1), (2, 2), (2, 1), // i2l … d2f
        (1, 1), (1, 1), (1, 1), // i2b, i2c, i2s
        (4, 1), I, I, (4, 1), (4, 1), // lcmp … dcmpg
        S1, S1, S1, S1, S1, S1, S2, S2, S2, S2, S2, S2, S2, S2, // ifeq … if_acmpne
        X, C1, X, S1, S1, // goto, jsr, ret, tableswitch, lookupswitch
        S1, S2, S1, S2, S1, X, // ireturn … return
        X, X, X, X, X, X, X, X, X, // getstatic … invokedynamic
        C1, (1, 1), (1, 1), (1, 1), S1, (1, 1), (1, 1), S1, S1, // new … monitorexit
        X, X, S1, S1, X, C1, // wide, multianewarray, ifnull, ifnonnull, goto_w, jsr_w
    ]
};
