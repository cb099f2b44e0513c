//! Instructions that know what they do to locals and stack.

use super::plan::Declared;
use super::types::{State, Type, known};
use crate::assemble::op::*;
use crate::assemble::{Class, Code, Label};

/// The code of a method, and what is in its locals and on its stack at its end so far.
pub struct Typed<'c> {
    /// The code.
    pub code: Code,
    /// Whose constants it uses.
    pub class: &'c mut Class,
    /// At the end of the code.
    pub state: State,
    /// Whether the class has stack maps.
    maps: bool,
}

impl<'c> Typed<'c> {
    /// No code yet, and at its beginning `state`.
    pub fn new(class: &'c mut Class, maps: bool, state: State) -> Typed<'c> {
        let code = Code::new(0, state.locals.len() as u16);
        Typed { code, class, state, maps }
    }

    /// Takes from the stack and pushes.
    pub fn effect(&mut self, pops: usize, pushes: &[Type]) {
        let left = self.state.stack.len() - pops;
        self.state.stack.truncate(left);
        self.state.stack.extend_from_slice(pushes);
        self.code.max_stack = self.code.max_stack.max(self.state.height());
    }

    /// An instruction without operands in the code.
    pub fn op(&mut self, opcode: u8, pops: usize, pushes: &[Type]) {
        self.code.emit(&[opcode]);
        self.effect(pops, pushes);
    }

    /// An instruction that names a constant.
    pub fn op_u2(&mut self, opcode: u8, constant: u16, pops: usize, pushes: &[Type]) {
        self.code.emit_u2(opcode, constant);
        self.effect(pops, pushes);
    }

    /// A jump; where it does not jump, it goes on.
    pub fn jump(&mut self, opcode: u8, pops: usize, to: Label) {
        self.effect(pops, &[]);
        self.code.jump(opcode, to);
    }

    /// An entry of the stack map, if there is one.
    pub fn frame(&mut self) {
        if self.maps {
            let (locals, stack) = self.state.items(&mut self.class.pool);
            self.code.frame(&locals, &stack);
        }
    }

    /// A place that is jumped to, at which `state` holds.
    pub fn join(&mut self, label: Label, state: State) {
        self.code.place(label);
        self.state = state;
        self.effect(0, &[]); // which sees how high the stack is
        self.frame();
    }

    /// A load or store of the family that begins with `base` (that of `int`), the short form for the first locals if `short`.
    fn local(&mut self, base: u8, slot: u16, of: &Type, short: bool) {
        let kind = match of {
            Type::Int => 0,
            Type::Long => 1,
            Type::Float => 2,
            Type::Double => 3,
            _ => 4,
        };
        // Behind the five long forms are, of each kind, those for locals 0 to 3.
        match slot {
            0..=3 if short => self.code.emit(&[base + 5 + 4 * kind + slot as u8]),
            _ => self.code.local(base + kind, slot),
        }
    }

    /// Loads a local.
    pub fn load(&mut self, slot: u16, short: bool) {
        let value = self.state.locals[usize::from(slot)].clone();
        self.local(ILOAD, slot, &value, short);
        self.effect(0, &[value]);
    }

    /// Stores to a local.
    pub fn store(&mut self, slot: u16, short: bool) {
        let value = self.state.stack.last().expect("something to store").clone();
        self.local(ISTORE, slot, &value, short);
        self.effect(1, &[]);
        self.state.set(slot, value);
    }

    /// Pushes an `int` in its shortest form.
    pub fn int(&mut self, value: i32) {
        match (value, i8::try_from(value), i16::try_from(value)) {
            (-1..=5, ..) => self.code.emit(&[(i32::from(ICONST_0) + value) as u8]),
            (_, Ok(byte), _) => self.code.emit(&[BIPUSH, byte as u8]),
            (_, _, Ok(short)) => self.code.emit_u2(SIPUSH, short as u16),
            _ => {
                let constant = self.class.pool.integer(value);
                self.code.emit_u2(LDC_W, constant);
            }
        }
        self.effect(0, &[Type::Int]);
    }

    /// Pushes a `String`.
    pub fn string(&mut self, text: &str) {
        let constant = self.class.pool.string(text);
        self.op_u2(LDC_W, constant, 0, &[Type::object(known::STRING)]);
    }

    /// Pushes an array of so many `int`s.
    pub fn ints(&mut self, length: i32) {
        const T_INT: u8 = 10;
        self.int(length);
        self.code.emit(&[NEWARRAY, T_INT]);
        self.effect(1, &[Type::object(known::INTS)]);
    }

    /// Takes the top off.
    pub fn pop(&mut self) {
        let wide = self.state.stack.last().expect("something to take off").is_wide();
        self.op(if wide { POP2 } else { POP }, 1, &[]);
    }

    /// Takes off what is above a height.
    pub fn pop_to(&mut self, height: usize) {
        while self.state.stack.len() > height {
            self.pop();
        }
    }

    /// Pushes a static field.
    pub fn get_static(&mut self, class: &str, name: &str, of: &Type) {
        let field = self.class.pool.field(class, name, &of.descriptor());
        self.op_u2(GETSTATIC, field, 0, std::slice::from_ref(of));
    }

    /// Stores to a static field.
    pub fn put_static(&mut self, class: &str, name: &str, of: &Type) {
        let field = self.class.pool.field(class, name, &of.descriptor());
        self.op_u2(PUTSTATIC, field, 1, &[]);
    }

    /// Calls a static method of a class that is not random.
    pub fn call_static(&mut self, class: &str, name: &str, takes: &[Type], gives: &Type) {
        let takes_text: String = takes.iter().map(Type::descriptor).collect();
        let method = self.class.pool.method(class, name, &format!("({takes_text}){}", gives.descriptor()));
        self.op_u2(INVOKESTATIC, method, takes.len(), std::slice::from_ref(gives));
    }

    /// Calls a method of a random class; what it is called on, and arguments, are on the stack.
    pub fn invoke(&mut self, opcode: u8, method: u16, callee: &Declared) {
        self.code.emit_u2(opcode, method);
        if opcode == INVOKEINTERFACE {
            self.code.emit(&[callee.slots() as u8, 0]);
        }
        let objects = usize::from(opcode != INVOKESTATIC);
        self.effect(objects + callee.parameters.len(), callee.result.as_slice());
    }

    /// Pushes an object without calling its constructor, twice: it and `dup`.
    pub fn new_twice(&mut self, class: &str) -> Type {
        let made = Type::New(self.code.here(), class.into());
        let constant = self.class.pool.class(class);
        self.op_u2(NEW, constant, 0, std::slice::from_ref(&made));
        self.op(DUP, 0, std::slice::from_ref(&made));
        made
    }

    /// Calls a constructor of a class with so many arguments on an object that was not initialised and then is `becomes`.
    pub fn construct(&mut self, class: &str, descriptor: &str, arguments: usize, raw: &Type, becomes: &str) {
        let method = self.class.pool.method(class, "<init>", descriptor);
        self.op_u2(INVOKESPECIAL, method, arguments + 1, &[]);
        self.state.initialise(raw, becomes);
    }
}
