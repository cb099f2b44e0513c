//! Opcodes that belong together, by what they do (after JVMS §2.11).

use cprof_instrument::classfile::opcode::op;

/// A group of opcodes. Each opcode is in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Constants, pushed or loaded from the pool.
    Constant,
    /// Loads of local variables.
    LocalLoad,
    /// Stores to local variables, and iinc.
    LocalStore,
    /// Loads from arrays.
    ArrayLoad,
    /// Stores to arrays.
    ArrayStore,
    /// Of the operand stack: pop, dup, swap.
    Stack,
    /// Arithmetic of integers: also shifts and bitwise.
    Integer,
    /// Arithmetic of floating point numbers.
    Float,
    /// Conversions between numbers.
    Conversion,
    /// Comparisons that answer a number.
    Comparison,
    /// Conditional branches.
    Branch,
    /// Switches.
    Switch,
    /// Unconditional jumps and subroutines.
    Jump,
    /// Fields of objects.
    Field,
    /// Static fields.
    StaticField,
    /// Calls.
    Invoke,
    /// Returns.
    Return,
    /// New objects and arrays.
    Allocation,
    /// checkcast and instanceof.
    TypeCheck,
    /// arraylength.
    ArrayLength,
    /// athrow.
    Throw,
    /// monitorenter and monitorexit.
    Monitor,
    /// nop.
    Nothing,
}

impl Group {
    /// All, in the order of their definition.
    pub const ALL: [Group; 23] = [
        Group::Constant,
        Group::LocalLoad,
        Group::LocalStore,
        Group::ArrayLoad,
        Group::ArrayStore,
        Group::Stack,
        Group::Integer,
        Group::Float,
        Group::Conversion,
        Group::Comparison,
        Group::Branch,
        Group::Switch,
        Group::Jump,
        Group::Field,
        Group::StaticField,
        Group::Invoke,
        Group::Return,
        Group::Allocation,
        Group::TypeCheck,
        Group::ArrayLength,
        Group::Throw,
        Group::Monitor,
        Group::Nothing,
    ];

    /// The group of an opcode.
    pub fn of(opcode: u8) -> Group {
        match opcode {
            op::ACONST_NULL..=op::LDC2_W => Group::Constant,
            op::ILOAD..=op::ALOAD_3 => Group::LocalLoad,
            op::IALOAD..=op::SALOAD => Group::ArrayLoad,
            op::ISTORE..=op::ASTORE_3 | op::IINC => Group::LocalStore,
            op::IASTORE..=op::SASTORE => Group::ArrayStore,
            op::POP..=op::SWAP => Group::Stack,
            // Four types in turn: int, long, float, double.
            op::IADD..=op::DNEG if (opcode - op::IADD) % 4 < 2 => Group::Integer,
            op::IADD..=op::DNEG => Group::Float,
            op::ISHL..=op::LXOR => Group::Integer,
            op::I2L..=op::I2S => Group::Conversion,
            op::LCMP..=op::DCMPG => Group::Comparison,
            op::IFEQ..=op::IF_ACMPNE | op::IFNULL | op::IFNONNULL => Group::Branch,
            op::GOTO..=op::RET | op::GOTO_W | op::JSR_W => Group::Jump,
            op::TABLESWITCH | op::LOOKUPSWITCH => Group::Switch,
            op::IRETURN..=op::RETURN => Group::Return,
            op::GETSTATIC | op::PUTSTATIC => Group::StaticField,
            op::GETFIELD | op::PUTFIELD => Group::Field,
            op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => Group::Invoke,
            op::NEW..=op::ANEWARRAY | op::MULTIANEWARRAY => Group::Allocation,
            op::ARRAYLENGTH => Group::ArrayLength,
            op::ATHROW => Group::Throw,
            op::CHECKCAST | op::INSTANCEOF => Group::TypeCheck,
            op::MONITORENTER | op::MONITOREXIT => Group::Monitor,
            _ => Group::Nothing,
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Group::Constant => "constants",
            Group::LocalLoad => "local loads",
            Group::LocalStore => "local stores",
            Group::ArrayLoad => "array loads",
            Group::ArrayStore => "array stores",
            Group::Stack => "stack",
            Group::Integer => "integer arithmetic",
            Group::Float => "floating point arithmetic",
            Group::Conversion => "conversions",
            Group::Comparison => "comparisons",
            Group::Branch => "conditional branches",
            Group::Switch => "switches",
            Group::Jump => "jumps",
            Group::Field => "instance fields",
            Group::StaticField => "static fields",
            Group::Invoke => "calls",
            Group::Return => "returns",
            Group::Allocation => "allocations",
            Group::TypeCheck => "type checks",
            Group::ArrayLength => "array lengths",
            Group::Throw => "throws",
            Group::Monitor => "monitors",
            Group::Nothing => "nop",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cprof_instrument::classfile::opcode::{COUNT, MNEMONIC};

    #[test]
    fn groups_are_what_the_names_say() {
        let of = |group: Group| -> Vec<&str> {
            (0..COUNT as u8).filter(|&o| Group::of(o) == group).map(|o| MNEMONIC[o as usize]).collect()
        };
        assert_eq!(of(Group::Nothing), ["nop", "wide"]);
        assert_eq!(of(Group::Float).len(), 12);
        assert!(of(Group::Float).iter().all(|name| name.starts_with(['f', 'd'])));
        assert_eq!(of(Group::Integer).len(), 24);
        assert!(of(Group::Integer).iter().all(|name| name.starts_with(['i', 'l'])));
        assert_eq!(of(Group::Jump), ["goto", "jsr", "ret", "goto_w", "jsr_w"]);
        assert_eq!(of(Group::Allocation), ["new", "newarray", "anewarray", "multianewarray"]);
        assert_eq!(of(Group::Branch).len(), 16);
        assert_eq!((of(Group::LocalLoad).len(), of(Group::LocalStore).len(), of(Group::Constant).len()), (25, 26, 20));
        assert_eq!(Group::ALL.iter().map(|g| of(*g).len()).sum::<usize>(), COUNT);
    }
}
