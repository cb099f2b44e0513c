//! `cprof explore`: one profile on many configurations.

mod matrix;
mod plot;

use crate::args::{Evaluating, Explore, Format, settings};
use crate::compare::cautions;
use crate::loaded::processor::{cpi, model_has_changed, percent, ratio};
use crate::loaded::view::{Shape, View};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::style::{Style, printable};
use crate::table::Table;
use crate::table::field;
use crate::usage::Usage;
use anyhow::{Context, Result, bail};
use cprof_profile::cycles::{Metrics, evaluate};
use cprof_profile::names::{dotted, thousands};
use cprof_profile::target::{Accuracy, CycleEstimator, Model};
use matrix::{Configuration, Matrix};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Configurations that are evaluated at a time, at most: each takes memory for the cycles of every context.
const MOST_AT_ONCE: usize = 4;

/// A row.
#[derive(Serialize)]
struct Row {
    target: String,
    cache: String,
    set: BTreeMap<String, i64>,
    cycles: u64,
    bytecodes: u64,
    cpi: Option<f64>,
    milliseconds: Option<f64>,
    /// How much faster than the base, in percent: (time of the base / time - 1) · 100.
    speedup: Option<f64>,
    entry_miss_rate: Option<f64>,
    return_miss_rate: Option<f64>,
    miss_rate: Option<f64>,
}

/// So many configurations are named in a note.
const NAMED: usize = 4;

/// Prints the table, and draws it.
pub fn explore(args: &Explore) -> Result<()> {
    if let Some(plot) = &args.plot {
        if output::is_standard(plot) {
            bail!(Usage("the table goes to standard output; name a file for the plot, as --plot design.svg".to_owned()));
        }
        output::spares(plot, [&args.part.file].into_iter().chain(&args.matrix))?;
    }
    let view = View::load(&args.part, None, Shape::Nodes)?;
    let chosen = view.chosen_nodes();
    let Matrix { configurations, base } = matrix::read(args.matrix.as_deref(), &view.profile)?;
    let against = base.as_ref().unwrap_or(&configurations[0]).name();
    let all: Vec<&Configuration> = configurations.iter().chain(&base).collect();
    let (progress, done) = (Progress::start(format!("evaluating {}", view.file)), AtomicUsize::new(0));
    let measured = at_once(&all, |c| {
        let measured = measured(&view, &chosen, c, args);
        progress.reached((done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / all.len() as f64);
        measured
    })?;
    drop(progress);
    // Without a base of its own, the first is the others'.
    let base_time = measured[if base.is_some() { configurations.len() } else { 0 }].time;
    let rows: Vec<Row> = configurations.iter().zip(&measured).map(|(c, m)| row(c, m, view.totals.own, base_time)).collect();
    let mut notes = of_configurations(&all, &measured);
    notes.extend(how(args).note());
    notes.extend(cautions(&view));
    notes.extend(doubtful(&all, &measured));
    if measured.iter().any(|m| m.time.1 != base_time.1) {
        notes.insert(format!("there is no speedup where only one of a processor and {against} has a clock: times are no cycles"));
    }
    if all.iter().any(|c| c.is_recorded) {
        notes.extend(model_has_changed(&view.profile.run, |name| format!("a matrix with targets = [{name:?}]")));
    }
    if let Some(file) = &args.plot {
        draw(&rows, &view, &against, file)?;
    }
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    match args.format {
        Format::Text => text(&rows, &against, &notes, &mut out, style)?,
        Format::Csv => csv(&rows, &mut out)?,
        Format::Json => {
            serde_json::to_writer_pretty(
                &mut out,
                &serde_json::json!({ "configurations": rows, "base": against, "notes": notes }),
            )
            .map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    if args.format == Format::Csv {
        output::notes(&notes);
    }
    view.tell_if_nothing();
    Ok(())
}

fn draw(rows: &[Row], view: &View, against: &str, file: &Path) -> Result<()> {
    let bars: Vec<plot::Bar> = rows.iter().map(|r| plot::Bar { label: name(r), speedup: r.speedup }).collect();
    let main = &view.profile.run.main_class;
    let title = if main.is_empty() { view.file.clone() } else { dotted(main) };
    let mut out = Output::create(file)?;
    out.write_all(plot::svg(&title, against, &bars).as_bytes()).with_context(|| output::cannot(file))?;
    out.finish()?;
    Ok(())
}

/// What a configuration comes to.
struct Measured {
    /// As [`time`] says it.
    time: (f64, bool),
    metrics: Metrics,
    accuracy: Accuracy,
    notes: Vec<String>,
}

/// The evaluations' notes, each once, with the configurations that it is about.
fn of_configurations(all: &[&Configuration], measured: &[Measured]) -> BTreeSet<String> {
    let mut about: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (c, m) in all.iter().zip(measured) {
        for note in &m.notes {
            let named = about.entry(note).or_default();
            // The base may be one of the others.
            if !named.contains(&c.name()) {
                named.push(c.name());
            }
        }
    }
    let line = |(note, named): (&str, Vec<String>)| {
        let more = named.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("{}{more}: {note}", named[..named.len().min(NAMED)].join("; "))
    };
    about.into_iter().map(line).collect()
}

/// Which processors' cycles are not as published for them, a note for each degree.
fn doubtful(all: &[&Configuration], measured: &[Measured]) -> Vec<String> {
    let mut targets: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (c, m) in all.iter().zip(measured).filter(|(_, m)| m.accuracy != Accuracy::Exact) {
        targets.entry(m.accuracy.to_string()).or_default().insert(&c.target);
    }
    targets.into_iter().map(|(accuracy, targets)| format!("{accuracy}: {}", Vec::from_iter(targets).join(", "))).collect()
}

/// How all are evaluated.
fn how(args: &Explore) -> Evaluating {
    Evaluating { set: Vec::new(), no_upcalls: args.no_upcalls, no_exceptions: args.no_exceptions }
}

fn measured(view: &View, chosen: &[bool], c: &Configuration, args: &Explore) -> Result<Measured> {
    let model = c.model(&view.profile.run)?;
    if let Some(plot) = &args.plot {
        output::spares(plot, &model.paths)?;
    }
    let evaluation = evaluate(&view.profile, &view.measures, &view.natives, &model, &how(args).options(c.cache))
        .with_context(|| format!("{} on target {}, cache {}", view.file, c.target, c.cache))?;
    let mut metrics = Metrics::default();
    (0..evaluation.nodes.len()).filter(|&node| chosen[node]).for_each(|node| metrics.add(&evaluation.nodes.get(node)));
    Ok(Measured { time: time(&model, &metrics), metrics, accuracy: model.accuracy, notes: evaluation.notes })
}

/// Does something for each of some items, several at a time, and answers in their order: all results, or the first error.
fn at_once<T: Sync, R: Send>(items: &[T], one: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_AT_ONCE).min(items.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        // Nobody begins another one after a failure; those before it are in work, or done.
        while let Some((at, item)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?))) {
            let result = one(item);
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            done.push((at, result));
        }
        done
    };
    let mut done: Vec<(usize, Result<R>)> = thread::scope(|scope| {
        // Where there are no threads to be had, this one does it all.
        let others: Vec<_> = (1..workers).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let own = work();
        let others = others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        own.into_iter().chain(others).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Time in milliseconds, and true, where the model has a clock; otherwise in cycles.
fn time(model: &Model, metrics: &Metrics) -> (f64, bool) {
    match model.clock_mhz() {
        Some(mhz) => (metrics.cycles as f64 / (mhz as f64 * 1000.0), true),
        None => (metrics.cycles as f64, false),
    }
}

fn row(c: &Configuration, measured: &Measured, bytecodes: u64, base: (f64, bool)) -> Row {
    let Measured { time: (own, clocked), metrics: m, .. } = *measured;
    let rate = |misses: u64, lookups: u64| (lookups > 0).then(|| misses as f64 / lookups as f64);
    Row {
        target: c.target.clone(),
        cache: c.cache.to_string(),
        set: c.set.iter().cloned().collect(),
        cycles: m.cycles,
        bytecodes,
        cpi: cpi(m.cycles, bytecodes),
        milliseconds: clocked.then_some(own),
        // A clock cannot be compared with none.
        speedup: (own > 0.0 && clocked == base.1).then(|| (base.0 / own - 1.0) * 100.0),
        entry_miss_rate: rate(m.entry_misses, m.entries),
        return_miss_rate: rate(m.return_misses, m.returns),
        miss_rate: rate(m.entry_misses.saturating_add(m.return_misses), m.lookups()),
    }
}

fn name(row: &Row) -> String {
    format!("{}, {}{}", row.target, row.cache, settings(row.set.iter()))
}

fn text(rows: &[Row], against: &str, notes: &BTreeSet<String>, out: &mut dyn Write, style: Style) -> Result<()> {
    let mut table = Table::new(&["cycles", "IC", "CPI", "ms", "speedup", "entry misses", "return misses", "configuration"]);
    for r in rows {
        table.row(vec![
            thousands(r.cycles),
            thousands(r.bytecodes),
            ratio(r.cpi),
            r.milliseconds.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}")),
            r.speedup.map_or_else(|| "-".to_owned(), |p| format!("{p:+.1}%")),
            percent(r.entry_miss_rate),
            percent(r.return_miss_rate),
            name(r),
        ]);
    }
    table.print(out, style)?;
    writeln!(out, "\nspeedup is against {}", printable(against))?;
    for note in notes {
        writeln!(out, "{}", style.warning(&format!("note: {note}")))?;
    }
    Ok(())
}

fn csv(rows: &[Row], out: &mut dyn Write) -> Result<()> {
    let number = |n: Option<f64>| n.map(|n| format!("{n:.6}")).unwrap_or_default();
    write!(out, "target,cache,set,cycles,bytecodes,cpi,milliseconds,speedup,entry_miss_rate,return_miss_rate,miss_rate\r\n")?;
    for r in rows {
        let (target, set) = (field(&r.target), field(settings(r.set.iter()).trim_start()));
        let rates = [r.cpi, r.milliseconds, r.speedup, r.entry_miss_rate, r.return_miss_rate, r.miss_rate].map(number).join(",");
        write!(out, "{target},{},{set},{},{},{rates}\r\n", r.cache, r.cycles, r.bytecodes)?;
    }
    Ok(())
}
