//! `cprof flamegraph`.

use super::{Loaded, written};
use crate::args::Flamegraph;
use crate::metrics::{Notes, columns};
use crate::output::{self, Output};
use crate::progress::Progress;
use anyhow::{Context, Result};
use cprof_compare::metric::find;
use cprof_profile::metrics::Metric;
use cprof_views::forest::Forest;
use cprof_views::svg::{self, Costs, Picture};
use std::slice;

/// The metric of every profile.
const BYTECODES: &str = "bytecodes";

/// Draws the picture.
pub fn flamegraph(args: &Flamegraph) -> Result<()> {
    output::spares(&args.out, [&args.part.file].into_iter().chain(&args.diff))?;
    let mut after = Loaded::new(&args.part, &args.on, &args.out)?;
    let mut before = args.diff.as_ref().map(|file| after.before(file, &args.part, &args.on, &args.out)).transpose()?;
    let asked = args.metric.as_deref();
    let (metric_after, metric_before) = match both(&after, before.as_ref(), asked) {
        Err(why) if asked.is_none() => {
            let plain = both(&after, before.as_ref(), Some(BYTECODES))?;
            output::tell(format_args!("{BYTECODES} are drawn: {why:#}"));
            plain
        }
        found => found?,
    };
    for loaded in [Some(&after), before.as_ref()].into_iter().flatten() {
        let drawn = loaded.processors.iter().filter(|on| on.column() == metric_after.name);
        drawn.for_each(|on| Notes::of(slice::from_ref(on)).tell(&loaded.view.file));
    }
    let progress = Progress::start(format!("drawing {}", args.out.display()));
    // Call sites are not told apart: a flame graph is of methods.
    let mut forest = Forest::new(false);
    let places_after = forest.add(&after.view.symbols, &after.view.tree);
    let places_before = before.as_ref().map(|b| forest.add(&b.view.symbols, &b.view.tree));
    after.view.forget_tree();
    before.iter_mut().for_each(|b| b.view.forget_tree());
    let contexts = forest.arrange();
    let own_after = contexts.column(&contexts.positions(&places_after), &metric_after.own);
    let own_before = places_before.zip(metric_before).map(|(p, m)| contexts.column(&contexts.positions(&p), &m.own));

    let mut about = after.view.file.clone();
    if let Some(before) = &before {
        about.push_str(&format!(" compared with {}", before.view.file));
    }
    about.extend(args.part.thread.as_ref().map(|thread| format!(", threads {thread}")));
    about.extend(args.part.root.as_ref().map(|root| format!(", below {root}")));
    let title = args.title.clone().unwrap_or_else(|| after.title());
    let picture =
        Picture { title: &title, about: &about, metric: &metric_after.name, reverse: args.reverse, min_width: args.min_width };
    let mut out = Output::create(&args.out)?;
    let drawn = svg::write(&picture, &contexts, Costs { after: &own_after, before: own_before.as_ref() }, &mut out);
    drawn.with_context(|| output::cannot(&args.out))?;
    drop(progress);
    written(&args.out, out, &metric_after.name)
}

/// The metric of that name, or the one that says most of `after`, in both profiles.
fn both(after: &Loaded, before: Option<&Loaded>, name: Option<&str>) -> Result<(Metric, Option<Metric>)> {
    let of_after = metric(after, name)?;
    let of_before = before.map(|before| metric(before, Some(&of_after.name))).transpose()?;
    Ok((of_after, of_before))
}

/// The metric of that name, or the one that says most.
fn metric(loaded: &Loaded, name: Option<&str>) -> Result<Metric> {
    let name = name.map_or_else(|| loaded.metric(), str::to_owned);
    let mut all = columns(&loaded.view, &loaded.view.tree, &loaded.processors);
    let at = find(all.iter(), &name).with_context(|| loaded.view.file.clone())?;
    Ok(all.swap_remove(at))
}
