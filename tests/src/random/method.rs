//! A random method: blocks in any order, and exception ranges from anywhere to anywhere.

use super::blocks::Block;
use super::plan::{BASE, Declared, FAILURE, Kind, Plan, RUN, some_type};
use super::splitmix::Random;
use super::typed::Typed;
use super::types::{State, Type, known};
use crate::assemble::op::*;
use crate::assemble::{Class, Code, Label};
use std::rc::Rc;

/// A place where exception ranges may begin and end.
struct Mark {
    at: Label,
    /// Whether what follows is before `super(...)`; `None`: no range may cover it.
    before: Option<bool>,
}

/// Monitors that a method may hold at a time; each has a local.
pub const MONITORS: u16 = 3;

/// A method that is being written.
pub struct Method<'g> {
    /// Draws.
    pub random: &'g mut Random,
    /// What there is to call.
    pub plan: &'g Plan,
    /// What it is.
    pub me: &'g Declared,
    /// Its number in the plan.
    pub number: usize,
    /// Its code so far.
    pub out: Typed<'g>,
    /// The locals whose type never changes, so that handlers may use them.
    pub core: Vec<bool>,
    /// The local that rounds of loops take from: at 0 it is time to leave.
    pub fuel: u16,
    /// The local that everything is added to.
    pub sum: u16,
    /// Where a constructor keeps `this` before `super(...)`: in others, 0.
    pub home: u16,
    /// Locals that values are stored to; behind them are those of monitors and subroutines.
    pub slots: u16,
    /// How much of the stack is not to be touched.
    pub fence: usize,
    /// Monitors held.
    pub held: u16,
    /// Whether `super(...)` is still to come.
    pub before: bool,
    /// Subroutines; each calls the next one only, the method itself the first one only.
    pub subroutines: Vec<Label>,
    /// Of those, how many the code is in.
    pub level: usize,
    /// In the order of their code.
    pub blocks: Vec<Block>,
    marks: Vec<Mark>,
}

/// The code of a method of the plan.
pub fn generate(random: &mut Random, plan: &Plan, number: usize, class: &mut Class) -> Code {
    let me = &plan.methods[number];
    let planned = &plan.classes[me.class];
    let is_constructor = me.kind == Kind::Constructor;
    let has_subroutines = !planned.maps && !is_constructor && !me.is_quiet && random.percent(60);
    let subroutine_count = if has_subroutines { 1 + random.below(3) as u16 } else { 0 };
    let slots = me.slots() + 3 + random.below(6) as u16 + if random.percent(5) { 300 } else { 0 };
    let mut entry = State::empty(slots + MONITORS + subroutine_count);
    let (mut core, sums) = parameters(random, me, &planned.name, &mut entry);
    let fuel = u16::from(me.kind != Kind::Static);
    let sum = if !sums.is_empty() && random.percent(60) { *random.pick(&sums) } else { slots - 1 };
    // Some constructors put `this` elsewhere, so that local 0 is one as any other.
    let home = if is_constructor && random.percent(35) { slots - 2 } else { 0 };
    if is_constructor {
        core[0] = false;
        core[usize::from(home)] = true;
    }
    core[usize::from(fuel)] = true;
    core[usize::from(sum)] = true;
    let mut method = Method {
        random,
        plan,
        me,
        number,
        out: Typed::new(class, planned.maps, entry),
        core,
        fuel,
        sum,
        home,
        slots,
        fence: 0,
        held: 0,
        before: is_constructor,
        subroutines: Vec::new(),
        level: 0,
        blocks: Vec::new(),
        marks: Vec::new(),
    };
    method.subroutines = (0..subroutine_count).map(|_| method.out.code.label()).collect();
    method.plan_blocks();
    (0..method.blocks.len()).for_each(|block| method.block(block));
    (0..method.subroutines.len()).for_each(|subroutine| method.subroutine(subroutine));
    method.mark();
    method.handlers();
    if is_constructor && !planned.maps || has_subroutines {
        method.rethrow();
    }
    method.out.code
}

/// Puts what the caller gives into the locals. Answers which of them shall never change, and those that are an `int`, but for the
/// first.
fn parameters(random: &mut Random, me: &Declared, class: &Rc<str>, entry: &mut State) -> (Vec<bool>, Vec<u16>) {
    let mut core = vec![false; entry.locals.len()];
    let (mut slot, mut ints) = (0, Vec::new());
    if me.kind != Kind::Static {
        entry.set(0, if me.kind == Kind::Constructor { Type::This } else { Type::Object(class.clone()) });
        core[0] = random.percent(60);
        slot = 1;
    }
    for (number, parameter) in me.parameters.iter().enumerate() {
        entry.set(slot, parameter.clone());
        let keeps = random.percent(50);
        let next = slot + parameter.slots();
        core[usize::from(slot)..usize::from(next)].fill(keeps);
        ints.extend((*parameter == Type::Int && number > 0).then_some(slot));
        slot = next;
    }
    (core, ints)
}

impl Method<'_> {
    /// Whether its class has stack maps.
    pub fn maps(&self) -> bool {
        self.plan.classes[self.me.class].maps
    }

    /// Whether it is a constructor.
    pub fn is_constructor(&self) -> bool {
        self.me.kind == Kind::Constructor
    }

    /// An exception range may begin or end here.
    pub fn mark(&mut self) {
        // From a handler, code that calls subroutines is reached; of those that are left by an exception the verifier has it that
        // they call themselves.
        let before = (self.level == 0).then_some(self.before);
        self.marks.push(Mark { at: self.out.code.here(), before });
    }

    /// Up to the next mark, no exception range covers what follows.
    pub fn close(&mut self) {
        self.marks.push(Mark { at: self.out.code.here(), before: None });
    }

    /// What is in the locals that never change, and nothing else.
    pub fn core_state(&self) -> State {
        self.core_of(&self.out.state)
    }

    /// What of a state never changes.
    pub fn core_of(&self, state: &State) -> State {
        let locals = state.locals.iter().zip(&self.core);
        State { locals: locals.map(|(local, core)| if *core { local.clone() } else { Type::Top }).collect(), stack: Vec::new() }
    }

    /// What a block 0 begins with: the locals that later code relies on.
    pub fn prologue(&mut self) {
        if self.home != 0 {
            self.out.load(0, true);
            self.out.store(self.home, true);
            // Where nothing is stored to local 0, stack maps may say all the same that nothing is in it.
            if self.random.percent(50) {
                let of = some_type(self.random);
                let of = if of.is_wide() { Type::Int } else { of };
                self.constant(&of);
                self.out.store(0, true);
            }
        }
        if self.out.state.locals[usize::from(self.sum)] != Type::Int {
            self.out.load(self.fuel, true);
            self.out.store(self.sum, true);
        }
        if !self.me.is_quiet && !self.is_constructor() {
            self.guard();
        }
    }

    /// Returns at once where there have been calls enough.
    fn guard(&mut self) {
        let go_on = self.out.code.label();
        self.out.get_static(RUN, "fuel", &Type::Int);
        self.out.int(1);
        self.out.op(ISUB, 2, &[Type::Int]);
        self.out.op(DUP, 0, &[Type::Int]);
        self.out.put_static(RUN, "fuel", &Type::Int);
        self.out.jump(IFGT, 1, go_on);
        let state = self.out.state.clone();
        self.finish();
        self.out.join(go_on, state);
    }

    /// A subroutine; where it begins, the address that it returns to is on the stack.
    fn subroutine(&mut self, number: usize) {
        let address = self.slots + MONITORS + number as u16;
        let mut state = self.core_state();
        state.stack.push(Type::Address);
        self.level = number + 1;
        self.out.join(self.subroutines[number], state);
        self.mark();
        self.out.store(address, true);
        for _ in 0..self.random.below(6) {
            self.mark();
            self.statement(1);
        }
        self.out.pop_to(0);
        self.mark();
        if self.random.percent(15) {
            self.throw();
        } else {
            self.out.code.local(RET, address);
        }
    }

    /// The exception table: rows from one mark to another, in any order, for any handler that is in the same part of a
    /// constructor.
    fn handlers(&mut self) {
        const CLASSES: [&str; 8] = [
            known::THROWABLE,
            "java/lang/RuntimeException",
            "java/lang/ArithmeticException",
            "java/lang/NullPointerException",
            "java/lang/ArrayIndexOutOfBoundsException",
            "java/lang/Error",
            "java/lang/ClassCastException",
            FAILURE,
        ];
        let handlers: Vec<(Label, bool)> = self.blocks.iter().filter(|b| b.is_handler).map(|b| (b.label, b.before)).collect();
        if handlers.is_empty() {
            return;
        }
        for _ in 0..1 + self.random.below(3 * handlers.len() + 3) {
            let &(handler, before) = self.random.pick(&handlers);
            let from = if self.random.percent(20) {
                // From itself on.
                self.marks.iter().position(|mark| self.out.code.is_same(mark.at, handler)).unwrap_or(0)
            } else {
                self.random.below(self.marks.len())
            };
            let most = if self.random.percent(40) { 3 } else { self.marks.len() };
            let length = 1 + self.random.below(most);
            let class = if self.random.percent(40) { None } else { Some(*self.random.pick(&CLASSES)) };
            self.row(from, length, handler, before, class);
        }
        if self.random.percent(60) {
            // Whatever else is thrown.
            let &(handler, before) = self.random.pick(&handlers);
            let mut from = 0;
            while from < self.marks.len() {
                from += self.row(from, self.marks.len(), handler, before, None).max(1);
            }
        }
    }

    /// A row of the exception table from one mark over some others, as far as the handler may be. Answers how many these are.
    fn row(&mut self, from: usize, most: usize, handler: Label, before: bool, class: Option<&str>) -> usize {
        let open = self.marks[from..].iter().take_while(|mark| mark.before == Some(before)).count();
        let length = most.min(open).min(self.marks.len() - 1 - from);
        let (start, end) = (self.marks[from].at, self.marks[from + length].at);
        if self.out.code.is_between(start, end) {
            let class = class.map_or(0, |class| self.out.class.pool.class(class));
            self.out.code.handler([start, end, handler], class);
        }
        length
    }

    /// A handler that covers anything: where there are no stack maps, `super(...)` may be covered, too, if the handler does not
    /// return.
    fn rethrow(&mut self) {
        let from = self.random.below(self.marks.len());
        let to = self.random.below(self.marks.len());
        let (from, to) = (self.marks[from.min(to)].at, self.marks[from.max(to)].at);
        let handler = self.out.code.here();
        self.out.code.increment(self.sum, 1);
        self.out.op(ATHROW, 0, &[]);
        if self.out.code.is_between(from, to) {
            self.out.code.handler([from, to, handler], 0);
        }
    }

    /// Calls `super(...)` or `this(...)`, which no handler may cover. If that is not the end of a block, but a way out, nothing
    /// else happens there.
    pub fn call_super(&mut self, is_end: bool) {
        let plan = self.plan;
        let class = &plan.classes[self.me.class];
        self.out.load(self.home, true);
        if is_end && self.random.percent(30) {
            // A branch while `this` is on the stack.
            self.diamond(2);
        }
        let is_near = |m: &&Declared| m.class == self.me.class || plan.classes[m.class].name == class.parent;
        let later = plan.methods[self.number + 1..].iter().filter(|m| m.kind == Kind::Constructor).filter(is_near);
        let later: Vec<&Declared> = later.collect();
        let (owner, descriptor, arguments) = if is_end && !later.is_empty() && self.random.percent(50) {
            let other = *self.random.pick(&later);
            self.arguments(other);
            (plan.classes[other.class].name.clone(), other.descriptor(), other.parameters.len())
        } else if *class.parent == *BASE {
            self.value(&Type::Int);
            (class.parent.clone(), "(I)V".into(), 1)
        } else {
            (class.parent.clone(), "()V".into(), 0)
        };
        self.close();
        self.out.construct(&owner, &descriptor, arguments, &Type::This, &class.name);
        self.before = false;
        self.mark();
    }
}
