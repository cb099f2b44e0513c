//! Per method, how its counters and departures become cycles.

use super::EvaluateError;
use crate::code::{CodeError, Costs, for_each_method};
use crate::flow::EdgeKind;
use crate::model::{Departure, DepartureKind, Level, Method, Profile};
use crate::recover::{Recovery, Weights};
use crate::target::{CycleEstimator, InvokeKind, TargetError};
use cprof_instrument::classfile::instructions::{Instruction, Instructions};
use cprof_instrument::classfile::opcode::op;

/// A quantity that a block's execution adds to, bytecode by bytecode.
struct Linear {
    weights: Weights,
    costs: Costs,
}

/// What is needed to evaluate a method's nodes.
pub(super) struct Rule {
    cycles: Linear,
    estimated: Linear,
    /// Every bytecode's cycles, calls without.
    thrower: Costs,
    returns: Weights,
    /// The method's return instruction: the descriptor fixes it (JVMS §4.9.2). None in a method that never returns.
    pub(super) return_opcode: Option<u8>,
    /// What has not completed costs nothing, but for calls.
    only_completed: bool,
    /// What a return costs on a hit.
    pub(super) return_cost: u64,
    /// The method's size in words.
    pub(super) words: u32,
    recovery: Recovery,
}

/// The rule of every method that ran. `invoke_cost` is what executing an invoke is charged by itself, whoever it called.
pub(super) fn rules(
    profile: &Profile,
    estimator: &dyn CycleEstimator,
    invoke_cost: &dyn Fn(InvokeKind) -> Result<u64, TargetError>,
) -> Result<Vec<Option<Rule>>, EvaluateError> {
    let mut rules: Vec<Option<Rule>> = (0..profile.methods.len()).map(|_| None).collect();
    let mut ran = vec![false; profile.methods.len()];
    for &method in &profile.nodes.method {
        // Roots and folded contexts are of no method.
        if let Some(ran) = ran.get_mut(method as usize) {
            *ran = true;
        }
    }
    // Both kinds of errors come out of the closure; this one has no class to blame.
    let mut refused: Option<TargetError> = None;
    let done = for_each_method(profile, |m, class, method| {
        if !ran[m] {
            return Ok(());
        }
        let name = &profile.methods[m].name;
        let fail = |reason: String| CodeError { class: class.name_str().into_owned(), reason };
        let flow = &profile.methods[m].flow;
        let recovery = Recovery::new(flow).map_err(|e| fail(format!("flow of {name}: {e}")))?;
        let code = class.code(method).map_err(|e| fail(e.to_string()))?;
        let code = code.ok_or_else(|| fail(format!("{name} has no code")))?;
        let mut return_opcode = None;
        for instruction in Instructions::new(code.bytes, code.at) {
            let instruction = instruction.map_err(|e| fail(e.to_string()))?;
            if instruction.is_return() {
                return_opcode = Some(instruction.opcode);
            }
        }
        let mut price = |instruction: &Instruction<'_>| -> (u64, bool) {
            let priced = match InvokeKind::of_opcode(instruction.opcode) {
                Some(kind) => invoke_cost(kind).map(|cycles| (cycles, false)),
                None if instruction.is_return() => Ok((0, false)),
                None => estimator.bytecode(instruction).map(|c| (c.cycles, c.estimated)),
            };
            priced.unwrap_or_else(|e| {
                refused.get_or_insert(e);
                (0, false)
            })
        };
        let cycles = Costs::by(code.bytes, code.at, |i| price(i).0).map_err(|e| fail(e.to_string()))?;
        let estimated = |i: &Instruction<'_>| match price(i) {
            (cycles, true) => cycles,
            (_, false) => 0,
        };
        let estimated = Costs::by(code.bytes, code.at, estimated).map_err(|e| fail(e.to_string()))?;
        let thrower = |i: &Instruction<'_>| if InvokeKind::of_opcode(i.opcode).is_some() { 0 } else { price(i).0 };
        let thrower = Costs::by(code.bytes, code.at, thrower).map_err(|e| fail(e.to_string()))?;
        let return_cost = match return_opcode.map(|opcode| estimator.leave(opcode, None)) {
            None => 0,
            Some(Ok(cost)) => cost,
            Some(Err(e)) => {
                refused.get_or_insert(e);
                0
            }
        };
        let entered = |costs: &Costs, to: u32| flow.blocks.get(to as usize).map_or(0, |b| costs.range(b.start, b.end));
        let linear = |costs: Costs| {
            let per_edge = flow.edges.iter().map(|e| entered(&costs, e.to)).collect();
            Linear { weights: recovery.weigh(flow, per_edge), costs }
        };
        let is_return = |e: &crate::flow::Edge| i64::from(e.kind == EdgeKind::Return);
        let returns = recovery.weigh(flow, flow.edges.iter().map(is_return).collect());
        let (cycles, estimated) = (linear(cycles), linear(estimated));
        let words = estimator.words(code.bytes.len() as u32);
        let only_completed = estimator.only_completed();
        rules[m] =
            Some(Rule { cycles, estimated, thrower, returns, return_opcode, only_completed, return_cost, words, recovery });
        Ok(())
    });
    match (refused, done) {
        (Some(e), _) => Err(e.into()),
        (None, Err(e)) => Err(e.into()),
        (None, Ok(())) => Ok(rules),
    }
}

impl Linear {
    fn of(&self, method: &Method, counters: &[u64], departures: &[Departure]) -> i64 {
        let mut sum = self.weights.dot(counters);
        for d in departures {
            let Some(block) = method.flow.block_at(d.bci) else { continue };
            let mut cost = self.weights.departures[block];
            if method.level == Level::Precise {
                cost = cost.wrapping_sub(self.costs.range(d.bci + 1, method.flow.blocks[block].end));
            }
            sum = sum.wrapping_add(cost.wrapping_mul(d.count));
        }
        sum
    }
}

/// A node's own numbers, before calls and misses.
pub(super) struct Own {
    /// Cycles of bytecodes and of returns that hit.
    pub(super) cycles: u64,
    /// Those of them that are averages.
    pub(super) estimated: u64,
    /// Those of bytecodes that threw.
    pub(super) exceptions: u64,
    /// Those of both.
    pub(super) estimated_exceptions: u64,
    /// Normal returns.
    pub(super) returns: u64,
}

impl Rule {
    pub(super) fn own(&self, method: &Method, counters: &[u64], departures: &[Departure]) -> Own {
        let mut returns = self.returns.dot(counters);
        for d in departures {
            if let Some(block) = method.flow.block_at(d.bci) {
                returns = returns.wrapping_add(self.returns.departures[block].wrapping_mul(d.count));
            }
        }
        let returns = returns.max(0) as u64;
        let mut cycles = self.cycles.of(method, counters, departures);
        let mut estimated = self.estimated.of(method, counters, departures);
        if self.only_completed && method.level == Level::Precise {
            for d in departures {
                cycles = cycles.wrapping_sub(self.thrower.range(d.bci, d.bci + 1).wrapping_mul(d.count));
                estimated = estimated.wrapping_sub(self.estimated.costs.range(d.bci, d.bci + 1).wrapping_mul(d.count));
            }
        }
        let (mut exceptions, mut estimated_exceptions) = (0i64, 0i64);
        // Nothing is to be taken from what has not counted.
        let threw = departures.iter().filter(|d| d.kind != DepartureKind::Active && !self.only_completed);
        for d in threw {
            let Some(bci) = method.thrower(d.bci) else { continue };
            let cost = self.thrower.range(bci, bci + 1);
            exceptions = exceptions.wrapping_add(cost.wrapping_mul(d.count));
            if cost > 0 {
                let estimated = self.estimated.costs.range(bci, bci + 1);
                estimated_exceptions = estimated_exceptions.wrapping_add(estimated.wrapping_mul(d.count));
            }
        }
        Own {
            cycles: (cycles.max(0) as u64).saturating_add(self.return_cost.saturating_mul(returns)),
            estimated: estimated.max(0) as u64,
            exceptions: exceptions.max(0) as u64,
            estimated_exceptions: estimated_exceptions.max(0) as u64,
            returns,
        }
    }

    /// How often bytecodes were executed, by bytecode index.
    pub(super) fn executions<'m>(
        &self,
        method: &'m Method,
        counters: &[u64],
        departures: &'m [Departure],
    ) -> impl Fn(u32) -> u64 + use<'m> {
        let mut left = Vec::new();
        method.left(departures, &mut left);
        let entered = self.recovery.blocks(&method.flow, counters, &left);
        move |bci| match method.flow.block_at(bci) {
            Some(block) => method.executions(block, bci, entered[block], departures).max(0) as u64,
            None => 0,
        }
    }

    /// The return instruction, for what a missed return costs.
    pub(super) fn return_opcode(&self) -> u8 {
        self.return_opcode.unwrap_or(op::RETURN)
    }
}
