//! What a reader of a comparison must know besides the numbers.

use super::Loaded;
use crate::loaded::view::View;
use crate::metrics::Notes;
use crate::report::coverage::NO_ROOM;
use cprof_compare::diff::Comparison;
use cprof_compare::pair::By;
use cprof_compare::renumbering::{Renumbered, Unclear};
use cprof_profile::merge::repeated;
use cprof_profile::model::Profile;
use cprof_profile::names::{argument, counted, thousands};
use cprof_profile::natives::NotTold;

/// So many names are listed in a note, and so many warnings of a profile.
const LISTED: usize = 5;

/// How contexts were folded, if they were.
fn folded(view: &View) -> Vec<String> {
    let (run, file) = (&view.profile.run, &view.file);
    let for_room = run.folded.then(|| {
        format!(
            "{file}: contexts were folded for want of room; calls, exits and bytecodes are exact in total, but contexts may differ for that reason alone, and numbers with callees be too low"
        )
    });
    let as_wanted = run.bounded.then(|| {
        format!(
            "{file}: contexts were folded by depth= or recursion=fold: what a method executed with all that it called may be more than its numbers with callees say"
        )
    });
    for_room.into_iter().chain(as_wanted).collect()
}

/// About a profile's own numbers, whichever are shown: why they may not be exact.
pub fn cautions(view: &View) -> Vec<String> {
    cautions_with(view, LISTED)
}

/// The same, naming so many of the profile's warnings.
fn cautions_with(view: &View, listed: usize) -> Vec<String> {
    let file = &view.file;
    let mut notes = Vec::new();
    notes.extend(view.profile.run.taken.caution().map(|caution| format!("{file}: {caution}")));
    notes.extend(repeated(&view.profile.runs).map(|repeated| format!("{file}: {repeated}")));
    let lost = view.profile.run.lost_calls;
    notes.extend((lost > 0).then(|| format!("{file}: {} {NO_ROOM}: its totals are incomplete", thousands(lost))));
    if view.measures.inconsistent > 0 {
        let contexts = counted(view.measures.inconsistent as u64, "context was", "contexts were");
        notes.push(format!("{file}: {contexts} caught between two counters"));
    }
    let warnings = &view.profile.warnings;
    notes.extend(warnings.iter().take(listed).map(|warning| format!("{file}: {warning}")));
    let more = warnings.len().saturating_sub(listed) as u64;
    notes.extend((more > 0).then(|| {
        let more = counted(more, "more warning", "more warnings");
        format!("{file}: {more}; cprof report {} shows all", argument(file))
    }));
    notes
}

/// As [`cautions`], where contexts are shown.
pub fn cautions_of_contexts(view: &View) -> Vec<String> {
    [cautions(view), folded(view)].concat()
}

/// All that there is to be known of a profile's numbers, but for warnings beyond the first few.
pub fn doubts(view: &View, cycles: &Notes) -> Vec<String> {
    doubts_with(view, cycles, LISTED)
}

/// All of them.
pub fn all_doubts(view: &View, cycles: &Notes) -> Vec<String> {
    doubts_with(view, cycles, usize::MAX)
}

fn doubts_with(view: &View, cycles: &Notes, listed: usize) -> Vec<String> {
    let file = &view.file;
    let mut notes = cautions_with(view, listed);
    notes.extend(folded(view));
    notes.extend(NotTold::of(&view.profile).sentence(&view.profile).map(|natives| format!("{file}: {natives}")));
    notes.extend(cycles.lines(file));
    notes
}

/// About two profiles' numbers; of a profile beside itself once.
pub fn doubts_of_two(one: (&View, &Notes), other: (&View, &Notes)) -> Vec<String> {
    let mut notes = doubts(one.0, one.1);
    let more: Vec<String> = doubts(other.0, other.1).into_iter().filter(|note| !notes.contains(note)).collect();
    notes.extend(more);
    notes
}

/// About a comparison.
pub fn notes(loaded: &Loaded, comparison: &Comparison<'_>) -> Vec<String> {
    let views = &loaded.views;
    let [before, after] = views;
    let mut notes = doubts_of_two((before, &loaded.notes[0]), (after, &loaded.notes[1]));
    for view in views {
        if view.tree.is_empty() {
            notes.push(format!("{}: nothing was counted in it", view.file));
        }
    }
    if comparison.methods.common() == 0 && views.iter().all(|v| !v.tree.is_empty()) {
        let main = |view: &View| match view.profile.run.main_class.as_str() {
            "" => "an unknown program".to_owned(),
            main => main.to_owned(),
        };
        notes.push(format!(
            "the profiles have no method in common: {} is of {}, {} of {}",
            before.file,
            main(before),
            after.file,
            main(after)
        ));
    }
    notes.extend(recorded_differently(before, after));
    notes.extend(loaded.models_differ.then(|| MODELS_DIFFER.to_owned()));
    let sites = comparison.contexts.sites;
    if sites.only_one {
        notes.push("only one of the profiles distinguishes call sites: they are merged".to_owned());
    }
    if sites.by_order > 0 {
        let pairs = counted(sites.by_order as u64, "pair", "pairs");
        notes.push(format!("in changed code, the call sites of {pairs} of methods were matched by their order"));
    }
    if sites.merged > 0 {
        let pairs = counted(sites.merged as u64, "pair", "pairs");
        notes.push(format!("in changed code, the call sites of {pairs} of methods cannot be told apart; they are merged"));
    }
    for (names, view) in comparison.other_metrics().iter().zip(views) {
        if !names.is_empty() {
            notes.push(format!("only {} has {}", view.file, names.join(", ")));
        }
    }
    let renumbering = &comparison.methods.renumbering;
    let moved = |r: &Renumbered| format!("{} is now {}", r.before, r.after);
    for (by, why) in [
        (By::Code, "the same code under another number"),
        (By::Shape, "assumed, because of their instructions, though what these name or load differs"),
        (By::Place, "assumed, because of their place among others whose code is the same"),
    ] {
        notes.extend(listed(why, renumbering.renumbered.iter().filter(|r| r.by == by).map(moved).collect()));
    }
    let unclear = |u: &Unclear| match (u.before.is_empty(), u.after.is_empty()) {
        (false, true) => format!("{} is gone, or one with equal code", u.before.join(" and ")),
        (true, false) => format!("{} is new, or one with equal code", u.after.join(" and ")),
        _ => format!("{} may be {}", u.before.join(" and "), u.after.join(" or ")),
    };
    notes.extend(listed(
        "nothing tells which is which; they count as gone and new",
        renumbering.unclear.iter().map(unclear).collect(),
    ));
    notes
}

/// Said where [`super::models_differ`].
pub const MODELS_DIFFER: &str =
    "the models that they were recorded with differ: so do cycles; --target FILE evaluates both on one";

/// What makes the numbers of two profiles differ besides their programs.
pub fn recorded_differently(before: &View, after: &View) -> Vec<String> {
    let runs = [&before.profile.run, &after.profile.run];
    let mut notes = Vec::new();
    let parts = [&before.profile, &after.profile].map(Profile::counted);
    if parts[0] != parts[1] {
        let [first, second] = parts.map(|counted| match counted {
            Some(what) if what.is_empty() => "with no such option".to_owned(),
            Some(what) => what.join(", "),
            None => "different parts".to_owned(),
        });
        notes.push(format!("what was counted differs: {first} in {}, {second} in {}", before.file, after.file));
    }
    let [first, second] = [&before.profile, &after.profile].map(|profile| match profile.bounds() {
        bounds if bounds.is_empty() => "in full".to_owned(),
        bounds => bounds.join(", "),
    });
    if first != second {
        notes.push(format!(
            "contexts were kept in different ways and differ for that reason, too: {first} in {}, {second} in {}",
            before.file, after.file
        ));
    }
    let [first, second] = [before, after].map(|view| view.profile.runs.len().max(1));
    if first != second {
        let [first, second] = [first, second].map(|runs| counted(runs as u64, "run", "runs"));
        notes.push(format!("not one run is compared with one: {} is of {first}, {} of {second}", before.file, after.file));
    }
    if runs[0].jvm_version != runs[1].jvm_version {
        notes.push(format!("the JVMs differ: {} and {}", runs[0].jvm_version, runs[1].jvm_version));
    }
    notes
}

fn listed(what: &str, mut names: Vec<String>) -> Option<String> {
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("{what}: {}{more}", names.join("; ")))
}
