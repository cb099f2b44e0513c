//! What a method's code or a class does, in a form in which running numbers and places in the constant pool do not occur.

use crate::numbered;
use cprof_instrument::Error;
use cprof_instrument::classfile::instructions::{Instruction, Instructions};
use cprof_instrument::classfile::opcode::op;
use cprof_instrument::classfile::{ClassFile, Constant, MemberRef, Method, mutf8};
use cprof_profile::names::dotted;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// Two methods or classes with the same full print do the same, as far as instructions and what they name say.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Print {
    /// Instructions with what they name. A lambda that is made there is what it does itself, a class with a running number what
    /// it is called in the other profile, where that is known.
    pub full: Vec<u8>,
    /// The opcodes, one after the other, with the descriptor.
    pub shape: Vec<u8>,
}

/// What the classes with running numbers that two profiles have in common are called, dotted.
pub type Twins = FxHashMap<String, String>;

/// Lambdas and computed constants within others are looked into so far: beyond, they are what they are called.
const DEEPEST: usize = 20;

/// What is looked into once, however often it is named.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// A method, by its index.
    Method(u16),
    /// What a bootstrap method is given.
    Bootstrap(u16),
}

/// The methods of a class.
pub struct Methods<'c, 'a> {
    class: &'c ClassFile<'a>,
    twins: &'c Twins,
    /// Handle and arguments of each bootstrap method.
    bootstraps: Vec<Vec<u16>>,
    /// Methods with running numbers, by name and descriptor.
    numbered: FxHashMap<(&'a [u8], &'a [u8]), &'c Method<'a>>,
    /// Hashes of full prints.
    hashes: FxHashMap<Part, u64>,
}

impl<'c, 'a> Methods<'c, 'a> {
    /// Of a class.
    pub fn new(class: &'c ClassFile<'a>, twins: &'c Twins) -> Methods<'c, 'a> {
        let numbered = class.methods.iter().filter(|m| numbered::method(&m.name_str()).is_some());
        let numbered = numbered.map(|m| ((m.name, m.descriptor), m)).collect();
        Methods { class, twins, bootstraps: class.bootstrap_methods(), numbered, hashes: FxHashMap::default() }
    }

    /// A method's print; a damaged one's is all that can be read of it.
    pub fn print(&mut self, method: &Method<'_>) -> Print {
        self.print_at(method, 0)
    }

    fn print_at(&mut self, method: &Method<'_>, depth: usize) -> Print {
        let mut print = Print::default();
        let descriptor = method.descriptor_str();
        for out in [&mut print.full, &mut print.shape] {
            name(&descriptor, out);
        }
        if let Ok(Some(code)) = self.class.code(method) {
            for instruction in Instructions::new(code.bytes, code.at).map_while(Result::ok) {
                print.shape.push(instruction.opcode);
                print.full.push(instruction.opcode);
                // What cannot be resolved leaves the bare opcode.
                let _ = self.operands(&instruction, depth, &mut print.full);
            }
        }
        print
    }

    fn operands(&mut self, instruction: &Instruction<'_>, depth: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let pool = &self.class.pool;
        match instruction.opcode {
            op::LDC | op::LDC_W | op::LDC2_W => self.constant(instruction.ldc_index(), depth, out)?,
            op::INVOKEDYNAMIC => self.constant(instruction.u2(), depth, out)?,
            op::GETSTATIC..=op::INVOKEINTERFACE => self.member(&pool.member(instruction.u2())?, out),
            op::NEW | op::ANEWARRAY | op::CHECKCAST | op::INSTANCEOF => self.class_name(pool.class_name(instruction.u2())?, out),
            op::MULTIANEWARRAY => {
                self.class_name(pool.class_name(instruction.u2())?, out);
                out.push(instruction.bytes[3]);
            }
            op::TABLESWITCH | op::LOOKUPSWITCH => out.extend(instruction.operands_of_switch()),
            _ => out.extend(&instruction.bytes[1..]),
        }
        Ok(())
    }

    fn constant(&mut self, index: u16, depth: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let pool = &self.class.pool;
        out.push(pool.tag(index)?);
        match pool.constant(index)? {
            Constant::Integer(value) => out.extend(value.to_le_bytes()),
            Constant::Float(value) => out.extend(value.to_le_bytes()),
            Constant::Long(value) => out.extend(value.to_le_bytes()),
            Constant::Double(value) => out.extend(value.to_le_bytes()),
            // A string is what it is; a class may be one of those with running numbers.
            Constant::String(text) => bytes(text, out),
            Constant::Class(text) => self.class_name(text, out),
            Constant::MethodType(text) => name(&mutf8::decode(text), out),
            Constant::Field(member) | Constant::Method(member) | Constant::InterfaceMethod(member) => self.member(&member, out),
            Constant::MethodHandle(kind, member) => {
                out.push(kind);
                self.member(&member, out);
                self.lambda(&member, depth, out);
            }
            Constant::Dynamic(bootstrap, member) | Constant::InvokeDynamic(bootstrap, member) => {
                self.member(&member, out);
                self.bootstrap(bootstrap, depth, out);
            }
        }
        Ok(())
    }

    /// What a bootstrap method is given: recipes of strings, bodies of lambdas.
    fn bootstrap(&mut self, number: u16, depth: usize, out: &mut Vec<u8>) {
        self.part(Part::Bootstrap(number), depth, out, |methods| {
            let mut given = Vec::new();
            for index in methods.bootstraps.get(usize::from(number)).cloned().unwrap_or_default() {
                let _ = methods.constant(index, depth + 1, &mut given); // as of instructions
            }
            given
        });
    }

    /// The body of a lambda, which only its number tells from others.
    fn lambda(&mut self, member: &MemberRef<'a>, depth: usize, out: &mut Vec<u8>) {
        if member.class == self.class.name()
            && let Some(&method) = self.numbered.get(&(member.name, member.descriptor))
        {
            self.part(Part::Method(method.index), depth, out, |methods| methods.print_at(method, depth + 1).full);
        }
    }

    fn part(&mut self, part: Part, depth: usize, out: &mut Vec<u8>, print: impl FnOnce(&mut Self) -> Vec<u8>) {
        let hash = match self.hashes.get(&part) {
            Some(&hash) => hash,
            None if depth >= DEEPEST => return,
            None => {
                // Should it lead back to itself, it is what it is called there.
                self.hashes.insert(part, 0);
                let hash = FxBuildHasher.hash_one(print(self));
                self.hashes.insert(part, hash);
                hash
            }
        };
        out.extend(hash.to_le_bytes());
    }

    fn member(&self, member: &MemberRef<'_>, out: &mut Vec<u8>) {
        self.class_name(member.class, out);
        for part in [member.name, member.descriptor] {
            name(&mutf8::decode(part), out);
        }
    }

    fn class_name(&self, class: &[u8], out: &mut Vec<u8>) {
        let class = mutf8::decode(class);
        let twin = (!self.twins.is_empty() && class.contains('$')).then(|| self.twins.get(&dotted(&class))).flatten();
        match twin {
            Some(twin) => bytes(twin.as_bytes(), out),
            None => name(&class, out),
        }
    }
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
    let twins = Twins::default();
    let mut methods = Methods::new(&class, &twins);
    for m in &class.methods {
        let Print { full, shape } = methods.print(m);
        for (out, code) in [(&mut print.full, full), (&mut print.shape, shape)] {
            name(&m.name_str(), out);
            out.extend((code.len() as u32).to_le_bytes());
            out.extend(code);
        }
    }
    print
}

/// Whether the instructions of two methods stand at the same places and call methods that are called the same, so that a call site of
/// one is that of the other.
pub fn same_places(a: (&ClassFile<'_>, &Method<'_>), b: (&ClassFile<'_>, &Method<'_>)) -> bool {
    let (Ok(Some(a_code)), Ok(Some(b_code))) = (a.0.code(a.1), b.0.code(b.1)) else { return false };
    let called = |class: &ClassFile<'_>, i: &Instruction<'_>| {
        let mut called = Vec::new();
        if let op::INVOKEVIRTUAL..=op::INVOKEINTERFACE = i.opcode
            && let Ok(member) = class.pool.member(i.u2())
        {
            [member.name, member.descriptor].iter().for_each(|part| name(&mutf8::decode(part), &mut called));
        }
        called
    };
    let same = |(i, j): (Result<Instruction<'_>, Error>, Result<Instruction<'_>, Error>)| match (i, j) {
        (Ok(i), Ok(j)) => (i.bci, i.opcode) == (j.bci, j.opcode) && called(a.0, &i) == called(b.0, &j),
        _ => false,
    };
    let [a_all, b_all] = [&a_code, &b_code].map(|code| Instructions::new(code.bytes, code.at));
    a_code.bytes.len() == b_code.bytes.len() && a_all.zip(b_all).all(same)
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
