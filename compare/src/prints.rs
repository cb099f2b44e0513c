//! What a method's code or a class does, in a form in which running numbers and places in the constant pool do not occur.

use crate::numbered;
use cprof_instrument::classfile::instructions::{Instruction, Instructions};
use cprof_instrument::classfile::opcode::op;

use cprof_instrument::Error;
use cprof_instrument::classfile::{ClassFile, Constant, Method, Pool, mutf8};

/// Two methods or classes with the same full print do the same, as far as instructions and what they name say.
/// (Bootstrap arguments are not looked at: two string concatenations that differ only in their constant text are the same.)
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Print {
    /// Instructions with what they name.
    pub full: Vec<u8>,
    /// The opcodes, one after the other, with the descriptor.
    pub shape: Vec<u8>,
}

/// A method's; a damaged one's is all that can be read of it.
pub fn method(class: &ClassFile<'_>, method: &Method<'_>) -> Print {
    let mut print = Print::default();
    let descriptor = method.descriptor_str();
    for out in [&mut print.full, &mut print.shape] {
        name(&descriptor, out);
    }
    if let Ok(Some(code)) = class.code(method) {
        for instruction in Instructions::new(code.bytes, code.at).map_while(Result::ok) {
            print.shape.push(instruction.opcode);
            print.full.push(instruction.opcode);
            // What cannot be resolved leaves the bare opcode.
            let _ = operands(&class.pool, &instruction, &mut print.full);
        }
    }
    print
}

/// A class's: its supertypes and all its methods.
pub fn class(bytes: &[u8]) -> Print {
    let Ok(class) = ClassFile::parse(bytes) else { return Print { full: bytes.to_vec(), shape: bytes.to_vec() } };
    let mut print = Print::default();
    for supertype in class.super_name().into_iter().chain(class.interfaces()) {
        for out in [&mut print.full, &mut print.shape] {
            name(&mutf8::decode(supertype), out);
        }
    }
    for m in &class.methods {
        let Print { full, shape } = method(&class, m);
        for (out, code) in [(&mut print.full, full), (&mut print.shape, shape)] {
            name(&m.name_str(), out);
            out.extend((code.len() as u32).to_le_bytes());
            out.extend(code);
        }
    }
    print
}

/// Whether the instructions of two methods stand at the same places, so that a call site of one is that of the other.
pub fn same_places(a: (&ClassFile<'_>, &Method<'_>), b: (&ClassFile<'_>, &Method<'_>)) -> bool {
    let (Ok(Some(a)), Ok(Some(b))) = (a.0.code(a.1), b.0.code(b.1)) else { return false };
    let places = |bytes, at| Instructions::new(bytes, at).map(|i| i.map(|i| (i.bci, i.opcode)).ok());
    a.bytes.len() == b.bytes.len() && places(a.bytes, a.at).eq(places(b.bytes, b.at))
}

fn operands(pool: &Pool<'_>, instruction: &Instruction<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    match instruction.opcode {
        op::LDC | op::LDC_W | op::LDC2_W => constant(pool, instruction.ldc_index(), out)?,
        op::GETSTATIC..=op::INVOKEDYNAMIC => {
            let member = pool.member(instruction.u2())?;
            for part in [member.class, member.name, member.descriptor] {
                name(&mutf8::decode(part), out);
            }
        }
        op::NEW | op::ANEWARRAY | op::CHECKCAST | op::INSTANCEOF => name(&mutf8::decode(pool.class_name(instruction.u2())?), out),
        op::MULTIANEWARRAY => {
            name(&mutf8::decode(pool.class_name(instruction.u2())?), out);
            out.push(instruction.bytes[3]);
        }
        op::TABLESWITCH | op::LOOKUPSWITCH => out.extend(instruction.operands_of_switch()),
        _ => out.extend(&instruction.bytes[1..]),
    }
    Ok(())
}

fn constant(pool: &Pool<'_>, index: u16, out: &mut Vec<u8>) -> Result<(), Error> {
    out.push(pool.tag(index)?);
    match pool.constant(index)? {
        Constant::Integer(value) => out.extend(value.to_le_bytes()),
        Constant::Float(value) => out.extend(value.to_le_bytes()),
        Constant::Long(value) => out.extend(value.to_le_bytes()),
        Constant::Double(value) => out.extend(value.to_le_bytes()),
        // A string is what it is; a class may be one of those with running numbers.
        Constant::String(text) => bytes(text, out),
        Constant::Class(text) | Constant::MethodType(text) => name(&mutf8::decode(text), out),
        Constant::Field(member)
        | Constant::Method(member)
        | Constant::InterfaceMethod(member)
        | Constant::MethodHandle(_, member)
        | Constant::Dynamic(_, member)
        | Constant::InvokeDynamic(_, member) => {
            for part in [member.class, member.name, member.descriptor] {
                name(&mutf8::decode(part), out);
            }
        }
    }
    Ok(())
}

/// A name or descriptor, without running numbers.
fn name(text: &str, out: &mut Vec<u8>) {
    if !text.contains('$') {
        return bytes(text.as_bytes(), out);
    }
    let family = numbered::class(text).or_else(|| numbered::method(text));
    bytes(family.as_ref().map_or(text, |n| &n.family).as_bytes(), out);
}

fn bytes(text: &[u8], out: &mut Vec<u8>) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text);
}
