//! An interpreter for the classes that the generator makes, original or woven. It decodes instructions by itself, so that
//! a mistake in the crate's own decoder cannot hide.

use cprof_instrument::abi;
use cprof_instrument::classfile::{ClassFile, Handler};

/// One slot of the operand stack or of the locals. A long or double takes two: the value, then `Half`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Int(i32),
    /// A long, or a double that nobody calculates with.
    Long(i64),
    Half,
    /// 0 is null; others are objects, by number.
    Ref(u32),
    ReturnAddress(usize),
    Nothing,
}

/// What happens while a program runs.
pub trait Observer {
    /// A method begins; `site` is the position of the call in the caller's code.
    fn enter(&mut self, method: usize, site: Option<usize>);
    /// An instruction begins. Answers false to stop the program before it.
    fn execute(&mut self, method: usize, position: usize) -> bool;
    /// An instruction is about to run or throw something the program can notice: a call or an exception.
    fn event(&mut self, what: &'static str, method: usize, position: usize);
    /// The present method ends.
    fn leave(&mut self, by_exception: bool);
    /// Woven code calls the runtime.
    fn runtime(&mut self, name: &str, arguments: &[Value]) -> Option<i64>;
}

/// How a method ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With this result, if there is one.
    Return(Option<Value>),
    /// With this exception.
    Throw(u32),
    /// The fuel was used up (every `nop` burns one) or the observer stopped it; the frames stay where they are.
    Stopped,
}

struct MethodCode<'a> {
    max_stack: usize,
    /// The highest that the stack was seen.
    highest: usize,
    max_locals: usize,
    bytes: &'a [u8],
    handlers: Vec<Handler>,
}

/// A class, ready to run.
pub struct Machine<'a, O> {
    class: &'a ClassFile<'a>,
    codes: Vec<MethodCode<'a>>,
    pub observer: O,
    /// Classes of the objects, by number; number 0 is null.
    heap: Vec<String>,
    fuel: usize,
    depth: usize,
    /// Reads of static fields of other classes so far.
    foreign: u32,
    /// When stopped: the frames, innermost first, and where each is.
    pub active: Vec<(usize, usize)>,
}

/// Calls deeper than this stop the program as if its fuel were used up.
const DEEPEST: usize = 60;

impl<'a, O: Observer> Machine<'a, O> {
    pub fn new(class: &'a ClassFile<'a>, observer: O, fuel: usize) -> Self {
        let codes = class.methods.iter().map(|m| {
            let code = class.code(m).expect("readable code").expect("a method with code");
            MethodCode {
                max_stack: code.max_stack.into(),
                highest: 0,
                max_locals: code.max_locals.into(),
                bytes: code.bytes,
                handlers: code.handlers().collect(),
            }
        });
        let codes = codes.collect();
        Self { class, codes, observer, heap: vec!["null".into()], fuel, depth: 0, foreign: 0, active: Vec::new() }
    }

    /// The class of an object.
    pub fn class_of(&self, object: u32) -> &str {
        &self.heap[object as usize]
    }

    /// The highest that the operand stack was in a method.
    pub fn highest(&self, method: usize) -> u16 {
        self.codes[method].highest as u16
    }

    fn object(&mut self, class: &str) -> u32 {
        self.heap.push(class.into());
        self.heap.len() as u32 - 1
    }

    /// Runs a method of the class.
    pub fn run(&mut self, method: usize, arguments: &[Value], site: Option<usize>) -> End {
        self.observer.enter(method, site);
        self.depth += 1;
        let code = &self.codes[method];
        let mut frame = Frame { method, pc: 0, stack: Vec::new(), locals: vec![Value::Nothing; code.max_locals] };
        frame.locals[..arguments.len()].copy_from_slice(arguments);
        let end = loop {
            let step = if self.observer.execute(method, frame.pc) { self.step(&mut frame) } else { Step::Stop };
            match step {
                Step::Next => {}
                Step::Return(value) => break End::Return(value),
                Step::Stop => {
                    self.active.push((method, frame.pc));
                    break End::Stopped;
                }
                Step::Throw(exception) => {
                    self.observer.event("throw", method, frame.pc);
                    match self.find_handler(method, frame.pc, exception) {
                        Some(target) => {
                            frame.stack.clear();
                            frame.stack.push(Value::Ref(exception));
                            frame.pc = target;
                        }
                        None => break End::Throw(exception),
                    }
                }
            }
            let (code, height) = (&mut self.codes[method], frame.stack.len());
            code.highest = code.highest.max(height);
            assert!(height <= code.max_stack, "operand stack of method {method} at {}", frame.pc);
        };
        self.depth -= 1;
        if end != End::Stopped {
            self.observer.leave(matches!(end, End::Throw(_)));
        }
        end
    }

    fn find_handler(&self, method: usize, pc: usize, exception: u32) -> Option<usize> {
        let catches = |h: &&Handler| {
            let caught = self.class.pool.class_name(h.catch_type).unwrap_or(b"any");
            (usize::from(h.start)..usize::from(h.end)).contains(&pc)
                && (h.catch_type == 0 || caught == self.heap[exception as usize].as_bytes())
        };
        self.codes[method].handlers.iter().find(catches).map(|h| h.target.into())
    }

    fn throw(&mut self, class: &str) -> Step {
        Step::Throw(self.object(class))
    }

    #[allow(clippy::too_many_lines, reason = "one arm per instruction")]
    fn step(&mut self, f: &mut Frame) -> Step {
        let code = self.codes[f.method].bytes;
        let pc = f.pc;
        let u1 = |at: usize| code[pc + at];
        let u2 = |at: usize| u16::from_be_bytes([u1(at), u1(at + 1)]);
        let i4 = |at: usize| i32::from_be_bytes([code[at], code[at + 1], code[at + 2], code[at + 3]]);
        let near = |pc: usize| (pc as i64 + i64::from(u2(1) as i16)) as usize;
        let far = |pc: usize, at: usize| (pc as i64 + i64::from(i4(at))) as usize;
        let mut next = pc + 1;
        match u1(0) {
            0 => {
                if self.fuel == 0 {
                    return Step::Stop;
                }
                self.fuel -= 1;
            }
            1 => f.push(Value::Ref(0)),
            o @ 2..=8 => f.push(Value::Int(i32::from(o) - 3)),
            o @ (9 | 10) => f.push_long(i64::from(o) - 9),
            14 => f.push_long(0),
            16 => {
                f.push(Value::Int((u1(1) as i8).into()));
                next = pc + 2;
            }
            17 => {
                f.push(Value::Int((u2(1) as i16).into()));
                next = pc + 3;
            }
            o @ (18 | 19) => {
                let index = if o == 18 { u1(1).into() } else { u2(1) };
                f.push(Value::Int(self.class.pool.integer(index).expect("an Integer constant")));
                next = pc + if o == 18 { 2 } else { 3 };
            }
            o @ 21..=25 => {
                f.load(o - 21, u1(1).into());
                next = pc + 2;
            }
            o @ 26..=45 => f.load((o - 26) / 4, ((o - 26) % 4).into()),
            o @ 54..=58 => {
                f.store(o - 54, u1(1).into());
                next = pc + 2;
            }
            o @ 59..=78 => f.store((o - 59) / 4, ((o - 59) % 4).into()),
            87 => {
                f.pop();
            }
            88 => {
                f.pop();
                f.pop();
            }
            89 => {
                let top = f.pop();
                f.push(top);
                f.push(top);
            }
            92 => {
                let (b, a) = (f.pop(), f.pop());
                f.stack.extend([a, b, a, b]);
            }
            95 => {
                let (b, a) = (f.pop(), f.pop());
                f.stack.extend([b, a]);
            }
            o @ (96 | 100 | 104 | 126 | 130) => {
                let (b, a) = (f.pop_int(), f.pop_int());
                f.push(Value::Int(match o {
                    96 => a.wrapping_add(b),
                    100 => a.wrapping_sub(b),
                    104 => a.wrapping_mul(b),
                    126 => a & b,
                    _ => a ^ b,
                }));
            }
            97 => {
                let (b, a) = (f.pop_long(), f.pop_long());
                f.push_long(a.wrapping_add(b));
            }
            o @ (108 | 112) => {
                let (b, a) = (f.pop_int(), f.pop_int());
                if b == 0 {
                    return self.throw("java/lang/ArithmeticException");
                }
                f.push(Value::Int(if o == 108 { a.wrapping_div(b) } else { a.wrapping_rem(b) }));
            }
            132 => {
                f.increment(u1(1).into(), (u1(2) as i8).into());
                next = pc + 3;
            }
            133 => {
                let value = f.pop_int();
                f.push_long(value.into());
            }
            136 => {
                let value = f.pop_long();
                f.push(Value::Int(value as i32));
            }
            o @ 153..=164 => {
                let b = if o >= 159 { f.pop_int() } else { 0 };
                let a = f.pop_int();
                let taken = match (o - 153) % 6 {
                    0 => a == b,
                    1 => a != b,
                    2 => a < b,
                    3 => a >= b,
                    4 => a > b,
                    _ => a <= b,
                };
                next = if taken { near(pc) } else { pc + 3 };
            }
            167 => next = near(pc),
            200 => next = far(pc, pc + 1),
            o @ (168 | 201) => {
                f.push(Value::ReturnAddress(pc + if o == 168 { 3 } else { 5 }));
                next = if o == 168 { near(pc) } else { far(pc, pc + 1) };
            }
            169 => next = f.return_address(u1(1).into()),
            o @ (170 | 171) => {
                let at = (pc / 4 + 1) * 4;
                let key = f.pop_int();
                let case = if o == 170 {
                    let (low, high) = (i4(at + 4), i4(at + 8));
                    (low..=high).contains(&key).then(|| at + 12 + 4 * (key - low) as usize)
                } else {
                    (0..i4(at + 4) as usize).map(|k| at + 8 + 8 * k).find(|&pair| i4(pair) == key).map(|pair| pair + 4)
                };
                next = far(pc, case.unwrap_or(at));
            }
            172 => return Step::Return(Some(Value::Int(f.pop_int()))),
            177 => return Step::Return(None),
            178 => {
                if self.class.pool.member(u2(1)).expect("a field").class != self.class.name() {
                    self.foreign += 1;
                    if self.foreign % 4 == 3 {
                        return self.throw("java/lang/ExceptionInInitializerError");
                    }
                }
                f.push(Value::Int(7));
                next = pc + 3;
            }
            179 => {
                f.pop_int();
                next = pc + 3;
            }
            o @ (180 | 181) => {
                if o == 181 {
                    f.pop_int();
                }
                if f.pop_ref() == 0 {
                    return self.throw("java/lang/NullPointerException");
                }
                if o == 180 {
                    f.push(Value::Int(5));
                }
                next = pc + 3;
            }
            o @ 182..=184 => {
                next = pc + 3;
                match self.invoke(f, o == 184, u2(1)) {
                    Step::Next => {}
                    other => return other,
                }
            }
            187 => {
                let class = String::from_utf8_lossy(self.class.pool.class_name(u2(1)).expect("a class")).into_owned();
                let object = self.object(&class);
                f.push(Value::Ref(object));
                next = pc + 3;
            }
            191 => {
                return match f.pop_ref() {
                    0 => self.throw("java/lang/NullPointerException"),
                    exception => Step::Throw(exception),
                };
            }
            194 => {
                if f.pop_ref() == 0 {
                    return self.throw("java/lang/NullPointerException");
                }
            }
            // What is not locked is unlocked in silence.
            195 => {
                f.pop();
            }
            196 => {
                let local = u2(2).into();
                next = pc + 4;
                match u1(1) {
                    o @ 21..=25 => f.load(o - 21, local),
                    o @ 54..=58 => f.store(o - 54, local),
                    132 => {
                        f.increment(local, (u2(4) as i16).into());
                        next = pc + 6;
                    }
                    169 => next = f.return_address(local),
                    other => panic!("wide {other}"),
                }
            }
            o @ (198 | 199) => next = if (f.pop_ref() == 0) == (o == 198) { near(pc) } else { pc + 3 },
            other => panic!("the interpreter does not know opcode {other} at {pc}"),
        }
        f.pc = next;
        Step::Next
    }

    fn invoke(&mut self, f: &mut Frame, is_static: bool, index: u16) -> Step {
        let member = self.class.pool.member(index).expect("a method constant");
        let mut slots = usize::from(!is_static);
        for c in member.descriptor.iter().skip(1).take_while(|&&c| c != b')') {
            slots += if matches!(c, b'J' | b'D') { 2 } else { 1 };
        }
        let arguments = f.stack.split_off(f.stack.len() - slots);
        let inherited = member.name.strip_prefix(b"cprof$");
        if inherited.is_some() || member.class == abi::RUNTIME.as_bytes() {
            let name = std::str::from_utf8(inherited.unwrap_or(member.name)).expect("ASCII");
            if let Some(result) = self.observer.runtime(name, &arguments) {
                f.push_long(result);
            }
            return Step::Next;
        }
        if arguments.first() == Some(&Value::Ref(0)) && !is_static {
            return self.throw("java/lang/NullPointerException");
        }
        self.observer.event("call", f.method, f.pc);
        let own = |m: &cprof_instrument::classfile::Method<'_>| m.name == member.name && m.descriptor == member.descriptor;
        if member.class == self.class.name() {
            let callee = self.class.methods.iter().position(own).expect("a method of the class");
            if self.depth >= DEEPEST {
                return Step::Stop;
            }
            return match self.run(callee, &arguments, Some(f.pc)) {
                End::Return(value) => {
                    f.stack.extend(value);
                    Step::Next
                }
                End::Throw(exception) => Step::Throw(exception),
                End::Stopped => Step::Stop,
            };
        }
        // Other classes' methods: nothing but to throw now and then.
        match (arguments.last(), member.descriptor.ends_with(b"I")) {
            (Some(Value::Int(value)), _) if value % 3 == 1 => self.throw("X"),
            (Some(&value), true) => {
                f.push(value);
                Step::Next
            }
            _ => Step::Next,
        }
    }
}

enum Step {
    Next,
    Return(Option<Value>),
    Throw(u32),
    Stop,
}

struct Frame {
    method: usize,
    pc: usize,
    stack: Vec<Value>,
    locals: Vec<Value>,
}

impl Frame {
    fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    fn push_long(&mut self, value: i64) {
        self.stack.extend([Value::Long(value), Value::Half]);
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().expect("an operand")
    }

    fn pop_int(&mut self) -> i32 {
        match self.pop() {
            Value::Int(value) => value,
            other => panic!("{other:?} for an int at {}", self.pc),
        }
    }

    fn pop_ref(&mut self) -> u32 {
        match self.pop() {
            Value::Ref(value) => value,
            other => panic!("{other:?} for a reference at {}", self.pc),
        }
    }

    fn pop_long(&mut self) -> i64 {
        match (self.pop(), self.pop()) {
            (Value::Half, Value::Long(value)) => value,
            other => panic!("{other:?} for a long at {}", self.pc),
        }
    }

    /// `kind`: int, long, float, double, reference.
    fn load(&mut self, kind: u8, local: usize) {
        match (kind, self.locals[local]) {
            (0, Value::Int(value)) => self.push(Value::Int(value)),
            (4, Value::Ref(value)) => self.push(Value::Ref(value)),
            (1 | 3, Value::Long(value)) if self.locals[local + 1] == Value::Half => self.push_long(value),
            (_, other) => panic!("{other:?} in local {local}, loaded at {} as kind {kind}", self.pc),
        }
    }

    fn store(&mut self, kind: u8, local: usize) {
        let value = match kind {
            0 => Value::Int(self.pop_int()),
            1 | 3 => Value::Long(self.pop_long()),
            _ => self.pop(),
        };
        // Half of a long that is written over makes the other half useless, as for the verifier (JVMS §4.10.1.7).
        let end = local + if matches!(value, Value::Long(_)) { 2 } else { 1 };
        if self.locals[local] == Value::Half {
            self.locals[local - 1] = Value::Nothing;
        }
        if self.locals.get(end) == Some(&Value::Half) {
            self.locals[end] = Value::Nothing;
        }
        self.locals[local..end].fill(Value::Half);
        self.locals[local] = value;
    }

    fn increment(&mut self, local: usize, delta: i32) {
        match self.locals[local] {
            Value::Int(value) => self.locals[local] = Value::Int(value.wrapping_add(delta)),
            other => panic!("{other:?} in local {local}, incremented at {}", self.pc),
        }
    }

    fn return_address(&self, local: usize) -> usize {
        match self.locals[local] {
            Value::ReturnAddress(address) => address,
            other => panic!("{other:?} in local {local}, returned to at {}", self.pc),
        }
    }
}
