//! What can be said of several runs together.

use crate::model::{Run, RunFacts};
use crate::target::Library;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What is the same in all runs stays; what differs is empty or 0, and is told of each run in [`crate::model::Profile::runs`].
/// Sums, extents and cautions are those of all.
/// `same_model`: files of models are the same whatever the path, as their texts are.
pub(super) fn combine(runs: &[Run], same_model: bool, notes: &mut Vec<String>) -> RunFacts {
    let mut facts = runs.iter().map(|run| &run.facts);
    let Some(mut all) = facts.next().cloned() else { return RunFacts::default() };
    let (mut targets, mut counted) = (false, false);
    for run in facts {
        if !(same_model && same_name(&all.target, &run.target)) {
            targets |= all.target != run.target;
            same(&mut all.target, &run.target);
        }
        counted |= runs[0].facts.counted() != run.counted();
        same(&mut all.cprof_version, &run.cprof_version);
        same(&mut all.jvm_version, &run.jvm_version);
        same(&mut all.jvm_vendor, &run.jvm_vendor);
        same(&mut all.command_line, &run.command_line);
        same(&mut all.main_class, &run.main_class);
        same(&mut all.options, &run.options);
        same(&mut all.roots, &run.roots);
        same(&mut all.pid, &run.pid);
        all.started_ms = all.started_ms.min(run.started_ms);
        all.ended_ms = all.ended_ms.max(run.ended_ms);
        all.lost_calls = all.lost_calls.saturating_add(run.lost_calls);
        all.folded |= run.folded;
        all.bounded |= run.bounded;
        all.sites |= run.sites;
        all.uncounted.extend_from_slice(&run.uncounted);
        all.taken = all.taken.max(run.taken);
    }
    all.uncounted.sort();
    all.uncounted.dedup();
    if targets {
        notes.push(
            "the runs were recorded for different processors, or some for none: reports show none unless one is named with --target".to_owned(),
        );
    }
    if counted {
        notes.push(
            "different parts of the programs were counted: not all runs have the same root=, include=, exclude= and bba="
                .to_owned(),
        );
    }
    all
}

/// Says which runs are in there several times, if any: that may be meant, and may be two names of one file. Snapshots of one run, which
/// end at different times, have its counts from its start.
pub fn repeated(runs: &[Run]) -> Option<String> {
    let mut ends = BTreeMap::new();
    let (mut again, mut snapshots) = (Vec::new(), false);
    for run in runs {
        match ends.entry((run.facts.started_ms, run.facts.pid, &run.facts.command_line)) {
            Entry::Vacant(entry) => {
                entry.insert(run.facts.ended_ms);
            }
            Entry::Occupied(first) => {
                again.push(run);
                snapshots |= *first.get() != run.facts.ended_ms;
            }
        }
    }
    let first = again.first()?;
    let snapshots = if snapshots { "; snapshots count from the start of the run" } else { "" };
    Some(format!(
        "{} of the {} runs {} there more than once, {} among them: their counts are, too{snapshots}",
        again.len(),
        runs.len(),
        if again.len() == 1 { "is" } else { "are" },
        first.file
    ))
}

/// Whether two models are called the same in reports.
fn same_name(one: &str, other: &str) -> bool {
    Library.is_path(one) && Library.is_path(other) && Library.short_name(one) == Library.short_name(other)
}

/// Empties what differs.
fn same<T: Default + PartialEq>(all: &mut T, one: &T) {
    if all != one {
        *all = T::default();
    }
}
