//! `cprof flamegraph`.

use super::{Loaded, written};
use crate::args::Flamegraph;
use crate::compare::cautions_of_contexts;
use crate::loaded::view::Shape;
use crate::metrics::{self, Notes, TARGET_ADDS, columns};
use crate::output::{self, Output};
use crate::progress::Progress;
use anyhow::{Context, Result};
use cprof_compare::metric::find;
use cprof_profile::amounts::Amounts;
use cprof_profile::metrics::Metric;
use cprof_profile::tree::Tree;
use cprof_views::forest::Forest;
use cprof_views::svg::{self, Costs, Picture};
use std::slice;

/// Draws the picture.
pub fn flamegraph(args: &Flamegraph) -> Result<()> {
    output::spares(&args.out, [&args.part.file].into_iter().chain(&args.diff))?;
    let mut after = Loaded::new(&args.part, &args.on, &args.out, Shape::Tree { apart: false })?;
    let mut before = args
        .diff
        .as_ref()
        .map(|file| after.before(file, &args.part, &args.on, &args.out, Shape::Tree { apart: false }))
        .transpose()?;
    let (metric_after, metric_before) = match &args.metric {
        Some(name) => both(&after, before.as_ref(), name)?,
        None => telling(&after, before.as_ref())?,
    };
    for loaded in [Some(&after), before.as_ref()].into_iter().flatten() {
        let drawn = loaded.processors.iter().filter(|on| on.column() == metric_after.name);
        drawn.for_each(|on| Notes::of(slice::from_ref(on)).tell(&loaded.view.file));
    }
    for loaded in [Some(&after), before.as_ref()].into_iter().flatten() {
        output::notes(&cautions_of_contexts(&loaded.view));
    }
    let progress = Progress::start(format!("drawing {}", args.out.display()));
    // Call sites are not told apart: a flame graph is of methods.
    let mut forest = Forest::new(false);
    let places_after = forest.add(&after.view.symbols, &after.view.tree);
    let places_before = before.as_ref().map(|b| forest.add(&b.view.symbols, &b.view.tree));
    let counted = before.as_ref().map(|before| [&after, before].map(|loaded| counted(&loaded.view.tree)));
    after.view.forget_tree();
    before.iter_mut().for_each(|b| b.view.forget_tree());
    let contexts = forest.arrange();
    let at_after = contexts.positions(&places_after);
    let at_before = places_before.map(|places| contexts.positions(&places));
    let own_after = contexts.column(&at_after, &metric_after.own);
    let own_before = at_before.as_ref().zip(metric_before).map(|(at, metric)| contexts.column(at, &metric.own));
    let apart = own_before.as_ref().zip(at_before.as_ref()).zip(counted).map(|((own_before, at_before), [after, before])| {
        let new = contexts.apart(&own_after, &contexts.column(at_before, &before));
        [new, contexts.apart(own_before, &contexts.column(&at_after, &after))]
    });

    let mut about = after.view.file.clone();
    if let Some(before) = &before {
        about.push_str(&format!(" compared with {}", before.view.file));
    }
    about.extend(args.part.thread.as_ref().map(|thread| format!(", threads {thread}")));
    about.extend(args.part.root.as_ref().map(|root| format!(", below {root}")));
    let title = args.title.clone().unwrap_or_else(|| after.title());
    let metric = &metric_after.name;
    let picture = Picture { title: &title, about: &about, metric, reverse: args.reverse, min_width: args.min_width, apart };
    let mut out = Output::create(&args.out)?;
    let drawn = svg::write(&picture, &contexts, Costs { after: &own_after, before: own_before.as_ref() }, &mut out);
    drawn.with_context(|| output::cannot(&args.out))?;
    drop(progress);
    written(&args.out, out, &metric_after.name)
}

/// Per context whether anything was counted in it, whatever the metric: 1 or 0.
fn counted(tree: &Tree) -> Amounts {
    tree.contexts().map(|c| u64::from(c.calls > 0 || c.exceptional_exits > 0 || c.own > 0)).collect()
}

/// The metric that says most of those that both profiles have; if that is not the one that would be shown of `after` alone, says
/// why.
fn telling(after: &Loaded, before: Option<&Loaded>) -> Result<(Metric, Option<Metric>)> {
    let names = metrics::telling(&after.processors);
    let why = match both(after, before, &names[0]) {
        Err(why) => why,
        found => return found,
    };
    let Some(name) = names.iter().find(|name| before.is_some_and(|before| metrics::telling(&before.processors).contains(name)))
    else {
        return Err(why);
    };
    output::tell(format_args!("{name} are drawn: {why:#}"));
    both(after, before, name)
}

/// The metric of that name in both profiles.
fn both(after: &Loaded, before: Option<&Loaded>, name: &str) -> Result<(Metric, Option<Metric>)> {
    let of_after = metric(after, name)?;
    let of_before = before.map(|before| metric(before, &of_after.name)).transpose()?;
    Ok((of_after, of_before))
}

fn metric(loaded: &Loaded, name: &str) -> Result<Metric> {
    let mut all = columns(&loaded.view, &loaded.view.tree, &loaded.processors);
    let at = find(all.iter(), name, TARGET_ADDS).with_context(|| loaded.view.file.clone())?;
    Ok(all.swap_remove(at))
}
