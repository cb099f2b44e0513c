//! The injected bytecode, as listings. Each comment shows the operand stack after the instruction, top last, above what
//! the program itself has there. J is a long (two slots), I an int, A a reference.

use super::calls::Call;
use super::pool::NewConstants;
use crate::abi::node;
use crate::classfile::opcode::op;

/// Operand stack slots that injected code may need above the program's own, and at the least.
pub(super) const EXTRA_STACK: u16 = 4;
/// What entry and the catch-any handler need on an empty stack: an exception, J, J and I.
pub(super) const LEAST_STACK: u16 = 6;

/// Bytes that a method's entry takes at most, up to where its node is in its local.
pub const ENTRY_LENGTH: usize = 18;

/// Where the injected locals are. All exist in a method that publishes its node; a leaf has at most `n`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Locals {
    /// long: the frame's node.
    pub(super) n: u16,
    /// long: the node that was current at entry.
    pub(super) p: u16,
    /// int: the bytecode index of the last bytecode that might throw (of the block, with `bba=block`), cut to 16 bits.
    pub(super) w: u16,
    /// reference: `this`, where [`super::layout::Layout::keeps_this`].
    pub(super) this: u16,
}

/// Writes injected bytecode.
pub(super) struct Emitter<'e> {
    pub(super) out: &'e mut Vec<u8>,
    pub(super) constants: &'e mut NewConstants,
    pub(super) locals: Locals,
}

impl Emitter<'_> {
    /// Entry of a method that publishes its node.
    pub(super) fn enter(&mut self, id: u32, root: bool) {
        let start = self.out.len();
        self.invoke(Call::Current); //                                          J
        self.out.push(op::DUP2); //                                             J J
        self.store_long(self.locals.p); //                                      J
        self.push_int(id as i32); //                                            J I
        self.invoke(if root { Call::EnterRoot } else { Call::Enter }); //       J
        self.store_long(self.locals.n); //                                      -
        debug_assert!(self.out.len() - start <= ENTRY_LENGTH);
    }

    /// Behind [`Self::enter`]: keeps `this` where the program does not store to.
    pub(super) fn keep_this(&mut self) {
        self.out.push(op::ALOAD_0); //                                          A
        self.local(op::ASTORE, op::ASTORE_0, self.locals.this); //              -
    }

    /// Entry of a leaf; keeps the node's handle only where there is more to count than the call.
    pub(super) fn enter_leaf(&mut self, id: u32, root: bool, keep: bool) {
        self.push_int(id as i32); //                                            I
        self.invoke(if root { Call::LeafRoot } else { Call::Leaf }); //         J
        if keep {
            self.store_long(self.locals.n); //                                  -
        } else {
            self.out.push(op::POP2); //                                         -
        }
    }

    /// Before a return instruction; with method caches, the callee's node is needed to count a miss.
    pub(super) fn leave(&mut self, caches: bool) {
        if caches {
            self.load_long(self.locals.n); //                                   J
            self.load_long(self.locals.p); //                                   J J
            self.invoke(Call::Ret); //                                          -
        } else {
            self.load_long(self.locals.p); //                                   J
            self.invoke(Call::Leave); //                                        -
        }
    }

    /// The catch-any handler; the stack holds the exception.
    pub(super) fn unwind(&mut self, constructor: bool, ends_thread: bool) {
        self.load_long(self.locals.n); //                                       A J
        self.load_long(self.locals.p); //                                       A J J
        self.load_int(self.locals.w); //                                        A J J I
        self.invoke(if constructor { Call::UnwindConstructor } else { Call::Unwind }); // A
        if ends_thread {
            self.invoke(Call::End); //                                          A
        }
        self.out.push(op::ATHROW);
    }

    /// At the entrance of a handler of the program's. The stack holds the exception (A), or, behind a monitorexit, what the program has
    /// there.
    pub(super) fn caught(&mut self) {
        self.load_long(self.locals.n); //                                       A J
        self.load_int(self.locals.w); //                                        A J I
        self.invoke(Call::Caught); //                                           A
    }

    /// Adds 1 to a counter other than counter 0.
    pub(super) fn count(&mut self, counter: u16) {
        self.load_long(self.locals.n); //                                       J
        if let Some(call) = Call::count(counter) {
            self.invoke(call); //                                               -
        } else {
            self.push_int(node::COUNTERS as i32 + 8 * i32::from(counter)); //   J I
            self.invoke(Call::Count); //                                        -
        }
    }

    /// Before a bytecode that may run other code, with `sites=on`.
    pub(super) fn site(&mut self, bci: u32) {
        self.load_long(self.locals.n); //                                       J
        self.push_int(cut(bci + 1)); //                                         J I
        self.invoke(Call::Site); //                                             -
    }

    /// Sets local `w` to a bytecode index; `known` is what it holds already, if that is certain.
    pub(super) fn set_where(&mut self, bci: u32, known: Option<u32>) {
        let w = self.locals.w;
        match known.map(|k| cut(bci) - cut(k)) {
            Some(0) => {}
            Some(delta) if w <= 255 && i8::try_from(delta).is_ok() => {
                self.out.extend_from_slice(&[op::IINC, w as u8, delta as i8 as u8]);
            }
            _ => {
                self.push_int(cut(bci)); //                                     I
                self.local(op::ISTORE, op::ISTORE_0, w); //                     -
            }
        }
    }

    /// A call of a method of the runtime.
    pub(super) fn invoke(&mut self, call: Call) {
        let index = self.constants.call(call).to_be_bytes();
        self.out.extend_from_slice(&[op::INVOKESTATIC, index[0], index[1]]);
    }

    fn push_int(&mut self, value: i32) {
        if let -1..=5 = value {
            self.out.push((i32::from(op::ICONST_0) + value) as u8);
        } else if let Ok(byte) = i8::try_from(value) {
            self.out.extend_from_slice(&[op::BIPUSH, byte as u8]);
        } else if let Ok(short) = i16::try_from(value) {
            let [high, low] = short.to_be_bytes();
            self.out.extend_from_slice(&[op::SIPUSH, high, low]);
        } else {
            let [high, low] = self.constants.integer(value).to_be_bytes();
            self.out.extend_from_slice(&[op::LDC_W, high, low]);
        }
    }

    fn store_long(&mut self, index: u16) {
        self.local(op::LSTORE, op::LSTORE_0, index);
    }

    fn load_long(&mut self, index: u16) {
        self.local(op::LLOAD, op::LLOAD_0, index);
    }

    fn load_int(&mut self, index: u16) {
        self.local(op::ILOAD, op::ILOAD_0, index);
    }

    fn local(&mut self, opcode: u8, short: u8, index: u16) {
        local(self.out, opcode, Some(short), index);
    }
}

/// Writes a load or store of a local in the shortest form; `short` is the opcode of its form for local 0, if any.
pub(super) fn local(out: &mut Vec<u8>, opcode: u8, short: Option<u8>, index: u16) {
    let [high, low] = index.to_be_bytes();
    match short {
        Some(short) if index <= 3 => out.push(short + low),
        _ if high == 0 => out.extend_from_slice(&[opcode, low]),
        _ => out.extend_from_slice(&[op::WIDE, opcode, high, low]),
    }
}

/// Bytecode indices travel as 16-bit numbers, for which `sipush` suffices; the runtime masks the sign away.
fn cut(bci: u32) -> i32 {
    i32::from(bci as u16 as i16)
}
