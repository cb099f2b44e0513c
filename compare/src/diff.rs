//! What changed between two profiles, by context and by method.

use crate::contexts::Contexts;
use crate::methods::{Joined, Methods};
use crate::renumbering::Side;
use cprof_profile::amounts::Amounts;
use cprof_profile::metrics::{Metric, Sheet};
use cprof_profile::tree::{Active, Symbol, Tree, Visit, What, twins};
use serde::Serialize;

/// Two profiles, joined.
#[derive(Debug, Clone)]
pub struct Comparison<'a> {
    /// The first.
    pub before: Sheet<'a>,
    /// The second.
    pub after: Sheet<'a>,
    /// Their methods.
    pub methods: Methods,
    /// Their contexts.
    pub contexts: Contexts,
    /// Of joined methods: as of [`twins`].
    twins: Vec<bool>,
}

/// What became of a context or method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// Only the second profile has it.
    New,
    /// Only the first has it.
    Gone,
    /// Both have it, with different numbers.
    Changed,
    /// Both have it, with the same numbers.
    Same,
}

/// A number of a context or method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Of itself.
    pub own: u64,
    /// With what it called; a recursive method's inner calls are in the outer one's already.
    pub total: u64,
}

/// A context or method whose numbers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Position in [`Contexts::list`] or [`Methods::list`].
    pub at: u32,
    /// What became of it, in all metrics that both profiles have.
    pub fate: Fate,
    /// In the first profile.
    pub before: Amount,
    /// In the second.
    pub after: Amount,
}

impl Row {
    /// By how much its own number changed.
    pub fn change(&self) -> i128 {
        i128::from(self.after.own) - i128::from(self.before.own)
    }

    /// By how much that changed with what it called.
    pub fn total_change(&self) -> i128 {
        i128::from(self.after.total) - i128::from(self.before.total)
    }
}

/// How many there are of each fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are the fates'")]
pub struct Fates {
    pub new: usize,
    pub gone: usize,
    pub changed: usize,
    pub same: usize,
}

/// A metric that both profiles have.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// In the first.
    pub before: &'a Metric,
    /// In the second.
    pub after: &'a Metric,
}

impl<'a> Comparison<'a> {
    /// Joins two profiles.
    pub fn new(before: Sheet<'a>, after: Sheet<'a>) -> Comparison<'a> {
        let side = |sheet: &Sheet<'a>| Side { profile: sheet.profile, symbols: sheet.symbols };
        let methods = Methods::join(side(&before), side(&after));
        let contexts = Contexts::join(&before, &after, &methods);
        let mut joined = Comparison { before, after, methods, contexts, twins: Vec::new() };
        joined.twins = twins((0..joined.methods.list.len() as u32).map(|m| joined.symbol(m)));
        joined
    }

    /// A joined method's name; in the second profile, where it is in both.
    pub fn symbol(&self, method: u32) -> &'a Symbol {
        let Joined { before, after } = self.methods.list[method as usize];
        match (after, before) {
            (Some(after), _) => &self.after.symbols.list[after as usize],
            // A joined method is in one of them.
            (None, before) => &self.before.symbols.list[before.unwrap_or_default() as usize],
        }
    }

    /// A joined method for people.
    pub fn readable(&self, method: u32) -> String {
        self.symbol(method).readable(self.twins[method as usize])
    }

    /// The metrics that both have, in the order of the first.
    pub fn metrics(&self) -> Vec<Pair<'a>> {
        let after = |m: &Metric| self.after.metrics.iter().find(|other| other.name == m.name);
        self.before.metrics.iter().filter_map(|m| Some(Pair { before: m, after: after(m)? })).collect()
    }

    /// Names of the metrics that only the first has, and that only the second has.
    pub fn other_metrics(&self) -> [Vec<&'a str>; 2] {
        let missing = |of: &'a [Metric], from: &[Metric]| {
            of.iter().map(|m| m.name.as_str()).filter(|name| from.iter().all(|m| m.name != *name)).collect()
        };
        [missing(self.before.metrics, self.after.metrics), missing(self.after.metrics, self.before.metrics)]
    }

    /// A metric by joined context, before and after.
    pub fn columns(&self, metric: Pair<'_>) -> [Amounts; 2] {
        let Contexts { of_before, of_after, .. } = &self.contexts;
        [self.contexts.column(of_before, &metric.before.own), self.contexts.column(of_after, &metric.after.own)]
    }

    /// A metric by joined method, before and after, each without callees.
    pub fn method_columns(&self, metric: Pair<'_>) -> [Amounts; 2] {
        self.method_amounts(metric).map(|amounts| amounts.into_iter().map(|a| a.own).collect())
    }

    fn method_amounts(&self, metric: Pair<'_>) -> [Vec<Amount>; 2] {
        let n = self.methods.list.len();
        let of_after = &self.methods.of_after;
        [
            by_method(self.before.tree, metric.before, n, |symbol| symbol),
            by_method(self.after.tree, metric.after, n, |symbol| of_after[symbol as usize]),
        ]
    }

    /// What became of every context; the root is the same.
    pub fn context_fates(&self) -> Vec<Fate> {
        let fate = |c: &crate::contexts::Both| fate(c.before, c.after);
        let mut fates: Vec<Fate> = self.contexts.list.iter().map(fate).collect();
        for metric in self.metrics() {
            mark(&mut fates, &self.columns(metric));
        }
        fates
    }

    /// What became of every method; those that occur in no context of either tree are left out.
    pub fn method_fates(&self) -> Vec<Option<Fate>> {
        let mut occurs = vec![(false, false); self.methods.list.len()];
        for context in &self.contexts.list {
            if let What::Method(m) = context.what {
                let (before, after) = &mut occurs[m as usize];
                *before |= context.before;
                *after |= context.after;
            }
        }
        let mut fates: Vec<Fate> = occurs.iter().map(|&(before, after)| fate(before, after)).collect();
        for metric in self.metrics() {
            mark(&mut fates, &self.method_columns(metric));
        }
        fates.into_iter().zip(occurs).map(|(fate, (before, after))| (before || after).then_some(fate)).collect()
    }

    /// The contexts that differ in any metric, with their numbers in this one.
    pub fn by_context(&self, metric: Pair<'_>, fates: &[Fate]) -> Vec<Row> {
        let differing = (0..).zip(fates).filter(|(_, fate)| **fate != Fate::Same);
        self.rows(metric, differing.map(|(at, &fate)| (at, fate)))
    }

    /// Some contexts, of which the fates are known, with their numbers in a metric.
    pub fn rows(&self, metric: Pair<'_>, contexts: impl Iterator<Item = (u32, Fate)>) -> Vec<Row> {
        let own = self.columns(metric);
        let totals = [0, 1].map(|side: usize| self.contexts.totals(&own[side]));
        let amount = |side: usize, at: u32| Amount { own: own[side].get(at as usize), total: totals[side].get(at as usize) };
        contexts.map(|(at, fate)| Row { at, fate, before: amount(0, at), after: amount(1, at) }).collect()
    }

    /// The methods that differ in any metric, with their numbers in this one.
    pub fn by_method(&self, metric: Pair<'_>, fates: &[Option<Fate>]) -> Vec<Row> {
        let [before, after] = self.method_amounts(metric);
        let differing = fates.iter().enumerate().filter_map(|(i, fate)| Some((i, fate.filter(|f| *f != Fate::Same)?)));
        differing.map(|(i, fate)| Row { at: i as u32, fate, before: before[i], after: after[i] }).collect()
    }
}

/// Orders rows by how much they changed, whichever way; equal ones by `name`.
pub fn rank<K: Ord>(rows: &mut [Row], name: impl Fn(&Row) -> K) {
    let size = |row: &Row| (row.change().unsigned_abs(), row.total_change().unsigned_abs());
    rows.sort_by(|a, b| size(b).cmp(&size(a)).then_with(|| name(a).cmp(&name(b))));
}

impl Fates {
    /// Counts them.
    pub fn count(fates: impl IntoIterator<Item = Fate>) -> Fates {
        let mut count = Fates::default();
        for fate in fates {
            *match fate {
                Fate::New => &mut count.new,
                Fate::Gone => &mut count.gone,
                Fate::Changed => &mut count.changed,
                Fate::Same => &mut count.same,
            } += 1;
        }
        count
    }
}

fn fate(before: bool, after: bool) -> Fate {
    match (before, after) {
        (false, true) => Fate::New,
        (true, false) => Fate::Gone,
        _ => Fate::Same,
    }
}

fn mark(fates: &mut [Fate], [before, after]: &[Amounts; 2]) {
    for ((fate, before), after) in fates.iter_mut().zip(before.iter()).zip(after.iter()) {
        if *fate == Fate::Same && before != after {
            *fate = Fate::Changed;
        }
    }
}

/// A metric of a tree by joined method, of which there are `n`.
fn by_method(tree: &Tree, metric: &Metric, n: usize, joined: impl Fn(u32) -> u32) -> Vec<Amount> {
    let totals = metric.totals(tree);
    let mut amounts = vec![Amount::default(); n];
    let mut active = Active::new(n);
    tree.walk(
        |_| {},
        |visit| {
            let (Visit::Enter { context, .. } | Visit::Leave { context }) = visit;
            let What::Method(symbol) = tree.what(context) else { return true };
            let method = joined(symbol);
            if matches!(visit, Visit::Leave { .. }) {
                active.leave(method);
                return true;
            }
            let amount = &mut amounts[method as usize];
            amount.own = amount.own.saturating_add(metric.own.get(context as usize));
            if active.enter(method) {
                amount.total = amount.total.saturating_add(totals.get(context as usize));
            }
            true
        },
    );
    amounts
}
