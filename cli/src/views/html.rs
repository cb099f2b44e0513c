//! `cprof html`.

use super::code::codes;
use super::{Loaded, written};
use crate::args::Html;
use crate::compare::all_doubts;
use crate::date::utc;
use crate::loaded::view::Shape;
use crate::metrics::{self, Notes, columns};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::report::methods::{length, merged, vm};
use anyhow::{Context, Result};
use cprof_profile::metrics::Metric;
use cprof_profile::names::thousands;
use cprof_profile::projections::labels;
use cprof_views::page::{Facts, Page, Side};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Labels of threads that are told apart; a profile may have thousands.
const MOST_LABELS: usize = 100;

/// Writes the page.
pub fn html(args: &Html) -> Result<()> {
    // Of sources in directories, those that are read are known when they are found.
    output::spares(&args.out, [&args.part.file].into_iter().chain(&args.diff).chain(&args.source))?;
    let mut after = Loaded::new(&args.part, &args.on, &args.out, Shape::Both { apart: false })?;
    // The page is made of trees of its own, one for each label.
    after.view.forget_tree();
    let mut before = args
        .diff
        .as_ref()
        .map(|file| after.before(file, &args.part, &args.on, &args.out, Shape::Both { apart: false }))
        .transpose()?;
    before.iter_mut().for_each(|b| b.view.forget_tree());
    let progress = Progress::start(format!("writing {}", args.out.display()));
    let mut facts = facts(&after, before.as_ref(), args);
    let common = common(&after, before.as_ref(), &mut facts.notes);
    facts.metric =
        metrics::telling(&after.processors).into_iter().find(|name| common.iter().any(|c| c.0 == *name)).unwrap_or_default();
    // Call sites move when code changes: compared contexts are those of the methods' names alone.
    let sites = before.is_none() && after.view.profile.run.sites;
    let mut page = Page::new(sites, common.clone());
    let together = Together::of([Some(&after), before.as_ref()].into_iter().flatten());
    facts.notes.extend(together.note());
    add(&mut page, Side::After, &after, &common, &together);
    if let Some(before) = &before {
        add(&mut page, Side::Before, before, &common, &together);
    }
    codes(&after, args, &mut facts.notes)?.into_iter().for_each(|code| page.add_code(code));
    let mut out = Output::create(&args.out)?;
    page.write(&facts, &mut out).with_context(|| output::cannot(&args.out))?;
    drop(progress);
    written(&args.out, out, &format!("{} contexts", thousands(after.view.totals.contexts)))
}

fn facts(after: &Loaded, before: Option<&Loaded>, args: &Html) -> Facts {
    let mut facts = Facts {
        title: args.title.clone().unwrap_or_else(|| after.title()),
        file: after.view.file.clone(),
        before: before.map(|b| b.view.file.clone()),
        ..Facts::default()
    };
    for loaded in [Some(after), before].into_iter().flatten() {
        let (run, runs) = (&loaded.view.profile.run, &loaded.view.profile.runs);
        let mut fact = |name: &str, value: String| {
            if !value.is_empty() {
                facts.run.push((name.to_owned(), value));
            }
        };
        fact("Profile", loaded.view.file.clone());
        fact("Main class", run.main_class.clone());
        if runs.is_empty() {
            fact("JVM", vm(run));
            fact("Started", utc(run.started_ms));
            fact("Took", length(run));
        } else {
            fact("Runs", merged(runs));
        }
        fact("Options", run.options.clone());
        fact("Command line", run.command_line.join(" "));
        fact("Only below", args.part.root.clone().unwrap_or_default());
        fact("Only threads", args.part.thread.clone().unwrap_or_default());
        fact("Recorded by", format!("cprof {}", run.cprof_version));
        facts.notes.extend(all_doubts(&loaded.view, &Notes::of(&loaded.processors)));
        facts.notes.extend_from_slice(&loaded.beside);
    }
    facts.gaps = after.view.profile.gaps.iter().map(|gap| (gap.name(), gap.reason.clone())).collect();
    facts
}

/// Names and units of the metrics that both profiles have; the others are noted.
fn common(after: &Loaded, before: Option<&Loaded>, notes: &mut Vec<String>) -> Vec<(String, Cow<'static, str>)> {
    let names = |loaded: &Loaded| -> Vec<(String, Cow<'static, str>)> {
        columns(&loaded.view, &loaded.view.tree, &loaded.processors).into_iter().map(|m| (m.name, m.unit)).collect()
    };
    let mut all = names(after);
    if let Some(before) = before {
        let others = names(before);
        let mut alone =
            |(name, _): &(String, Cow<'_, str>), file: &str| notes.push(format!("only {file} has {name}; it cannot be compared"));
        all.iter().filter(|n| !others.contains(n)).for_each(|n| alone(n, &after.view.file));
        others.iter().filter(|n| !all.contains(n)).for_each(|n| alone(n, &before.view.file));
        all.retain(|n| others.contains(n));
    }
    all
}

/// The chosen threads by label.
fn chosen(loaded: &Loaded) -> BTreeMap<String, Vec<usize>> {
    labels(&loaded.view.profile, |t| loaded.view.threads[t])
}

/// Labels of threads that are shown together, with the fewest contexts. In two profiles they are the same, so that no thread is
/// compared with nothing.
struct Together(BTreeSet<String>);

impl Together {
    fn of<'a>(profiles: impl Iterator<Item = &'a Loaded>) -> Together {
        let contexts = |loaded: &Loaded, members: &[usize]| -> usize {
            members.iter().map(|&t| loaded.view.profile.nodes_of_thread(t).len()).sum()
        };
        let of_labels =
            |loaded: &'a Loaded| chosen(loaded).into_iter().map(move |(label, members)| (label, contexts(loaded, &members)));
        Together::least(profiles.flat_map(of_labels))
    }

    /// By labels with their contexts, which may come several times.
    fn least(labels: impl Iterator<Item = (String, usize)>) -> Together {
        let mut sums: BTreeMap<String, usize> = BTreeMap::new();
        labels.for_each(|(label, contexts)| *sums.entry(label).or_default() += contexts);
        let mut order: Vec<(String, usize)> = sums.into_iter().collect();
        order.sort_by_key(|(_, contexts)| Reverse(*contexts));
        let alone = if order.len() > MOST_LABELS { MOST_LABELS - 1 } else { order.len() };
        Together(order.split_off(alone).into_iter().map(|(label, _)| label).collect())
    }

    /// What they are called.
    fn label(&self) -> String {
        format!("({} other names)", thousands(self.0.len() as u64))
    }

    fn note(&self) -> Option<String> {
        let names = thousands(self.0.len() as u64);
        (!self.0.is_empty()).then(|| format!("threads of {names} names are shown together as {}", self.label()))
    }
}

/// Adds the chosen threads, label by label.
fn add(page: &mut Page, side: Side, loaded: &Loaded, common: &[(String, Cow<'static, str>)], together: &Together) {
    let view = &loaded.view;
    let threads = &view.profile.threads;
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (label, mut members) in chosen(loaded) {
        let label = if together.0.contains(&label) { together.label() } else { label };
        groups.entry(label).or_default().append(&mut members);
    }
    groups.values_mut().for_each(|members| members.sort_unstable());
    for (label, members) in groups {
        let tree = view.tree_of(|t| members.binary_search(&t).is_ok());
        let mut own = columns(view, &tree, &loaded.processors);
        // In the page's order: two profiles may have the same caches in different orders.
        let of_name = |(name, _): &(String, Cow<'_, str>)| own.iter().position(|m| m.name == *name).map(|at| own.swap_remove(at));
        let metrics: Vec<Metric> = common.iter().filter_map(of_name).collect();
        let leases = members.iter().map(|&t| u64::from(threads[t].leases)).sum();
        page.add(side, &label, leases, &view.symbols, &tree, metrics);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_put_together_in_both_profiles_or_in_none() {
        let labels = |from: usize, to: usize| (from..to).map(|i| (format!("worker {i:03}"), 1000 - i));
        assert!(Together::least(labels(0, MOST_LABELS).chain(labels(0, MOST_LABELS))).note().is_none());
        // 101 names: the two that only one of the profiles has are those with the fewest contexts.
        let Together(together) = Together::least(labels(0, MOST_LABELS).chain(labels(1, MOST_LABELS + 1)));
        assert_eq!(together.into_iter().collect::<Vec<_>>(), ["worker 000", "worker 100"]);
        let note = Together::least(labels(0, MOST_LABELS + 1)).note();
        assert_eq!(note.as_deref(), Some("threads of 2 names are shown together as (2 other names)"));
    }
}
