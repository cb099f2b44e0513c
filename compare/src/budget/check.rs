//! Whether budgets hold.

use super::{Bound, Budget, Limit, Order, Place, Scope};
use crate::diff::Comparison;
use crate::similar::{Kinds, similar};
use cprof_profile::metrics::{Metric, Sheet};
use cprof_profile::model::RunFacts;
use cprof_profile::names::Pattern;
use cprof_profile::options::values;
use cprof_profile::tree::What;
use std::collections::BTreeMap;

/// For every metric of the budgets, as they call it, its position in the sheet's metrics, or why the profile has none.
pub type Columns = BTreeMap<String, Result<usize, String>>;

/// What became of a limit.
#[derive(Debug)]
pub struct Verdict<'b> {
    /// Whose.
    pub budget: &'b Budget,
    /// Which.
    pub limit: &'b Limit,
    /// Where it stands in the file.
    pub at: Place,
    /// What.
    pub outcome: Outcome,
}

/// What became of a limit.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Held {
        /// The number.
        value: u64,
        /// What it was compared with.
        bound: Bound,
        /// As below.
        baseline: Option<u64>,
    },
    /// It does not.
    Exceeded {
        /// The number.
        value: u64,
        /// What it was compared with.
        bound: Bound,
        /// The same number in the baseline, when there is one that has the method; 0 when the limit is relative and it may be
        /// missing.
        baseline: Option<u64>,
        /// Whose doing that is, the greatest first.
        responsible: Vec<Responsible>,
    },
    /// It is optional, and the profile has nothing to check.
    Skipped(String),
    /// It cannot be checked.
    Wrong(String),
}

/// A context that a violation comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Responsible {
    /// Callers first: `Class.method(parameters)`.
    pub path: Vec<String>,
    /// Its share of the number, or by how much its own number changed.
    pub amount: i128,
    /// It changed since the baseline.
    pub changed: bool,
}

/// So many contexts are named for a violation.
const RESPONSIBLE: usize = 3;

/// A profile to check, or to check against.
struct Checked<'a> {
    sheet: Sheet<'a>,
    columns: &'a Columns,
}

/// The contexts of a budget in a tree.
struct Extent {
    /// Contexts of its methods.
    of: Vec<bool>,
    /// Those and all below.
    within: Vec<bool>,
}

/// Checks a profile, against a baseline where there is one.
pub fn check<'b>(
    budgets: &'b [Budget],
    sheet: (Sheet<'_>, &Columns),
    baseline: Option<(Sheet<'_>, &Columns)>,
) -> Vec<Verdict<'b>> {
    let profile = Checked { sheet: sheet.0, columns: sheet.1 };
    let baseline = baseline.map(|(sheet, columns)| Checked { sheet, columns });
    let mut comparison = None;
    let mut verdicts = Vec::new();
    for budget in budgets {
        let extent = profile.extent(&budget.pattern);
        let base = baseline.as_ref().map(|b| (b, b.extent(&budget.pattern)));
        for (limit, at) in &budget.limits {
            let mut outcome = outcome(budget, limit, &profile, &extent, base.as_ref());
            if let Outcome::Exceeded { baseline: before, responsible, .. } = &mut outcome {
                if let (Some(base), Some(_)) = (&baseline, *before) {
                    let comparison = comparison.get_or_insert_with(|| Comparison::new(base.sheet, profile.sheet));
                    *responsible = changed(comparison, budget, limit, base.column(limit), profile.column(limit));
                }
                if responsible.is_empty() {
                    *responsible = profile.greatest(&extent, limit);
                }
            }
            verdicts.push(Verdict { budget, limit, at: *at, outcome });
        }
    }
    verdicts
}

/// What the recording left out as it was told to, for a method that it does not have.
fn left_out(run: &RunFacts) -> String {
    let selected = ["include", "exclude"].iter().any(|name| values(&run.options, name).next().is_some());
    match (run.roots.is_empty(), selected) {
        (true, false) => String::new(),
        (true, true) => ", which has what include= and exclude= selected".to_owned(),
        (false, false) => format!(", which has calls of {} and what they call", run.roots.join(", ")),
        (false, true) => {
            format!(
                ", which has calls of {} and what they call, as far as include= and exclude= selected it",
                run.roots.join(", ")
            )
        }
    }
}

fn outcome(
    budget: &Budget,
    limit: &Limit,
    profile: &Checked<'_>,
    extent: &Extent,
    base: Option<&(&Checked<'_>, Extent)>,
) -> Outcome {
    // First: that a method may be missing is no leave for a metric that there is not.
    let Some(value) = profile.value(extent, limit) else {
        return Outcome::Wrong(profile.no_metric(limit, "the profile"));
    };
    let gap = profile.sheet.profile.gaps.iter().find(|gap| gap.is_named_by(&budget.pattern));
    let not_covered = gap.map(|gap| format!("{} was not covered: {}", gap.name(), gap.reason));
    // That it may be missing, or that another of its name was counted, says nothing of what was not. What the JVM never lets be counted
    // is always listed, though, and may fit a pattern by chance.
    let named = budget.method.split('(').next().unwrap_or_default();
    let (not_covered, by_chance) = if named.contains('*') { (None, not_covered) } else { (not_covered, None) };
    if let Some(reason) = not_covered {
        return Outcome::Wrong(reason);
    }
    if !extent.of.contains(&true) {
        let is_gap = by_chance.is_some();
        let list = &profile.sheet.symbols.list;
        // What ran outside of this part of the profile is not said to be called otherwise. A native method need not have been called
        // anywhere.
        let fitting = profile.sheet.symbols.fitting(&budget.pattern);
        let is_named = fitting.contains(&true);
        let ran = list.iter().zip(&fitting).any(|(symbol, fits)| *fits && !symbol.native);
        let part = if ran { " in this part of the profile" } else { "" };
        let reason = match by_chance {
            Some(reason) if !list.is_empty() => reason,
            _ if is_named => format!("there is no call of {}{part}", budget.method),
            _ => format!("the profile has no call of {}{}", budget.method, left_out(&profile.sheet.profile.run)),
        };
        return match budget.optional {
            true => Outcome::Skipped(reason),
            false if is_gap => Outcome::Wrong(reason),
            false if is_named => Outcome::Wrong(format!("{reason}; optional = true allows it to be missing")),
            false => {
                let similar = similar(list, &budget.method, Kinds::Methods);
                Outcome::Wrong(format!("{reason}; {similar}. optional = true allows it to be missing"))
            }
        };
    }
    let mut before = None;
    if let Some((base, extent)) = base {
        let called = extent.of.contains(&true);
        let gap = base
            .sheet
            .profile
            .gaps
            .iter()
            .find(|gap| limit.is_relative() && !named.contains('*') && gap.is_named_by(&budget.pattern));
        if let Some(gap) = gap {
            return Outcome::Wrong(format!("the baseline does not cover {}: {}", gap.name(), gap.reason));
        }
        if limit.is_relative() && !called && !budget.optional {
            return Outcome::Wrong(format!(
                "the baseline has no call of {}; record the baseline anew, or compare with 0 by optional = true",
                budget.method
            ));
        }
        // A method that may be missing and was costs nothing in the baseline: skipping the limit would let any cost pass.
        if called || limit.is_relative() {
            before = base.value(extent, limit);
        }
        if before.is_none() && limit.is_relative() {
            return Outcome::Wrong(base.no_metric(limit, "the baseline"));
        }
    }
    match limit.bound(before) {
        None => Outcome::Wrong("it is relative to a baseline, and none was given; --baseline FILE does".to_owned()),
        Some(bound) if limit.holds(value, bound) => Outcome::Held { value, bound, baseline: before },
        Some(bound) => Outcome::Exceeded { value, bound, baseline: before, responsible: Vec::new() },
    }
}

impl Checked<'_> {
    fn extent(&self, pattern: &Pattern) -> Extent {
        let chosen = self.sheet.symbols.fitting(pattern);
        let tree = self.sheet.tree;
        let of: Vec<bool> = tree.contexts().map(|c| matches!(c.what, What::Method(m) if chosen[m as usize])).collect();
        let mut within = of.clone();
        for i in 1..within.len() {
            within[i] |= within[tree.parent(i as u32) as usize];
        }
        Extent { of, within }
    }

    fn column(&self, limit: &Limit) -> Option<&Metric> {
        self.sheet.metrics.get(*self.columns.get(&limit.metric)?.as_ref().ok()?)
    }

    fn no_metric(&self, limit: &Limit, which: &str) -> String {
        match self.columns.get(&limit.metric) {
            Some(Err(reason)) => format!("{which}: {reason}"),
            _ => format!("{which} was not measured in {}", limit.metric),
        }
    }

    fn value(&self, extent: &Extent, limit: &Limit) -> Option<u64> {
        let metric = self.column(limit)?;
        let counts = match limit.scope {
            Scope::Own => &extent.of,
            Scope::Total => &extent.within,
        };
        let counted = metric.own.iter().zip(counts).filter(|(_, counts)| **counts);
        Some(counted.fold(0u64, |sum, (own, _)| sum.saturating_add(own)))
    }

    /// Where most of the number is from: the calls of the budget's methods, by caller.
    fn greatest(&self, extent: &Extent, limit: &Limit) -> Vec<Responsible> {
        let Some(metric) = self.column(limit) else { return Vec::new() };
        let tree = self.sheet.tree;
        let amounts = match limit.scope {
            Scope::Own => metric.own.clone(),
            Scope::Total => metric.totals(tree),
        };
        let outermost = |i: usize| limit.scope == Scope::Own || !extent.within[tree.parent(i as u32) as usize];
        let mut found: Vec<usize> = (1..tree.len()).filter(|&i| extent.of[i] && outermost(i) && amounts.get(i) > 0).collect();
        found.sort_by_key(|&i| std::cmp::Reverse(amounts.get(i)));
        found.truncate(RESPONSIBLE);
        let up = |i: usize| {
            let context = tree.context(i as u32);
            Step { caller: context.parent, name: self.name(context.what), site: context.site }
        };
        let paths = paths(&found, up).into_iter().zip(&found);
        paths.map(|(path, &i)| Responsible { path, amount: i128::from(amounts.get(i)), changed: false }).collect()
    }

    fn name(&self, what: What) -> String {
        what.name(|m| self.sheet.symbols.readable(m))
    }
}

/// The contexts within the budget's methods whose own numbers changed most in the direction of the violation.
fn changed(
    comparison: &Comparison<'_>,
    budget: &Budget,
    limit: &Limit,
    before: Option<&Metric>,
    after: Option<&Metric>,
) -> Vec<Responsible> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    let [before, after] = comparison.columns(crate::diff::Pair { before, after });
    let contexts = &comparison.contexts.list;
    let chosen_before = comparison.before.symbols.fitting(&budget.pattern);
    let chosen_after = comparison.after.symbols.fitting(&budget.pattern);
    let of = |what: What| {
        let What::Method(m) = what else { return false };
        let joined = comparison.methods.list[m as usize];
        joined.before.is_some_and(|m| chosen_before[m as usize]) || joined.after.is_some_and(|m| chosen_after[m as usize])
    };
    let mut within = vec![false; contexts.len()];
    let mut found: Vec<(usize, i128)> = Vec::new();
    for i in 1..contexts.len() {
        let of = of(contexts[i].what);
        within[i] = of || within[contexts[i].parent as usize];
        let change = i128::from(after.get(i)) - i128::from(before.get(i));
        if change != 0 && if limit.scope == Scope::Own { of } else { within[i] } {
            found.push((i, change));
        }
    }
    let trouble = match limit.order {
        Order::Less | Order::AtMost => 1,
        Order::AtLeast | Order::Greater => -1,
        Order::Equal => found.iter().map(|f| f.1).sum::<i128>().signum(),
    };
    found.retain(|f| f.1.signum() == trouble);
    found.sort_by_key(|&(i, change)| (std::cmp::Reverse(change.unsigned_abs()), i));
    found.truncate(RESPONSIBLE);
    let name = |i: usize| contexts[i].what.name(|m| comparison.readable(m));
    let up = |i: usize| Step { caller: contexts[i].parent, name: name(i), site: contexts[i].site };
    let which: Vec<usize> = found.iter().map(|&(i, _)| i).collect();
    let paths = paths(&which, up).into_iter().zip(found);
    paths.map(|(path, (_, amount))| Responsible { path, amount, changed: true }).collect()
}

/// A context on the way to the outermost.
struct Step {
    caller: u32,
    name: String,
    /// Call site in the caller: bci + 1, 0 unknown or merged.
    site: u32,
}

/// Of each of these contexts the names from the outermost down to it; where those of two are the same, with the call sites.
fn paths(contexts: &[usize], up: impl Fn(usize) -> Step) -> Vec<Vec<String>> {
    let path = |from: usize, sites: bool| {
        let mut path = Vec::new();
        let mut at = from;
        while at != 0 {
            let Step { caller, name, site } = up(at);
            path.push(match site.checked_sub(1).filter(|_| sites) {
                Some(bci) => format!("{name} from bytecode {bci}"),
                None => name,
            });
            at = caller as usize;
        }
        path.reverse();
        path
    };
    let plain: Vec<Vec<String>> = contexts.iter().map(|&i| path(i, false)).collect();
    let is_twice = |one: &Vec<String>| plain.iter().filter(|other| *other == one).count() > 1;
    contexts.iter().zip(&plain).map(|(&i, one)| if is_twice(one) { path(i, true) } else { one.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_of_one_path_have_their_call_sites() {
        // main calls a from two places and b from one.
        let steps = [(0, "", 0), (0, "main", 0), (1, "a", 5), (1, "a", 9), (1, "b", 7)];
        let up = |i: usize| Step { caller: steps[i].0, name: steps[i].1.to_owned(), site: steps[i].2 };
        assert_eq!(paths(&[2, 3, 4], up), [["main", "a from bytecode 4"], ["main", "a from bytecode 8"], ["main", "b"]]);
        assert_eq!(paths(&[3, 4], up), [["main", "a"], ["main", "b"]]);
    }
}
