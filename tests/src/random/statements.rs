//! Statements: pieces of code that leave at least as much on the stack as the fence says.

use super::method::Method;
use super::plan::{FAILURE, FIELDS, RUN, some_type};
use super::types::{Type, known};
use crate::assemble::Label;
use crate::assemble::op::*;

/// The first kinds of statements throw nothing.
const QUIET: usize = 18;
const ALL: usize = 44;

impl Method<'_> {
    /// Up to `most` of them, with marks between.
    pub fn statements(&mut self, depth: usize, most: usize) {
        for _ in 0..self.random.below(most + 1) {
            self.mark();
            self.statement(depth);
        }
        self.mark();
    }

    /// An operand that is not behind the fence, from the top.
    fn top(&self, at: usize) -> Option<Type> {
        let stack = &self.out.state.stack[self.fence..];
        stack.len().checked_sub(at + 1).map(|at| stack[at].clone())
    }

    /// Pushes a value of a type: from a local, or a constant. That throws nothing.
    pub fn value(&mut self, of: &Type) {
        let is_one = |local: &Type| !matches!(local, Type::Top | Type::Half) && !local.is_raw() && local.fits(of);
        let locals = self.out.state.locals[..self.slots.into()].iter().enumerate();
        let locals: Vec<u16> = locals.filter(|(_, local)| is_one(local)).map(|(slot, _)| slot as u16).collect();
        if locals.is_empty() || self.random.percent(25) {
            self.constant(of);
        } else {
            let slot = *self.random.pick(&locals);
            let short = self.random.percent(80);
            self.out.load(slot, short);
        }
    }

    /// Pushes a value of a type that is not in a local.
    pub fn constant(&mut self, of: &Type) {
        let draw = self.random.below(4);
        let pushes = std::slice::from_ref(of);
        match of {
            Type::Int => {
                let value = *self.random.pick(&[-1, 0, 1, 2, 3, 5, 100, -300, 70_000]);
                self.out.int(value);
            }
            Type::Float => self.out.op(FCONST_0 + draw as u8 % 3, 0, pushes),
            Type::Long if draw == 0 => {
                let constant = self.out.class.pool.long(1 << 40);
                self.out.op_u2(LDC2_W, constant, 0, pushes);
            }
            Type::Long => self.out.op(LCONST_0 + draw as u8 % 2, 0, pushes),
            Type::Double if draw == 0 => {
                let constant = self.out.class.pool.double(2.5);
                self.out.op_u2(LDC2_W, constant, 0, pushes);
            }
            Type::Double => self.out.op(DCONST_0 + draw as u8 % 2, 0, pushes),
            Type::Object(_) if self.me.is_quiet || draw == 0 => self.out.op(ACONST_NULL, 0, pushes),
            Type::This => self.out.load(self.home, true),
            Type::Object(class) => match &**class {
                known::THROWABLE => {
                    self.out.get_static(RUN, "failure", &Type::object(known::THROWABLE));
                }
                known::INTS => self.out.ints(draw as i32),
                known::STRING | known::OBJECT => {
                    self.out.string(["", "a", "bc", "def"][draw]);
                    self.out.effect(1, pushes);
                }
                _ => self.receiver(class),
            },
            _ => self.out.op(ACONST_NULL, 0, &[Type::Null]),
        }
    }

    /// Pushes an object of a random class.
    pub fn receiver(&mut self, class: &str) {
        let of = Type::object(class);
        self.out.get_static(class, "self", &of);
    }

    /// Locals that a value of a type may be stored to.
    pub fn scratch(&self, of: &Type) -> Vec<u16> {
        let is_free = |slot: &u16| {
            let mut slots = *slot..*slot + of.slots();
            slots.all(|at| {
                at < self.slots && !self.core[usize::from(at)] && !matches!(self.out.state.locals[usize::from(at)], Type::New(..))
            })
        };
        // Where a subroutine has stored, its callers would find something else.
        if self.level > 0 { Vec::new() } else { (0..self.slots).filter(is_free).collect() }
    }

    /// Pushes a small number that is another one each time, perhaps 0.
    pub fn varying(&mut self) {
        self.out.load(self.sum, true);
        let mask = *self.random.pick(&[1, 3, 7, 15]);
        self.out.int(mask);
        self.out.op(IAND, 2, &[Type::Int]);
    }

    /// Adds the `int` on top to the sum.
    pub fn add(&mut self) {
        self.out.load(self.sum, true);
        self.out.int(31);
        self.out.op(IMUL, 2, &[Type::Int]);
        self.out.op(IXOR, 2, &[Type::Int]);
        self.out.store(self.sum, true);
    }

    /// Jumps if something is so.
    pub fn condition(&mut self, to: Label) {
        let opcode = |base: u8, draw: usize| base + draw as u8;
        match self.random.below(8) {
            0 => {
                self.value(&Type::Int);
                self.value(&Type::Int);
                let draw = self.random.below(6);
                self.out.jump(opcode(IF_ICMPEQ, draw), 2, to);
            }
            1 => {
                self.value(&Type::object(known::OBJECT));
                let draw = self.random.below(2);
                self.out.jump(opcode(IFNULL, draw), 1, to);
            }
            2 => {
                self.value(&Type::object(known::OBJECT));
                self.value(&Type::object(known::STRING));
                let draw = self.random.below(2);
                self.out.jump(opcode(IF_ACMPEQ, draw), 2, to);
            }
            _ => {
                // It is never negative.
                self.varying();
                let opcode = *self.random.pick(&[IFEQ, IFNE, IFGT, IFLE]);
                self.out.jump(opcode, 1, to);
            }
        }
    }

    /// Throws.
    pub fn throw(&mut self) {
        match self.random.below(4) {
            0 => self.constant(&Type::object(known::THROWABLE)),
            1 => self.out.op(ACONST_NULL, 0, &[Type::Null]),
            2 => self.out.get_static(RUN, "error", &Type::object("java/lang/Error")),
            _ => {
                let raw = self.out.new_twice(FAILURE);
                self.out.string("new");
                self.out.construct(FAILURE, "(Ljava/lang/String;)V", 1, &raw, FAILURE);
            }
        }
        self.mark();
        self.out.op(ATHROW, 1, &[]);
    }

    /// A statement.
    pub fn statement(&mut self, depth: usize) {
        if self.calls_subroutine() {
            return;
        }
        let kind = self.random.below(if self.me.is_quiet { QUIET } else { ALL });
        match kind {
            0..=1 => {
                let of = some_type(self.random);
                self.value(&of);
            }
            2..=4 => self.store_top(),
            5 => {
                let by = if self.random.percent(10) { 1000 } else { self.random.below(20) as i16 };
                self.out.code.increment(self.sum, by);
            }
            6..=7 => {
                self.value(&Type::Int);
                self.add();
            }
            8..=11 => self.shuffle(),
            12..=13 => self.convert_top(),
            14..=16 if depth < 3 => self.diamond(depth),
            17 if depth < 2 => self.looped(depth),
            18..=20 => self.divide(),
            21..=22 => self.array(),
            23 => {
                const CLASSES: [&str; 5] = [known::STRING, known::STRING, known::STRING, "java/lang/Integer", known::INTS];
                self.value(&Type::object(known::OBJECT));
                self.mark();
                let class = *self.random.pick(&CLASSES);
                let constant = self.out.class.pool.class(class);
                if self.random.percent(60) {
                    self.out.op_u2(CHECKCAST, constant, 1, &[Type::object(class)]);
                } else {
                    self.out.op_u2(INSTANCEOF, constant, 1, &[Type::Int]);
                }
            }
            24..=25 => self.field(),
            26 if self.random.percent(40) => {
                self.mark();
                let failing = self.plan.failing.clone();
                if self.random.percent(50) {
                    self.out.get_static(&failing, "number", &Type::Int);
                } else {
                    self.value(&Type::Int);
                    self.out.call_static(&failing, "same", &[Type::Int], &Type::Int);
                }
            }
            27..=28 => {
                self.varying();
                if self.random.percent(30) {
                    self.out.int(1);
                    self.out.op(IOR, 2, &[Type::Int]);
                }
                self.mark();
                self.out.call_static(RUN, "odd", &[Type::Int], &Type::Int);
            }
            29..=35 => self.call(),
            36..=37 if depth < 3 => self.monitor(depth),
            38..=39 if depth < 3 => self.raw(depth),
            40 => {
                let go_on = self.out.code.label();
                self.condition(go_on);
                let state = self.out.state.clone();
                self.mark();
                self.throw();
                self.out.join(go_on, state);
            }
            41 if !self.before && self.held == 0 => {
                let go_on = self.out.code.label();
                self.condition(go_on);
                let state = self.out.state.clone();
                self.finish();
                self.out.join(go_on, state);
            }
            42 if depth == 0 && self.random.percent(8) => self.long_way(),
            43 if self.plan.links && self.random.percent(60) => self.linked(),
            _ => {}
        }
    }

    fn store_top(&mut self) {
        let of = match self.top(0) {
            Some(top) if !top.is_raw() => top,
            _ => {
                let of = some_type(self.random);
                self.value(&of);
                of
            }
        };
        let slots = self.scratch(&of);
        if !slots.is_empty() {
            let slot = *self.random.pick(&slots);
            let short = self.random.percent(80);
            self.out.store(slot, short);
        }
    }

    /// Copies, swaps or drops what is on top.
    fn shuffle(&mut self) {
        // From the top; the kind of instruction depends on which of them are wide.
        let tops = [self.top(0), self.top(1), self.top(2)];
        let draw = self.random.below(4);
        match tops {
            [Some(a), ..] if draw == 0 => {
                self.out.op(if a.is_wide() { POP2 } else { POP }, 1, &[]);
            }
            [Some(a), ..] if draw == 1 => {
                self.out.op(if a.is_wide() { DUP2 } else { DUP }, 0, &[a]);
            }
            [Some(a), Some(b), _] if !a.is_wide() && !b.is_wide() && draw == 2 => {
                self.out.op(SWAP, 2, &[a, b]);
            }
            [Some(a), Some(b), c] => match (a.is_wide(), b.is_wide(), c) {
                (false, false, Some(c)) if !c.is_wide() => match self.random.below(3) {
                    0 => self.out.op(DUP2_X1, 3, &[b.clone(), a.clone(), c, b, a]),
                    1 => self.out.op(DUP_X2, 3, &[a.clone(), c, b, a]),
                    _ => self.out.op(DUP2, 0, &[b, a]),
                },
                (false, false, _) => self.out.op(DUP_X1, 2, &[a.clone(), b, a]),
                (true, false, _) => self.out.op(DUP2_X1, 2, &[a.clone(), b, a]),
                (false, true, _) => self.out.op(DUP_X2, 2, &[a.clone(), b, a]),
                (true, true, _) => self.out.op(DUP2_X2, 2, &[a.clone(), b, a]),
            },
            _ => {}
        }
    }

    /// Computes something from what is on top.
    fn convert_top(&mut self) {
        let is_long = self.top(1) == Some(Type::Long);
        match self.top(0) {
            Some(Type::Int) => {
                let (opcode, to) = *self.random.pick(&[(I2L, &Type::Long), (I2F, &Type::Float), (I2D, &Type::Double)]);
                self.out.op(opcode, 1, std::slice::from_ref(to));
            }
            Some(Type::Long) if is_long && self.random.percent(50) => self.out.op(LCMP, 2, &[Type::Int]),
            Some(Type::Long) if is_long => self.out.op(LADD, 2, &[Type::Long]),
            Some(Type::Long) => self.out.op(L2I, 1, &[Type::Int]),
            Some(Type::Float) => self.out.op(F2I, 1, &[Type::Int]),
            Some(Type::Double) => self.out.op(D2I, 1, &[Type::Int]),
            _ => self.value(&Type::Long),
        }
    }

    /// A division that may be by zero.
    fn divide(&mut self) {
        let is_long = self.random.percent(30);
        let (of, divide, rest) = if is_long { (Type::Long, LDIV, LREM) } else { (Type::Int, IDIV, IREM) };
        self.value(&of);
        self.varying();
        if self.random.percent(30) {
            // Never by zero.
            self.out.int(1);
            self.out.op(IOR, 2, &[Type::Int]);
        }
        if is_long {
            self.out.op(I2L, 1, &[Type::Long]);
        }
        self.mark();
        let opcode = if self.random.percent(50) { divide } else { rest };
        self.out.op(opcode, 2, &[of]);
    }

    /// An array, or none, and an index that may be wrong.
    fn array(&mut self) {
        let ints = Type::object(known::INTS);
        if self.random.percent(40) {
            self.value(&ints);
        } else {
            self.out.ints(4);
        }
        match self.random.below(3) {
            0 => {
                self.mark();
                self.out.op(ARRAYLENGTH, 1, &[Type::Int]);
            }
            1 => {
                self.varying();
                self.mark();
                self.out.op(IALOAD, 2, &[Type::Int]);
            }
            _ => {
                self.varying();
                self.value(&Type::Int);
                self.mark();
                self.out.op(IASTORE, 3, &[]);
            }
        }
    }

    /// Reads or writes a field of class 0, of an object that may be `null`.
    fn field(&mut self) {
        let class = self.plan.classes[FIELDS].name.clone();
        if self.before && self.me.class == FIELDS && self.random.percent(50) {
            // Its own constructor may do that before `super(...)`.
            self.out.load(self.home, true);
            self.value(&Type::Int);
            let field = self.out.class.pool.field(&class, "own", "I");
            self.out.op_u2(PUTFIELD, field, 2, &[]);
            return;
        }
        let (is_static, name, of) = match self.random.below(4) {
            0 => (true, "number", Type::Int),
            1 => (true, "large", Type::Long),
            2 => (false, "own", Type::Int),
            _ => (false, "object", Type::object(known::OBJECT)),
        };
        let field = self.out.class.pool.field(&class, name, &of.descriptor());
        if !is_static {
            self.object(&class);
        }
        let objects = usize::from(!is_static);
        if self.random.percent(50) {
            self.mark();
            self.out.op_u2(if is_static { GETSTATIC } else { GETFIELD }, field, objects, &[of]);
        } else {
            self.value(&of);
            self.mark();
            self.out.op_u2(if is_static { PUTSTATIC } else { PUTFIELD }, field, objects + 1, &[]);
        }
    }
}
