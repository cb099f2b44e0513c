//! What a bytecode costs on a processor.

use cprof_instrument::classfile::instructions::Instruction;

/// A model of a processor, as far as executing bytecodes goes.
pub trait Target {
    /// Name in reports and on the command line.
    fn name(&self) -> &str;
    /// What executing an instruction once costs. A widened instruction (`wide`) is one instruction.
    fn cost(&self, instruction: &Instruction<'_>) -> u64;
}

/// Every bytecode costs 1: the number of executed bytecodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bytecodes;

impl Target for Bytecodes {
    fn name(&self) -> &str {
        "bytecodes"
    }

    fn cost(&self, _: &Instruction<'_>) -> u64 {
        1
    }
}
