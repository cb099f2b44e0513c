//! Constants and call sites that the JVM links when they are executed, which may fail; then they throw the same each time (JVMS
//! 5.4.3).
//!
//! Classes that are not there are not among them: HotSpot makes their errors while it still holds that an exception is under way,
//! and its `MethodExit` events say so of the error's constructors, which the oracle takes for a contradiction.

use super::method::Method;
use super::plan::RUN;
use super::types::{Type, known};
use crate::assemble::op::*;

/// What the bootstrap methods of `RandomRun` make: something, and two kinds of throwables.
const NAMES: [&str; 4] = ["odd", "odd", "fails", "breaks"];
/// The first class files that may have method types and call sites, and constants that are computed.
const CALL_SITES: u16 = 51;
const COMPUTED: u16 = 55;

impl Method<'_> {
    /// One of them, as the version of the class has it.
    pub fn linked(&mut self) {
        let version = self.plan.classes[self.me.class].version;
        let name = *self.random.pick(&NAMES);
        match self.random.below(5) {
            0 => {
                let constant = self.out.class.pool.class(known::STRING);
                self.mark();
                self.out.op_u2(LDC_W, constant, 0, &[Type::object("java/lang/Class")]);
            }
            1 if version >= CALL_SITES => {
                let constant = self.out.class.pool.method_type("(ILjava/lang/String;)J");
                self.mark();
                self.out.op_u2(LDC_W, constant, 0, &[Type::object("java/lang/invoke/MethodType")]);
            }
            2 if version >= COMPUTED => {
                let (opcode, of) = if self.random.percent(30) { (LDC2_W, Type::Long) } else { (LDC_W, Type::Int) };
                let constant = self.out.class.dynamic_constant([RUN, "constant"], name, &of.descriptor());
                self.mark();
                self.out.op_u2(opcode, constant, 0, &[of]);
            }
            3..=4 if version >= CALL_SITES => {
                let site = self.out.class.call_site([RUN, "site"], name, "(I)I");
                self.varying();
                self.mark();
                self.out.op_u2(INVOKEDYNAMIC, site, 1, &[Type::Int]);
                self.out.code.emit(&[0, 0]);
            }
            _ => {}
        }
    }
}
