//! `cprof html`.

use super::code::codes;
use super::{Loaded, written};
use crate::args::Html;
use crate::date::utc;
use crate::metrics::{self, Notes, columns};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::report::coverage::NO_ROOM;
use crate::report::view::Shape;
use anyhow::{Context, Result};
use cprof_profile::metrics::Metric;
use cprof_profile::names::{dotted, thousands};
use cprof_profile::natives::NotTold;
use cprof_profile::projections::labels;
use cprof_views::page::{Facts, Page, Side};

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
    add(&mut page, Side::After, &after, &common, &mut facts.notes);
    if let Some(before) = &before {
        add(&mut page, Side::Before, before, &common, &mut facts.notes);
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
        let run = &loaded.view.profile.run;
        let length = match run.ended_ms {
            0 => "killed".to_owned(),
            ended => format!("{:.1} s under the profiler", ended.saturating_sub(run.started_ms) as f64 / 1000.0),
        };
        let mut fact = |name: &str, value: String| {
            if !value.is_empty() {
                facts.run.push((name.to_owned(), value));
            }
        };
        fact("Profile", loaded.view.file.clone());
        fact("Main class", run.main_class.clone());
        fact("JVM", format!("{} {}", run.jvm_vendor, run.jvm_version).trim().to_owned());
        fact("Started", utc(run.started_ms));
        fact("Took", length);
        fact("Options", run.options.clone());
        fact("Command line", run.command_line.join(" "));
        fact("Only below", args.part.root.clone().unwrap_or_default());
        fact("Only threads", args.part.thread.clone().unwrap_or_default());
        fact("Recorded by", format!("cprof {}", run.cprof_version));
        facts.notes.extend(run.taken.caution().map(|caution| format!("{}: {caution}", loaded.view.file)));
        facts.notes.extend(loaded.view.profile.warnings.iter().map(|w| format!("{}: {w}", loaded.view.file)));
        if run.lost_calls > 0 {
            facts.notes.push(format!("{}: {} {NO_ROOM}; totals are incomplete", loaded.view.file, thousands(run.lost_calls)));
        }
        let natives = NotTold::of(&loaded.view.profile).sentence(&loaded.view.profile);
        facts.notes.extend(natives.map(|natives| format!("{}: {natives}", loaded.view.file)));
        if loaded.view.measures.inconsistent > 0 {
            let contexts = thousands(loaded.view.measures.inconsistent as u64);
            facts.notes.push(format!("{}: {contexts} contexts were read between two counters", loaded.view.file));
        }
        facts.notes.extend(Notes::of(&loaded.processors).lines(&loaded.view.file));
    }
    let gap = |g: &cprof_profile::model::Gap| {
        let class = dotted(&g.class);
        (g.method.as_ref().map_or_else(|| class.clone(), |method| format!("{class}.{method}")), g.reason.clone())
    };
    facts.gaps = after.view.profile.gaps.iter().map(gap).collect();
    facts
}

/// Names and units of the metrics that both profiles have; the others are noted.
fn common(after: &Loaded, before: Option<&Loaded>, notes: &mut Vec<String>) -> Vec<(String, &'static str)> {
    let names = |loaded: &Loaded| -> Vec<(String, &'static str)> {
        columns(&loaded.view, &loaded.view.tree, &loaded.processors).into_iter().map(|m| (m.name, m.unit)).collect()
    };
    let mut all = names(after);
    if let Some(before) = before {
        let others = names(before);
        let mut alone =
            |(name, _): &(String, &str), file: &str| notes.push(format!("only {file} has {name}; it cannot be compared"));
        all.iter().filter(|n| !others.contains(n)).for_each(|n| alone(n, &after.view.file));
        others.iter().filter(|n| !all.contains(n)).for_each(|n| alone(n, &before.view.file));
        all.retain(|n| others.contains(n));
    }
    all
}

/// Adds the chosen threads, label by label.
fn add(page: &mut Page, side: Side, loaded: &Loaded, common: &[(String, &'static str)], notes: &mut Vec<String>) {
    let view = &loaded.view;
    let threads = &view.profile.threads;
    let nodes = |t: usize| view.profile.nodes_of_thread(t).len();
    let mut groups: Vec<(String, Vec<usize>)> = labels(&view.profile, |t| view.threads[t]).into_iter().collect();
    groups.sort_by_key(|(_, members)| std::cmp::Reverse(members.iter().map(|&t| nodes(t)).sum::<usize>()));
    if groups.len() > MOST_LABELS {
        let rest = groups.split_off(MOST_LABELS - 1);
        let label = format!("({} other names)", thousands(rest.len() as u64));
        notes.push(format!("{}: threads of {} names are shown together as {label}", view.file, thousands(rest.len() as u64)));
        let mut members: Vec<usize> = rest.into_iter().flat_map(|(_, members)| members).collect();
        members.sort_unstable();
        groups.push((label, members));
    }
    for (label, members) in groups {
        let tree = view.tree_of(|t| members.binary_search(&t).is_ok());
        let metrics: Vec<Metric> =
            columns(view, &tree, &loaded.processors).into_iter().filter(|m| common.iter().any(|c| c.0 == m.name)).collect();
        let leases = members.iter().map(|&t| u64::from(threads[t].leases)).sum();
        page.add(side, &label, leases, &view.symbols, &tree, metrics);
    }
}
