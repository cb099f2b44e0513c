//! Adding up.

use super::calls::CallSites;
use super::ledger::{Charge, Reason};
use super::limit::Watched;
use super::notes::notes;
use super::outcomes::{NotSimulated, Outcomes};
use super::rules::{Rule, rules};
use super::{Columns, Metrics, Options};
use crate::code::CodeError;
use crate::measure::{ByNode, Measures};
use crate::model::{Method, NativeSite, Profile, Rows, special};
use crate::names::thousands;
use crate::natives::{NativeCalls, NotTold};
use crate::target::{CycleEstimator, InvokeKind, TargetError};
use rustc_hash::FxHashMap;
use thiserror::Error;

/// Why there are no cycles.
#[derive(Debug, Error)]
pub enum EvaluateError {
    /// The profile's classes.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The model.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The cache.
    #[error(transparent)]
    NotSimulated(#[from] NotSimulated),
    /// More than can be counted.
    #[error(
        "cycles may not fit 64 bits: {} bytecodes were executed in one context, and a cost of the model is {} cycles, which is too high unless the counts are damaged; --target bytecodes shows them",
        thousands(*bytecodes),
        thousands(*dearest)
    )]
    TooMany {
        /// Executed in the context that executed most.
        bytecodes: u64,
        /// The highest of the costs that were needed.
        dearest: u64,
    },
    /// More than can be added up.
    #[error("the cycles of all contexts together do not fit 64 bits; --target bytecodes shows what was executed")]
    TooManyTogether,
}

/// A profile on a processor.
#[derive(Debug, Clone, Default)]
pub struct Evaluation {
    /// Per node, a column beside [`Nodes`](crate::model::Nodes).
    pub nodes: Columns,
    /// What a reader must know: approximations that were needed.
    pub notes: Vec<String>,
}

/// Costs of calls and returns, each asked for once.
struct Prices<'e> {
    estimator: &'e dyn CycleEstimator,
    /// By kind, where the method is there: every context asks for one.
    hits: [Option<u64>; InvokeKind::ALL.len()],
    misses: FxHashMap<(InvokeKind, u32), u64>,
    returns: FxHashMap<(u8, Option<u32>), u64>,
}

impl Prices<'_> {
    fn invoke(&mut self, kind: InvokeKind, miss: Option<u32>) -> Result<u64, TargetError> {
        let known = match miss {
            None => self.hits[kind as usize],
            Some(words) => self.misses.get(&(kind, words)).copied(),
        };
        if let Some(cost) = known {
            return Ok(cost);
        }
        let cost = self.estimator.invoke(kind, miss)?;
        match miss {
            None => self.hits[kind as usize] = Some(cost),
            Some(words) => {
                self.misses.insert((kind, words), cost);
            }
        }
        Ok(cost)
    }

    fn leave(&mut self, opcode: u8, miss: Option<u32>) -> Result<u64, TargetError> {
        if let Some(cost) = self.returns.get(&(opcode, miss)) {
            return Ok(*cost);
        }
        let cost = self.estimator.leave(opcode, miss)?;
        self.returns.insert((opcode, miss), cost);
        Ok(cost)
    }

    /// Calls of which some missed a method of so many words.
    fn calls(&mut self, kind: InvokeKind, calls: u64, misses: u64, words: u32) -> Result<u64, TargetError> {
        let hits = calls.saturating_sub(misses).saturating_mul(self.invoke(kind, None)?);
        let missed = if misses == 0 { 0 } else { misses.saturating_mul(self.invoke(kind, Some(words))?) };
        Ok(hits.saturating_add(missed))
    }

    /// What misses cost more than hits; below 0 in a model where they cost less.
    fn extra(&mut self, kind: InvokeKind, misses: u64, words: u32) -> Result<i128, TargetError> {
        let hits = self.calls(kind, misses, 0, words)?;
        Ok(i128::from(self.calls(kind, misses, misses, words)?) - i128::from(hits))
    }
}

/// A sum, within what 64 bits hold.
fn sum(cycles: u64, extra: i128) -> u64 {
    i128::from(cycles).saturating_add(extra).clamp(0, u64::MAX.into()) as u64
}

/// Calls whose kinds only the caller's counts can tell.
#[derive(Default)]
struct Mixed {
    sites: Vec<(u32, InvokeKind)>,
    calls: u64,
    /// (misses, words)
    misses: Vec<(u64, u32)>,
}

/// Calls by kind.
type Kinds = [u64; InvokeKind::ALL.len()];

/// So many fewer, of the kinds in this order.
fn less(mut kinds: Kinds, mut surplus: u64, order: &[InvokeKind]) -> Kinds {
    for kind in order {
        let taken = surplus.min(kinds[*kind as usize]);
        kinds[*kind as usize] -= taken;
        surplus -= taken;
    }
    kinds
}

/// Where counts do not tell the kind of a call.
#[derive(Default)]
pub(super) struct Doubt {
    /// How many calls may be of another kind.
    pub(super) calls: u64,
    /// What that can make, at most.
    pub(super) cycles: u64,
}

/// Misses of calls of which the JVM made some.
struct Missed {
    /// As many as the calls' instructions may have had.
    own: u64,
    by_jvm: u64,
    /// That is how they are divided.
    certain: bool,
}

struct Work<'a> {
    profile: &'a Profile,
    rows: Rows<'a>,
    rules: Vec<Option<Rule>>,
    sites: CallSites,
    prices: Prices<'a>,
    out: Columns,
    /// By caller's node and first possible site.
    mixed: FxHashMap<(u32, u32), Mixed>,
    options: &'a Options,
    ledger: &'a mut dyn FnMut(Charge<'_>),
}

/// Evaluates every node. `measures` and `natives` are those of the same profile.
///
/// A profile whose contexts were bounded or folded no longer tells who called whom. There, calls are charged where their
/// instructions were executed, less those that certainly reached native methods; calls by the JVM cannot be told apart.
pub fn evaluate(
    profile: &Profile,
    measures: &Measures,
    natives: &[NativeCalls],
    estimator: &dyn CycleEstimator,
    options: &Options,
) -> Result<Evaluation, EvaluateError> {
    evaluate_into(profile, measures, natives, estimator, options, &mut |_| {})
}

/// As [`evaluate()`], and enters everything that a node is charged into a ledger: a node's cycles are the sum of its charges.
pub fn evaluate_into(
    profile: &Profile,
    measures: &Measures,
    natives: &[NativeCalls],
    estimator: &dyn CycleEstimator,
    options: &Options,
    ledger: &mut dyn FnMut(Charge<'_>),
) -> Result<Evaluation, EvaluateError> {
    let watched = Watched::new(estimator);
    let estimator = &watched;
    let cache = options.cache.unwrap_or_else(|| estimator.cache());
    let outcomes = Outcomes::of(profile, cache)?;
    let callers_known = !profile.run.bounded && !profile.run.folded;
    let by_execution = |kind| if callers_known { Ok(0) } else { estimator.invoke(kind, None) };
    let mut work = Work {
        profile,
        rows: profile.nodes.rows(),
        rules: rules(profile, estimator, &by_execution)?,
        sites: CallSites::read(profile)?,
        prices: Prices { estimator, hits: Default::default(), misses: FxHashMap::default(), returns: FxHashMap::default() },
        out: Columns::zeros(profile.nodes.len()),
        mixed: FxHashMap::default(),
        options,
        ledger,
    };
    let mut departures = ByNode::new(&profile.departures);
    for node in 0..profile.nodes.len() {
        let gone = departures.of(node);
        if profile.nodes.method[node] < special::FIRST {
            work.node(node, gone, measures.calls.get(node), outcomes, callers_known)?;
        }
    }
    let mixed = work.mixed_calls()?;
    let not_told = if callers_known { NotTold::default() } else { NotTold::of(profile) };
    if !callers_known {
        work.take_out_natives(natives, &not_told)?;
    }
    watched.check(measures, &work.out)?;
    let notes = notes(profile, estimator, &mixed, (!callers_known).then_some(&not_told));
    Ok(Evaluation { nodes: work.out, notes })
}

impl Work<'_> {
    fn node(
        &mut self,
        node: usize,
        gone: std::ops::Range<usize>,
        calls: u64,
        outcomes: Outcomes,
        callers_known: bool,
    ) -> Result<(), EvaluateError> {
        let profile = self.profile;
        let callee = profile.nodes.method[node];
        let Some(rule) = &self.rules[callee as usize] else { return Ok(()) };
        let own = rule.own(&profile.methods[callee as usize], self.rows.of(node), &profile.departures[gone]);
        let (words, return_opcode) = (rule.words, rule.return_opcode());
        let parent = profile.nodes.parent[node] as usize;
        let caller = profile.nodes.method[parent];
        let returns = if caller == special::ROOT { 0 } else { own.returns };
        let (entry_misses, return_misses) = match outcomes {
            Outcomes::AllHit => (0, 0),
            Outcomes::AllMiss => (calls, returns),
            Outcomes::Simulated(at) => (profile.misses[at].entry.get(node), profile.misses[at].returns.get(node)),
        };
        // A thread's first method returns to no method, but where recursion is folded it may have called itself, and how often is not
        // known: only what missed certainly was such a return.
        let returns = returns.max(return_misses);
        // Where the caller was folded away, its size is not known; the callee's own stands in.
        let caller_words = self.rules.get(caller as usize).and_then(Option::as_ref).map_or(words, |r| r.words);
        let (mut cycles, mut estimated) = (own.cycles, own.estimated);
        self.enter(node, Reason::Code, 0, cycles);
        if self.options.without_exceptions {
            self.enter(node, Reason::ExceptionsLeftOut, cycles, cycles.saturating_sub(own.exceptions));
            cycles = cycles.saturating_sub(own.exceptions);
            estimated = estimated.saturating_sub(own.estimated_exceptions);
        }
        if return_misses > 0 {
            let missed = return_misses.saturating_mul(self.prices.leave(return_opcode, Some(caller_words))?);
            let hit = return_misses.saturating_mul(self.prices.leave(return_opcode, None)?);
            self.enter(node, Reason::ReturnMisses, hit, missed);
            cycles = cycles.saturating_add(missed).saturating_sub(hit);
        }
        let exceptions = if self.options.without_exceptions { 0 } else { own.exceptions };
        let own = Metrics { cycles, estimated, upcalls: 0, exceptions, entry_misses, return_misses, entries: calls, returns };
        self.out.add(node, &own);
        // A thread's first method was not called; nor was one that root= chose, as far as the recording goes.
        if caller == special::ROOT {
            return Ok(());
        }
        if !callers_known {
            return self.misses_of_unknown_callers(node, parent, entry_misses, words);
        }
        let site = profile.nodes.site_of(node);
        let by = self.sites.caller(profile, caller, callee, site);
        // Which calls are the caller's own, its call sites' executions tell.
        let other_callers = is_called_by_jvm(profile, &profile.methods[callee as usize]);
        match by.kind.filter(|&kind| kind == InvokeKind::Vm || !other_callers) {
            Some(InvokeKind::Vm) if self.options.without_upcalls => {}
            Some(kind) => {
                let cycles = self.prices.calls(kind, calls, entry_misses, words)?;
                let upcalls = if kind == InvokeKind::Vm { cycles } else { 0 };
                let hits = self.prices.calls(kind, calls, 0, words)?;
                let reason = if kind == InvokeKind::Vm { Reason::Upcalls } else { Reason::Calls { sites: &by.sites, calls } };
                (self.ledger)(Charge::new(parent, reason, 0, hits));
                (self.ledger)(Charge::new(parent, Reason::CallMisses { sites: &by.sites }, hits, cycles));
                self.out.add(parent, &Metrics { cycles, upcalls, ..Metrics::default() });
            }
            None => {
                let mixed = self.mixed.entry((parent as u32, by.sites[0].0)).or_default();
                mixed.sites.clone_from(&by.sites);
                mixed.calls = mixed.calls.saturating_add(calls);
                if entry_misses > 0 {
                    mixed.misses.push((entry_misses, words));
                }
            }
        }
        Ok(())
    }

    fn enter(&mut self, node: usize, reason: Reason<'_>, from: u64, to: u64) {
        (self.ledger)(Charge::new(node, reason, from, to));
    }

    fn misses_of_unknown_callers(&mut self, node: usize, parent: usize, misses: u64, words: u32) -> Result<(), EvaluateError> {
        let (caller, callee) = (self.profile.nodes.method[parent], self.profile.nodes.method[node]);
        let (sites, charged) = if caller < special::FIRST {
            (self.sites.caller(self.profile, caller, callee, 0).sites.as_slice(), parent)
        } else {
            (&[][..], node)
        };
        let kind = sites.first().map_or(InvokeKind::Vm, |s| s.1);
        let extra = self.prices.extra(kind, misses, words)?;
        // The JVM's calls are not charged, so nothing is taken off them.
        let extra = if kind == InvokeKind::Vm { extra.max(0) } else { extra };
        let before = self.out.cycles.get(charged);
        let after = sum(before, extra);
        (self.ledger)(Charge::new(charged, Reason::CallMisses { sites }, before, after));
        self.out.cycles.set(charged, after);
        Ok(())
    }

    /// Charges calls of several kinds by how often each site was executed.
    fn mixed_calls(&mut self) -> Result<Doubt, EvaluateError> {
        let profile = self.profile;
        let mut doubt = Doubt::default();
        for ((caller, _), mixed) in std::mem::take(&mut self.mixed) {
            let node = caller as usize;
            let method = profile.nodes.method[node];
            let Some(rule) = &self.rules[method as usize] else { continue };
            let first = profile.departures.partition_point(|d| d.node < caller);
            let gone = &profile.departures[first..];
            let gone = &gone[..gone.partition_point(|d| d.node == caller)];
            let mut kinds: Kinds = [0; InvokeKind::ALL.len()];
            let mut executions = Vec::with_capacity(mixed.sites.len());
            let executions_of = rule.executions(&profile.methods[method as usize], self.rows.of(node), gone);
            for (bci, kind) in &mixed.sites {
                let executed = executions_of(*bci);
                executions.push(executed);
                kinds[*kind as usize] = kinds[*kind as usize].saturating_add(executed);
            }
            let calls_of = |kinds: &Kinds| kinds.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
            let mut price = [0; InvokeKind::ALL.len()];
            for kind in InvokeKind::ALL {
                price[kind as usize] = self.prices.invoke(kind, None)?;
            }
            let cost = |kinds: &Kinds| {
                kinds.iter().zip(price).fold(0u64, |sum, (calls, price)| sum.saturating_add(calls.saturating_mul(price)))
            };
            // More calls than executions: the others came from the JVM or native code.
            let by_jvm = mixed.calls.saturating_sub(calls_of(&kinds));
            let mut upcalls =
                if self.options.without_upcalls { 0 } else { by_jvm.saturating_mul(price[InvokeKind::Vm as usize]) };
            // Executions that called nobody recorded: on null, or of a native method. Statically bound ones hardly have.
            let surplus = calls_of(&kinds).saturating_sub(mixed.calls);
            let mut dearest = InvokeKind::ALL;
            dearest.sort_by_key(|kind| std::cmp::Reverse(price[*kind as usize]));
            let mut cheapest = dearest;
            cheapest.reverse();
            let least = cost(&less(kinds, surplus, &dearest));
            let greatest = cost(&less(kinds, surplus, &cheapest));
            let likely =
                [InvokeKind::Virtual, InvokeKind::Interface, InvokeKind::Dynamic, InvokeKind::Special, InvokeKind::Static];
            let executed = kinds;
            kinds = less(kinds, surplus, &likely);
            let mut cycles = cost(&kinds);
            if calls_of(&executed) == mixed.calls {
                for (site, &calls) in mixed.sites.iter().zip(&executions) {
                    let reason = Reason::Calls { sites: std::slice::from_ref(site), calls };
                    (self.ledger)(Charge::new(node, reason, 0, calls.saturating_mul(price[site.1 as usize])));
                }
            } else {
                (self.ledger)(Charge::new(node, Reason::Calls { sites: &mixed.sites, calls: mixed.calls }, 0, cycles));
            }
            let hits = cycles;
            doubt.calls += if least < greatest { surplus.min(mixed.calls) } else { 0 };
            doubt.cycles = doubt.cycles.saturating_add((greatest - cycles).max(cycles - least));
            // The first of the most frequent.
            let most = InvokeKind::ALL.into_iter().rev().max_by_key(|k| kinds[*k as usize]).unwrap_or(InvokeKind::Vm);
            // So many of the misses can be the executed calls'. Where all calls missed, that is certain.
            let mut own_calls = calls_of(&kinds);
            let all_missed = mixed.misses.iter().fold(0u64, |sum, (misses, _)| sum.saturating_add(*misses)) == mixed.calls;
            for &(misses, words) in &mixed.misses {
                let own = misses.min(own_calls);
                own_calls -= own;
                let missed = Missed { own, by_jvm: misses - own, certain: by_jvm == 0 || all_missed };
                let (extra, of_jvm, off) = self.mixed_misses(&executed, most, missed, words)?;
                cycles = sum(cycles, extra);
                upcalls = sum(upcalls, of_jvm);
                doubt.calls += if off > 0 { misses } else { 0 };
                doubt.cycles = doubt.cycles.saturating_add(off);
            }
            self.enter(node, Reason::CallMisses { sites: &mixed.sites }, hits, cycles);
            self.enter(node, Reason::Upcalls, 0, upcalls);
            let cycles = cycles.saturating_add(upcalls);
            self.out.add(node, &Metrics { cycles, upcalls, ..Metrics::default() });
        }
        Ok(doubt)
    }

    /// What misses among calls of several kinds cost: the executed calls', the JVM's, and how far off both together may be.
    fn mixed_misses(
        &mut self,
        executed: &Kinds,
        most: InvokeKind,
        missed: Missed,
        words: u32,
    ) -> Result<(i128, i128, u64), EvaluateError> {
        let Missed { own, by_jvm, certain } = missed;
        let without_upcalls = self.options.without_upcalls;
        let mut of_jvm = |misses| if without_upcalls { Ok(0) } else { self.prices.extra(InvokeKind::Vm, misses, words) };
        let (upcalls, all_of_jvm) = (of_jvm(by_jvm)?, of_jvm(own.saturating_add(by_jvm))?);
        let extra = self.prices.extra(most, own, words)?;
        let said = extra.saturating_add(upcalls);
        let mut off = if certain { 0 } else { all_of_jvm.abs_diff(said) };
        for kind in InvokeKind::ALL.into_iter().filter(|kind| executed[*kind as usize] > 0) {
            let other = match certain {
                true => self.prices.extra(kind, own, words)?.saturating_add(upcalls),
                false => self.prices.extra(kind, own.saturating_add(by_jvm), words)?,
            };
            off = off.max(other.abs_diff(said));
        }
        Ok((extra, upcalls, u64::try_from(off).unwrap_or(u64::MAX)))
    }

    fn take_out_natives(&mut self, natives: &[NativeCalls], not_told: &NotTold) -> Result<(), EvaluateError> {
        let profile = self.profile;
        let mut departures = ByNode::new(&profile.departures);
        for calls in natives.chunk_by(|a, b| a.node == b.node) {
            let node = calls[0].node as usize;
            let method = profile.nodes.method[node];
            let Some(rule) = &self.rules[method as usize] else { continue };
            let gone = &profile.departures[departures.of(node)];
            let executions_of = rule.executions(&profile.methods[method as usize], self.rows.of(node), gone);
            for call in calls {
                // Where sites are merged, there may be several, and of several kinds: at those that only reach native methods,
                // each execution was such a call. The rest is the first of the others'.
                let of_call = |s: &&NativeSite| s.native == call.native && not_told.is_told(s);
                let mut sites: Vec<_> = profile.native_sites_at(method, call.site).iter().filter(of_call).collect();
                if sites.is_empty() {
                    continue;
                }
                sites.sort_by_key(|site| site.dynamic);
                let (mut left, mut cycles) = (call.calls, 0u64);
                for (at, site) in sites.iter().enumerate() {
                    let Some(kind) = self.sites.kind_at(method, site.bci) else { continue };
                    let calls = match at + 1 == sites.len() || site.dynamic {
                        true => left,
                        false => left.min(executions_of(site.bci)),
                    };
                    left -= calls;
                    cycles = cycles.saturating_add(self.prices.calls(kind, calls, 0, 0)?);
                }
                let before = self.out.cycles.get(node);
                let after = before.saturating_sub(cycles);
                let reason = Reason::NativeCalls { native: call.native, site: call.site, calls: call.calls };
                (self.ledger)(Charge::new(node, reason, before, after));
                self.out.cycles.set(node, after);
            }
        }
        Ok(())
    }
}

/// Whether the JVM calls a method in the middle of any: where a class is used for the first time (JVMS §5.3.2), and where a bytecode
/// throws, for the exception's constructor (HotSpot, exceptions.cpp; all that it makes so are in `java.lang`).
fn is_called_by_jvm(profile: &Profile, method: &Method) -> bool {
    let class = || profile.classes[method.class as usize].name.as_str();
    match method.name.as_str() {
        "loadClass" => method.descriptor == "(Ljava/lang/String;)Ljava/lang/Class;",
        "<init>" => {
            let simple = class().strip_prefix("java/lang/");
            simple.is_some_and(|name| !name.contains('/') && (name.ends_with("Exception") || name.ends_with("Error")))
        }
        _ => false,
    }
}
