//! The blocks of a method: what each expects in locals and on the stack, and how each ends.

use super::method::Method;
use super::plan::{RUN, some_type};
use super::types::{State, Type, known};
use crate::assemble::Label;
use crate::assemble::op::*;

/// A block.
pub struct Block {
    /// Where it begins.
    pub label: Label,
    /// What it expects there.
    shape: State,
    /// Whether it is before `super(...)`.
    pub before: bool,
    /// Whether exceptions may lead to it.
    pub is_handler: bool,
    /// Whether jumps may.
    is_target: bool,
    /// Whether one does.
    is_led_to: bool,
}

impl Method<'_> {
    /// Draws which blocks there are.
    pub fn plan_blocks(&mut self) {
        let entry = self.out.state.clone();
        // What is so behind the prologue.
        let mut settled = entry.clone();
        settled.set(self.sum, Type::Int);
        if self.is_constructor() {
            settled.set(self.home, Type::This);
        }
        let sum_is_given = entry.locals[usize::from(self.sum)] == Type::Int;
        let first = Block {
            label: self.out.code.label(),
            shape: entry,
            before: self.is_constructor(),
            is_handler: false,
            // A jump to bytecode 0 finds what the caller has put into the locals.
            is_target: sum_is_given && self.home == 0 && self.random.percent(50),
            is_led_to: true,
        };
        let (before, after) = if self.is_constructor() {
            (self.random.below(4), 1 + self.random.below(4))
        } else if self.me.is_quiet {
            (0, self.random.below(4))
        } else {
            let most = if self.random.percent(20) { 16 } else { 7 };
            (0, 1 + self.random.below(most))
        };
        let mut blocks = self.part(before, true, &settled);
        settled.initialise(&Type::This, &self.plan.classes[self.me.class].name);
        let later = self.part(after, false, &settled);
        blocks.extend(later);
        for at in (1..blocks.len()).rev() {
            let other = self.random.below(at + 1);
            blocks.swap(at, other);
        }
        blocks.insert(0, first);
        self.blocks = blocks;
    }

    /// Blocks before or after `super(...)`.
    fn part(&mut self, count: usize, before: bool, settled: &State) -> Vec<Block> {
        let shapes: Vec<State> = (0..1 + self.random.below(3)).map(|_| self.shape(settled)).collect();
        let mut blocks = Vec::new();
        for at in 0..count {
            // One at least is there for jumps.
            let is_handler = at > 0 && !self.me.is_quiet && self.random.percent(33);
            let mut shape = self.random.pick(&shapes).clone();
            if is_handler {
                shape = self.core_of(settled);
                shape.stack.push(Type::object(known::THROWABLE));
            }
            blocks.push(Block {
                label: self.out.code.label(),
                shape,
                before,
                is_handler,
                is_target: true,
                is_led_to: is_handler,
            });
        }
        blocks
    }

    /// The locals that never change, some others, perhaps something on the stack.
    fn shape(&mut self, settled: &State) -> State {
        let mut shape = self.core_of(settled);
        for slot in 0..self.slots {
            let of = some_type(self.random);
            let slots = usize::from(slot)..usize::from(slot + of.slots());
            let is_free = slots.end <= self.slots.into()
                && slots.clone().all(|at| !self.core[at])
                && shape.locals[slots].iter().all(|local| *local == Type::Top);
            if is_free && self.random.percent(if slot > 255 { 2 } else { 40 }) {
                shape.set(slot, of);
            }
        }
        if self.random.percent(40) {
            let most = if self.random.percent(10) { 20 } else { 4 };
            shape.stack = (0..1 + self.random.below(most)).map(|_| some_type(self.random)).collect();
        }
        shape
    }

    /// Writes a block.
    pub fn block(&mut self, number: usize) {
        let Block { label, before, is_handler, is_target, .. } = self.blocks[number];
        let shape = self.blocks[number].shape.clone();
        self.before = before;
        if number == 0 && !is_target {
            self.out.code.place(label);
        } else {
            self.out.join(label, shape);
        }
        if number == 0 {
            self.prologue();
        }
        self.mark();
        if is_handler {
            self.burn();
        }
        let most = if self.is_constructor() { 3 } else { 5 };
        self.statements(0, most);
        let goes_on = self.end(number);
        if !goes_on && self.random.percent(15) {
            self.garbage();
        }
    }

    /// A block that jumps may lead to from this part of the method; often one to which none does yet.
    fn target(&mut self) -> Option<usize> {
        let before = self.before;
        let targets: Vec<usize> =
            (0..self.blocks.len()).filter(|&at| self.blocks[at].is_target && self.blocks[at].before == before).collect();
        let new: Vec<usize> = targets.iter().copied().filter(|&at| !self.blocks[at].is_led_to).collect();
        let among = if !new.is_empty() && self.random.percent(70) { &new } else { &targets };
        (!among.is_empty()).then(|| *self.random.pick(among))
    }

    /// Makes locals and stack what a block expects; on a way back, fuel burns.
    fn go_to(&mut self, from: usize, to: usize) {
        let shape = self.blocks[to].shape.clone();
        self.blocks[to].is_led_to = true;
        self.convert(&shape);
        if to <= from {
            self.burn();
        }
    }

    /// Writes how a block ends. Answers whether control goes on behind it.
    fn end(&mut self, number: usize) -> bool {
        let is_last = number + 1 == self.blocks.len();
        if self.before && (self.random.percent(55) || is_last) {
            self.call_super(true);
            self.statements(1, 2);
        }
        let next = (!is_last && self.blocks[number + 1].before == self.before).then_some(number + 1);
        let target = self.target();
        // Few methods end with their first block.
        let most = if number == 0 && target.is_some() { 16 } else { 18 };
        match (self.random.below(most), target, next) {
            (0..=4, Some(target), Some(next)) => {
                if self.random.percent(60) {
                    self.go_to(number, target);
                    self.mark();
                    self.condition(self.blocks[target].label);
                    self.mark();
                }
                self.go_to(number, next);
                true
            }
            (5..=6, Some(target), _) => {
                self.go_to(number, target);
                self.mark();
                self.goto(self.blocks[target].label);
                false
            }
            (7..=11, Some(one), _) => {
                self.go_to(number, one);
                self.condition(self.blocks[one].label);
                let other = self.target().unwrap_or(one);
                self.go_to(number, other);
                self.goto(self.blocks[other].label);
                false
            }
            (12..=15, Some(target), _) => {
                self.go_to(number, target);
                self.switch(number, target);
                false
            }
            (16, ..) if !self.me.is_quiet => {
                self.throw();
                false
            }
            _ if self.before => {
                self.call_super(true);
                self.finish();
                false
            }
            _ if !self.maps() && !self.is_constructor() && self.random.percent(20) => {
                // A subroutine that does not return to where it was called.
                let label = self.out.code.label();
                self.out.code.jump(JSR, label);
                self.out.code.emit(&[ACONST_NULL, ATHROW]);
                self.out.code.place(label);
                self.out.effect(0, &[Type::Address]);
                self.out.pop();
                self.finish();
                false
            }
            _ => {
                self.mark();
                self.finish();
                false
            }
        }
    }

    /// A jump without condition.
    fn goto(&mut self, to: Label) {
        let opcode = if self.random.percent(20) { GOTO_W } else { GOTO };
        self.out.jump(opcode, 0, to);
    }

    /// A switch to a block and others that expect the same.
    fn switch(&mut self, number: usize, target: usize) {
        let Block { shape, before, .. } = &self.blocks[target];
        let alike = |at: &usize| {
            let block = &self.blocks[*at];
            block.is_target && block.before == *before && block.shape == *shape
        };
        let alike: Vec<usize> = (0..self.blocks.len()).filter(alike).collect();
        let most = if self.random.percent(5) { 200 } else { 6 };
        let count = 1 + self.random.below(most);
        let cases: Vec<usize> = (0..count).map(|_| *self.random.pick(&alike)).collect();
        if target > number && cases.iter().any(|&case| case <= number) {
            self.burn();
        }
        self.mark();
        self.varying();
        self.mark();
        self.out.effect(1, &[]);
        cases.iter().for_each(|&case| self.blocks[case].is_led_to = true);
        let labels: Vec<Label> = cases.iter().map(|&case| self.blocks[case].label).collect();
        let default = self.blocks[target].label;
        if self.random.percent(50) {
            let low = self.random.below(3) as i32 - 1;
            self.out.code.table(low, &labels, default);
        } else {
            let mut key = -1;
            let mut pairs = Vec::new();
            for label in labels {
                pairs.push((key, label));
                key += 1 + self.random.below(3) as i32;
            }
            self.out.code.lookup(&pairs, default);
        }
    }

    /// Takes one from the fuel and leaves if none is left. What it executes throws nothing, so that handlers come to an end, too.
    pub fn burn(&mut self) {
        let go_on = self.out.code.label();
        self.out.code.increment(self.fuel, -1);
        self.out.load(self.fuel, true);
        self.out.jump(IFGT, 1, go_on);
        let (state, before) = (self.out.state.clone(), self.before);
        if before {
            self.call_super(false);
        }
        self.finish();
        self.before = before;
        self.out.join(go_on, state);
        self.mark();
    }

    /// Returns; what is on the stack besides goes with the frame.
    pub fn finish(&mut self) {
        let Some(result) = &self.me.result else {
            self.out.op(RETURN, 0, &[]);
            return;
        };
        self.value(result);
        let opcode = match result {
            Type::Int => IRETURN,
            Type::Long => LRETURN,
            Type::Float => FRETURN,
            Type::Double => DRETURN,
            _ => ARETURN,
        };
        self.out.op(opcode, 1, &[]);
    }

    /// Makes locals and stack what is expected somewhere.
    pub fn convert(&mut self, to: &State) {
        let stacks = self.out.state.stack.iter().zip(&to.stack);
        let same = stacks.take_while(|(mine, theirs)| mine.fits(theirs)).count();
        self.out.pop_to(same);
        self.convert_locals(to);
        for of in &to.stack[same..] {
            self.value(of);
        }
        assert!(self.out.state.fits(to), "{:?} is not {to:?}", self.out.state);
    }

    /// Makes locals what is expected somewhere.
    pub fn convert_locals(&mut self, to: &State) {
        for slot in 0..to.locals.len() {
            let of = &to.locals[slot];
            if *of != Type::Half && !self.out.state.locals[slot].fits(of) {
                self.constant(of);
                self.out.store(slot as u16, true);
            }
        }
    }

    /// Code that nothing leads to, as ASM leaves it, or without a meaning where the verifier does not look.
    fn garbage(&mut self) {
        self.close();
        if self.maps() {
            let mut state = State::empty(self.out.code.max_locals);
            state.stack.push(Type::object(known::THROWABLE));
            let label = self.out.code.label();
            self.out.join(label, state);
            let length = self.random.below(5);
            self.out.code.emit(&vec![NOP; length]);
        } else {
            for _ in 0..1 + self.random.below(4) {
                match self.random.below(5) {
                    0 => self.out.code.emit(&[IADD]),
                    1 => self.out.code.emit(&[IALOAD]),
                    2 => self.out.code.emit(&[POP2]),
                    3 => {
                        let method = self.out.class.pool.method(RUN, "odd", "(I)I");
                        self.out.code.emit_u2(INVOKESTATIC, method);
                    }
                    _ => {
                        let to = self.random.below(self.blocks.len());
                        self.out.code.jump(IFEQ, self.blocks[to].label);
                    }
                }
            }
        }
        self.out.code.emit(&[ATHROW]);
        self.mark();
    }
}
