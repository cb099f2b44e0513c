//! Where the cycles of a method arise: the ledger of [`cprof_profile::cycles`], entry by entry, placed on bytecodes.
//!
//! Bytecodes cost what they cost by themselves, as often as they were executed. Calls stand at the invoke that made them, as far
//! as that is known: where one site only was executed that may have called, or where all executions of several became calls.
//! Misses on entry stand at the invoke, misses on return at the return. What cannot be placed is answered apart, so that the sum
//! stays that of the report.

use crate::method::build::{Counted, Instructed};
use crate::method::{Elsewhere, Why};
use cprof_profile::cycles::ledger::{Charge, Reason};
use cprof_profile::cycles::{EvaluateError, Options, evaluate_into};
use cprof_profile::flow::EdgeKind;
use cprof_profile::measure::Measures;
use cprof_profile::model::{DepartureKind, NativeSite, Profile};
use cprof_profile::natives::{NativeCalls, NotTold};
use cprof_profile::target::{CycleEstimator, InvokeKind, TargetError};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Call sites that may have made a call.
type Sites = Box<[(u32, InvokeKind)]>;

/// What the chosen contexts of a method were charged.
#[derive(Debug, Clone, Default)]
struct Of {
    /// Some of its bytecodes threw, and are left out.
    exceptions_left_out: bool,
    return_misses: i64,
    upcalls: i64,
    /// Number of calls, cycles.
    calls: FxHashMap<Sites, (u64, i64)>,
    call_misses: FxHashMap<Sites, i64>,
    /// By native and site: number of calls, cycles.
    natives: FxHashMap<(u32, u32), (u64, i64)>,
}

/// The charges of all chosen contexts, by method, and within it by group.
pub struct Charges<'a> {
    profile: &'a Profile,
    estimator: &'a dyn CycleEstimator,
    /// Invokes are charged where they were executed, as callers are not all known.
    by_execution: bool,
    not_told: NotTold,
    /// By method and group.
    groups: FxHashMap<(u32, u32), Of>,
}

impl<'a> Charges<'a> {
    /// Evaluates a profile once more, and keeps what the chosen nodes were charged. `measures` and `natives` are those of the
    /// same profile, `options` those that `measures` was evaluated with.
    ///
    /// # Errors
    /// Those of [`cprof_profile::cycles::evaluate()`].
    pub fn collect(
        profile: &'a Profile,
        measures: &Measures,
        natives: &[NativeCalls],
        estimator: &'a dyn CycleEstimator,
        options: &Options,
        nodes: &[bool],
    ) -> Result<Charges<'a>, EvaluateError> {
        Charges::by_group(profile, measures, natives, estimator, options, nodes, |_| 0)
    }

    /// As [`Charges::collect`], apart by the `group` of each node.
    ///
    /// # Errors
    /// As there.
    pub fn by_group(
        profile: &'a Profile,
        measures: &Measures,
        natives: &[NativeCalls],
        estimator: &'a dyn CycleEstimator,
        options: &Options,
        nodes: &[bool],
        group: impl Fn(u32) -> u32,
    ) -> Result<Charges<'a>, EvaluateError> {
        let mut groups: FxHashMap<(u32, u32), Of> = FxHashMap::default();
        let mut keep = |charge: Charge<'_>| {
            if nodes.get(charge.node as usize) == Some(&true) && charge.cycles != 0 {
                let key = (profile.nodes.method[charge.node as usize], group(charge.node));
                groups.entry(key).or_default().enter(&charge);
            }
        };
        evaluate_into(profile, measures, natives, estimator, options, &mut keep)?;
        let by_execution = profile.run.bounded || profile.run.folded;
        Ok(Charges { profile, estimator, by_execution, not_told: NotTold::of(profile), groups })
    }

    /// Places what a group of the chosen contexts of a method was charged.
    pub(crate) fn place(&self, method: u32, group: u32, counted: &Counted<'_, '_>) -> Result<Placed, TargetError> {
        let nothing = Of::default();
        let of = self.groups.get(&(method, group)).unwrap_or(&nothing);
        let mut placing = Placing {
            counted,
            only_completed: self.estimator.only_completed(),
            cycles: vec![0; counted.code.instructions.len()],
            elsewhere: BTreeMap::new(),
        };
        let prices = self.prices(counted.code)?;
        placing.code(&prices);
        if of.exceptions_left_out {
            placing.exceptions(&prices);
        }
        placing.returns(of);
        placing.elsewhere(Why::Upcalls, of.upcalls);
        for (sites, &(calls, cycles)) in &of.calls {
            placing.calls(sites, calls, cycles);
        }
        for (sites, &cycles) in &of.call_misses {
            placing.misses(sites, cycles);
        }
        for (&(native, site), &(calls, cycles)) in &of.natives {
            let of_call = |s: &&NativeSite| s.native == native && self.not_told.is_told(s);
            let opcode = |bci| counted.code.row_at(bci).map(|row| counted.code.instructions[row].opcode);
            let kind = |bci| opcode(bci).and_then(InvokeKind::of_opcode).unwrap_or(InvokeKind::Vm);
            let sites = self.profile.native_sites_at(method, site).iter().filter(of_call);
            let sites: Vec<_> = sites.map(|s| (s.bci, kind(s.bci))).collect();
            placing.calls(&sites, calls, cycles);
        }
        Ok(placing.finish())
    }

    /// What each bytecode costs by itself, once: its cycles, and whether they are an invoke's.
    fn prices(&self, code: &Instructed<'_>) -> Result<Vec<Price>, TargetError> {
        let price = |i: &cprof_instrument::classfile::instructions::Instruction<'_>| {
            Ok(match InvokeKind::of_opcode(i.opcode) {
                Some(kind) if self.by_execution => Price::Call(self.estimator.invoke(kind, None)?),
                Some(_) => Price::Call(0),
                None if i.is_return() => Price::Return(self.estimator.leave(i.opcode, None)?),
                None => Price::Bytecode(self.estimator.bytecode(i)?.cycles),
            })
        };
        code.instructions.iter().map(price).collect()
    }
}

impl Of {
    fn enter(&mut self, charge: &Charge<'_>) {
        let add = |sum: &mut i64| *sum = sum.wrapping_add(charge.cycles);
        let add_calls = |sum: &mut (u64, i64), calls: u64| {
            sum.0 = sum.0.wrapping_add(calls);
            add(&mut sum.1);
        };
        match charge.reason {
            // They follow from the counts.
            Reason::Code => {}
            Reason::ExceptionsLeftOut => self.exceptions_left_out = true,
            Reason::ReturnMisses => add(&mut self.return_misses),
            Reason::Upcalls => add(&mut self.upcalls),
            Reason::CallMisses { sites } => match self.call_misses.get_mut(sites) {
                Some(sum) => add(sum),
                None => add(self.call_misses.entry(sites.into()).or_default()),
            },
            Reason::Calls { sites, calls } => match self.calls.get_mut(sites) {
                Some(sum) => add_calls(sum, calls),
                None => add_calls(self.calls.entry(sites.into()).or_default(), calls),
            },
            Reason::NativeCalls { native, site, calls } => add_calls(self.natives.entry((native, site)).or_default(), calls),
        }
    }
}

/// What an execution costs by itself.
#[derive(Debug, Clone, Copy)]
enum Price {
    Bytecode(u64),
    Call(u64),
    /// Of each normal return.
    Return(u64),
}

/// The cycles of a method on their way to the rows.
struct Placing<'a, 'p> {
    counted: &'a Counted<'a, 'p>,
    only_completed: bool,
    cycles: Vec<i64>,
    elsewhere: BTreeMap<Why, i64>,
}

impl Placing<'_, '_> {
    fn add(&mut self, row: usize, cycles: i64) {
        self.cycles[row] = self.cycles[row].wrapping_add(cycles);
    }

    fn elsewhere(&mut self, why: Why, cycles: i64) {
        let sum = self.elsewhere.entry(why).or_default();
        *sum = sum.wrapping_add(cycles);
    }

    fn code(&mut self, prices: &[Price]) {
        for (row, price) in prices.iter().enumerate() {
            let cycles = match price {
                Price::Bytecode(price) if self.only_completed => self.counted.completed(row).wrapping_mul(*price as i64),
                Price::Bytecode(price) | Price::Call(price) => self.counted.executions[row].wrapping_mul(*price as i64),
                Price::Return(price) => {
                    self.counted.leaving(self.counted.code.blocks[row], EdgeKind::Return).wrapping_mul(*price as i64)
                }
            };
            self.add(row, cycles);
        }
    }

    /// Takes back what threw. Where a method was counted by blocks, that is known of blocks only that always end so.
    fn exceptions(&mut self, prices: &[Price]) {
        for d in self.counted.counts.departed.iter().filter(|d| d.kind != DepartureKind::Active) {
            let code = self.counted.code;
            let Some(row) = code.method.thrower(d.bci).and_then(|bci| code.row_at(bci)) else { continue };
            if let Price::Bytecode(price) = prices[row] {
                self.add(row, d.count.wrapping_mul(price as i64).wrapping_neg());
            }
        }
    }

    fn returns(&mut self, of: &Of) {
        let executed = |row: &usize| self.counted.code.instructions[*row].is_return() && self.counted.executions[*row] > 0;
        let returns: Vec<usize> = (0..self.cycles.len()).filter(executed).collect();
        match returns[..] {
            [only] => self.add(only, of.return_misses),
            _ => self.elsewhere(Why::Returns, of.return_misses),
        }
    }

    /// The rows of those sites that were executed, with their executions; of the only one, in any case.
    fn executed(&self, sites: &[(u32, InvokeKind)]) -> Vec<(usize, i64)> {
        let rows = sites.iter().filter_map(|&(bci, _)| self.counted.code.row_at(bci));
        let counts = rows.map(|row| (row, self.counted.executions[row]));
        counts.filter(|&(_, executions)| executions > 0 || sites.len() == 1).collect()
    }

    fn calls(&mut self, sites: &[(u32, InvokeKind)], calls: u64, cycles: i64) {
        let executed = self.executed(sites);
        if let [(only, _)] = executed[..] {
            return self.add(only, cycles);
        }
        let one_kind = sites.windows(2).all(|pair| pair[0].1 == pair[1].1);
        let executions = executed.iter().fold(0i64, |sum, &(_, n)| sum.wrapping_add(n));
        if !one_kind || executions != calls as i64 || calls == 0 {
            return self.elsewhere(Why::Sites, cycles);
        }
        // Each execution became a call, and each call cost the same.
        let price = cycles / calls as i64;
        for (row, executions) in executed {
            self.add(row, price.wrapping_mul(executions));
        }
    }

    fn misses(&mut self, sites: &[(u32, InvokeKind)], cycles: i64) {
        if sites.is_empty() {
            return self.elsewhere(Why::Upcalls, cycles);
        }
        match self.executed(sites)[..] {
            [(only, _)] => self.add(only, cycles),
            _ => self.elsewhere(Why::Sites, cycles),
        }
    }

    fn finish(self) -> Placed {
        let cycles = self.cycles.into_iter().map(|cycles| cycles.max(0) as u64).collect();
        Placed { cycles, elsewhere: self.elsewhere }
    }
}

/// Cycles of a method where they arise.
pub(crate) struct Placed {
    /// By instruction.
    pub(crate) cycles: Vec<u64>,
    elsewhere: BTreeMap<Why, i64>,
}

impl Placed {
    /// What of all the `cycles` of the method belongs to no instruction.
    pub(crate) fn elsewhere(mut self, cycles: u64) -> Vec<Elsewhere> {
        let placed = self.elsewhere.values().copied().chain(self.cycles.iter().map(|&cycles| cycles as i64));
        let rest = placed.fold(cycles as i64, i64::wrapping_sub);
        let unexplained = self.elsewhere.entry(Why::Unexplained).or_default();
        *unexplained = unexplained.wrapping_add(rest);
        let some = self.elsewhere.into_iter().filter(|(_, cycles)| *cycles != 0);
        some.map(|(why, cycles)| Elsewhere { why, cycles }).collect()
    }
}
