//! Statements with others in them, and calls.

use super::method::{MONITORS, Method};
use super::plan::{Declared, FAILURE, FIELDS, Kind};
use super::types::{Type, known};
use crate::assemble::op::*;

impl Method<'_> {
    /// Statements that do not touch what is on the stack, and leave nothing there.
    fn fenced(&mut self, depth: usize, most: usize) {
        let height = self.out.state.stack.len();
        let fence = std::mem::replace(&mut self.fence, height);
        self.statements(depth + 1, most);
        self.out.pop_to(height);
        self.fence = fence;
    }

    /// Either this or that, or nothing.
    pub fn diamond(&mut self, depth: usize) {
        let other = self.out.code.label();
        self.condition(other);
        let state = self.out.state.clone();
        self.fenced(depth, 3);
        if self.random.percent(50) {
            let end = self.out.code.label();
            self.out.jump(GOTO, 0, end);
            let one = std::mem::replace(&mut self.out.state, state.clone());
            self.out.join(other, state);
            self.fenced(depth, 3);
            let both = one.meet(&self.out.state);
            self.out.join(end, both);
        } else {
            let both = state.meet(&self.out.state);
            self.out.join(other, both);
        }
        self.mark();
    }

    /// Again and again while there is fuel.
    pub fn looped(&mut self, depth: usize) {
        // Out of it there is a way back to the caller, which must not hold a monitor; and where there are no stack maps, no
        // object may wait for its constructor on a way back.
        let has_raw = self.out.state.stack.iter().chain(&self.out.state.locals).any(|one| matches!(one, Type::New(..)));
        if self.held > 0 || self.level > 0 || has_raw && !self.maps() {
            return;
        }
        let head = self.out.code.label();
        let state = self.out.state.clone();
        self.out.join(head, state.clone());
        self.fenced(depth, 3);
        self.burn();
        self.convert_locals(&state);
        self.condition(head);
        self.mark();
    }

    /// `synchronized`: as javac writes it, the handler covers itself.
    pub fn monitor(&mut self, depth: usize) {
        if self.held == MONITORS || self.level > 0 {
            return;
        }
        let slot = self.slots + self.held;
        let class = self.plan.classes[FIELDS].name.clone();
        self.receiver(&class);
        self.out.op(DUP, 0, &[Type::Object(class)]);
        self.out.store(slot, true);
        self.mark();
        self.out.op(MONITORENTER, 1, &[]);
        self.held += 1;
        self.core[usize::from(slot)] = true;
        let start = self.out.code.here();
        self.fenced(depth, 4);
        self.out.load(slot, true);
        self.out.op(MONITOREXIT, 1, &[]);
        let (end, after) = (self.out.code.here(), self.out.code.label());
        self.out.jump(GOTO, 0, after);
        let state = self.out.state.clone();

        let mut caught = self.core_state();
        caught.stack.push(Type::object(known::THROWABLE));
        let handler = self.out.code.label();
        self.out.join(handler, caught);
        self.out.load(slot, true);
        self.out.op(MONITOREXIT, 1, &[]);
        let handler_end = self.out.code.here();
        self.out.op(ATHROW, 1, &[]);
        self.out.code.handler([start, end, handler], 0);
        self.out.code.handler([handler, handler_end, handler], 0);

        self.held -= 1;
        self.core[usize::from(slot)] = false;
        self.out.join(after, state);
        self.out.state.locals[usize::from(slot)] = Type::Top;
        self.mark();
    }

    /// A new object that is on the stack, uninitialised, while other code runs.
    pub fn raw(&mut self, depth: usize) {
        self.mark();
        let plan = self.plan;
        let constructors =
            plan.methods.iter().enumerate().filter(|(number, m)| m.kind == Kind::Constructor && self.may_call(*number, m));
        let constructors: Vec<&Declared> = constructors.map(|(_, m)| m).collect();
        let callee = (!constructors.is_empty() && self.random.percent(60)).then(|| *self.random.pick(&constructors));
        let class = callee.map_or(FAILURE, |callee| &plan.classes[callee.class].name);
        let raw = self.out.new_twice(class);
        let slots = self.scratch(&raw);
        if !slots.is_empty() && self.random.percent(30) {
            self.out.op(DUP, 0, std::slice::from_ref(&raw));
            let slot = *self.random.pick(&slots);
            self.out.store(slot, true);
        }
        let fence = std::mem::replace(&mut self.fence, self.out.state.stack.len());
        for _ in 0..1 + self.random.below(2) {
            if self.random.percent(60) {
                self.diamond(depth + 1);
            } else {
                self.statement(depth + 1);
                self.out.pop_to(self.fence);
            }
        }
        self.fence = fence;
        let (descriptor, arguments) = match callee {
            Some(callee) => {
                self.arguments(callee);
                (callee.descriptor(), callee.parameters.len())
            }
            None => {
                self.value(&Type::object(known::STRING));
                ("(Ljava/lang/String;)V".to_owned(), 1)
            }
        };
        self.mark();
        self.out.construct(class, &descriptor, arguments, &raw, class);
    }

    /// Pushes an object of a random class: `this`, its only one, or `null`.
    pub fn object(&mut self, class: &str) {
        if self.random.percent(8) {
            self.out.op(ACONST_NULL, 0, &[Type::Null]);
        } else {
            self.value(&Type::object(class));
        }
    }

    /// Pushes arguments, the first of which is less fuel than there is.
    pub fn arguments(&mut self, callee: &Declared) {
        self.out.load(self.fuel, true);
        self.out.int(1);
        let less = if callee.kind == Kind::Constructor || self.random.percent(50) { ISHR } else { ISUB };
        self.out.op(less, 2, &[Type::Int]);
        for parameter in &callee.parameters[1..] {
            self.value(parameter);
        }
    }

    /// Whether the code may call a method.
    fn may_call(&self, number: usize, callee: &Declared) -> bool {
        const STATIC_IN_INTERFACE: u16 = 52;
        match callee.kind {
            Kind::Private => callee.class == self.me.class,
            Kind::Constructor => !self.is_constructor() || number > self.number,
            Kind::Static if self.plan.classes[callee.class].is_interface => {
                self.plan.classes[self.me.class].version >= STATIC_IN_INTERFACE
            }
            Kind::Static | Kind::Virtual => true,
        }
    }

    /// Calls one of the methods, whose result stays on the stack.
    pub fn call(&mut self) {
        let plan = self.plan;
        let methods = plan.methods.iter().enumerate().filter(|(number, callee)| self.may_call(*number, callee));
        let methods: Vec<&Declared> = methods.map(|(_, callee)| callee).collect();
        if methods.is_empty() || self.random.percent(5) {
            // A native method.
            self.object(&plan.classes[FIELDS].name);
            self.mark();
            let method = self.out.class.pool.method(known::OBJECT, "hashCode", "()I");
            self.out.op_u2(INVOKEVIRTUAL, method, 1, &[Type::Int]);
            return;
        }
        let callee = *self.random.pick(&methods);
        let (class, me) = (&plan.classes[callee.class], &plan.classes[self.me.class]);
        let (name, descriptor, arguments) = (&callee.name, callee.descriptor(), callee.parameters.len());
        if callee.kind == Kind::Constructor {
            let raw = self.out.new_twice(&class.name);
            self.arguments(callee);
            self.mark();
            self.out.construct(&class.name, &descriptor, arguments, &raw, &class.name);
            return;
        }
        let receiver = if class.is_interface { &plan.classes[FIELDS].name } else { &class.name };
        // `super.method(...)` of `this`.
        let is_mine = self.out.state.locals[0] == Type::Object(me.name.clone());
        let above = callee.kind == Kind::Virtual && is_mine && class.name == me.parent && self.random.percent(50);
        if above {
            self.out.load(0, true);
        } else if callee.kind != Kind::Static {
            self.object(receiver);
        }
        self.arguments(callee);
        self.mark();
        let pool = &mut self.out.class.pool;
        let method = match class.is_interface {
            true => pool.interface_method(&class.name, name, &descriptor),
            false => pool.method(&class.name, name, &descriptor),
        };
        const NESTS: u16 = 55;
        let opcode = match callee.kind {
            Kind::Static => INVOKESTATIC,
            Kind::Private if me.version < NESTS || self.random.percent(50) => INVOKESPECIAL,
            _ if class.is_interface => INVOKEINTERFACE,
            _ if above => INVOKESPECIAL,
            _ => INVOKEVIRTUAL,
        };
        self.out.invoke(opcode, method, callee);
    }

    /// Perhaps `jsr`. Where there are subroutines, they are called often, as few methods have any.
    pub fn calls_subroutine(&mut self) -> bool {
        let may = self.level < self.subroutines.len() && self.fence == 0 && self.held == 0;
        if !may || self.random.percent(80) {
            return false;
        }
        // Every caller of a subroutine must have the same on the stack.
        self.out.pop_to(0);
        self.mark();
        let opcode = if self.random.percent(20) { JSR_W } else { JSR };
        self.out.code.jump(opcode, self.subroutines[self.level]);
        self.mark();
        true
    }

    /// More than 8000 bytes, most of them not executed: the JVM compiles no longer methods unless told to.
    pub fn long_way(&mut self) {
        const WIDE_IINC: usize = 6;
        let over = self.out.code.label();
        self.out.load(self.sum, true);
        self.out.int(15);
        self.out.op(IAND, 2, &[Type::Int]);
        self.out.jump(IFNE, 1, over);
        let state = self.out.state.clone();
        for by in 0..8000 / WIDE_IINC {
            self.out.code.increment(self.sum, 1000 + by as i16);
        }
        self.out.join(over, state);
    }
}
