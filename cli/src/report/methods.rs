//! By method.

use super::coverage;
use super::json::{Document, Method};
use crate::args::Report;
use crate::date::utc;
use crate::loaded::processor::{Columns, HEADER, Sums, cpi, ratio};
use crate::loaded::view::{View, defaults, share};
use crate::style::Style;
use crate::table::{Table, field};
use anyhow::Result;
use cprof_profile::merge::repeated;
use cprof_profile::model::{Run, RunFacts};
use cprof_profile::names::{counted, thousands};
use cprof_profile::projections::MethodRow;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// How long a program ran.
pub fn length(run: &RunFacts) -> String {
    match run.ended_ms {
        0 => "killed".to_owned(),
        ended => format!("{:.1} s under the profiler", ended.saturating_sub(run.started_ms) as f64 / 1000.0),
    }
}

/// On what.
pub fn vm(run: &RunFacts) -> String {
    format!("{} {}", run.jvm_vendor, run.jvm_version).trim().to_owned()
}

/// On what, when and how long a program ran.
fn one_run(run: &RunFacts) -> String {
    format!("{}, {}, {}", vm(run), utc(run.started_ms), length(run))
}

/// How many runs were merged, of when, on what.
pub fn merged(runs: &[Run]) -> String {
    let vms: BTreeSet<(&str, &str)> = runs.iter().map(|r| (&*r.facts.jvm_vendor, &*r.facts.jvm_version)).collect();
    let vms: Vec<String> = vms.iter().map(|(vendor, version)| format!("{vendor} {version}").trim().to_owned()).collect();
    let starts = || runs.iter().map(|r| r.facts.started_ms);
    let (first, last) = (utc(starts().min().unwrap_or(0)), utc(starts().max().unwrap_or(0)));
    let when = if first == last { first } else { format!("{first} to {last}") };
    let runs = if runs.len() == 1 { "1 run".to_owned() } else { format!("{} runs merged", thousands(runs.len() as u64)) };
    format!("{runs}, {when}, {}", vms.join("; "))
}

/// What ran, and the sums.
pub fn head(view: &View, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let run = &view.profile.run;
    let runs = &view.profile.runs;
    writeln!(out, "{}", style.bold(&format!("{}: {}", view.file, view.profile.main())))?;
    writeln!(out, "{}", style.dim(&if runs.is_empty() { one_run(run) } else { merged(runs) }))?;
    if !run.options.is_empty() {
        writeln!(out, "{}", style.dim(&format!("options: {}", run.options)))?;
    }
    for caution in run.taken.caution().map(str::to_owned).into_iter().chain(repeated(runs)) {
        writeln!(out, "{}", style.warning(&caution))?;
    }
    let totals = &view.totals;
    let threads: u64 = view.profile.threads.iter().zip(&view.threads).filter(|t| *t.1).map(|t| u64::from(t.0.leases)).sum();
    let mut lines = [
        ("bytecodes", totals.own, String::new()),
        ("calls", totals.calls, format!("and {} of native methods", thousands(totals.native_calls))),
        ("exceptional exits", totals.exceptional_exits, String::new()),
        ("methods", totals.methods, String::new()),
        ("contexts", totals.contexts, String::new()),
    ]
    .map(|(name, number, rest)| (name.to_owned(), number, rest))
    .to_vec();
    if view.roots.is_none() {
        lines.push(("threads".to_owned(), threads, String::new()));
    }
    let sums = view.processor.as_ref().map(|p| Sums::new(p, &totals.processor, totals.own));
    lines.splice(1..1, sums.iter().flat_map(Sums::lines));
    let width = lines.iter().map(|l| thousands(l.1).len()).max().unwrap_or(0);
    let names = lines.iter().map(|l| l.0.len()).fold(17, usize::max);
    writeln!(out)?;
    for (name, number, rest) in lines {
        writeln!(out, "{}", format!("{name:names$}  {:>width$}  {}", thousands(number), style.dim(&rest)).trim_end())?;
    }
    Ok(())
}

fn table(view: &View, rows: &[MethodRow], out: &mut dyn Write, style: Style) -> io::Result<()> {
    let on = view.processor.as_ref().is_some_and(|on| on.model.counts_cycles());
    let mut heads = vec![view.unit(), "share", "with callees", "share"];
    heads.extend(if on { &["CPI", "misses"][..] } else { &[] });
    heads.extend(["calls", "exits", "method"]);
    let mut table = Table::new(&heads);
    for r in rows {
        let (own, total) = view.cost_of_row(r);
        let mut cells = vec![thousands(own), share(own, view.whole()), thousands(total), share(total, view.whole())];
        if on {
            let misses = r.processor.entry_misses.saturating_add(r.processor.return_misses);
            cells.extend([ratio(cpi(own, r.own)), thousands(misses)]);
        }
        cells.extend([thousands(r.calls), thousands(r.exceptional_exits), view.readable(r.symbol)]);
        table.row(cells);
    }
    table.print(out, style)
}

/// What the rows of methods, or of other things, cost that are not shown.
pub fn more(view: &View, [one, many]: [&str; 2], costs: impl ExactSizeIterator<Item = u64>) -> String {
    let number = counted(costs.len() as u64, one, many);
    let rest = costs.fold(0, u64::saturating_add);
    let (sum, share) = (thousands(rest), share(rest, view.whole()));
    format!("{number} with {sum} {} ({share}); --top 0 shows all", view.unit())
}

/// For people.
pub fn text(view: &View, args: &Report, out: &mut dyn Write, style: Style) -> Result<()> {
    head(view, out, style)?;
    writeln!(out)?;
    let rows = view.rows(args);
    let shown = match args.top.unwrap_or(25) {
        0 => rows.len(),
        top => top.min(rows.len()),
    };
    match &args.filter {
        Some(filter) if rows.is_empty() => writeln!(out, "no method's name fits {filter}")?,
        _ => table(view, &rows[..shown], out, style)?,
    }
    if shown < rows.len() {
        let costs = rows[shown..].iter().map(|r| view.cost_of_row(r).0);
        writeln!(out, "{}", style.dim(&more(view, ["more method", "more methods"], costs)))?;
    }
    writeln!(out)?;
    coverage::line(view, out, style)?;
    Ok(())
}

/// For the end of a run.
pub fn summary(view: &View, out: &mut dyn Write, style: Style) -> Result<()> {
    head(view, out, style)?;
    writeln!(out)?;
    let rows = view.rows(&defaults("".as_ref()));
    table(view, &rows[..rows.len().min(10)], out, style)?;
    writeln!(out)?;
    coverage::line(view, out, style)?;
    Ok(())
}

fn chosen(view: &View, args: &Report) -> Vec<MethodRow> {
    let mut rows = view.rows(args);
    if let Some(top) = args.top.filter(|&t| t > 0) {
        rows.truncate(top);
    }
    rows
}

/// The columns are fixed.
pub fn csv(view: &View, args: &Report, out: &mut dyn Write) -> Result<()> {
    write!(
        out,
        "class,method,descriptor,calls,exceptional_exits,bytecodes,bytecodes_total{}\r\n",
        if view.processor.is_some() { HEADER } else { "" }
    )?;
    for r in chosen(view, args) {
        let s = &view.symbols.list[r.symbol as usize];
        let (class, method, descriptor) = (field(&s.class), field(&s.method), field(&s.descriptor));
        let processor = view.processor.as_ref().map(|_| Columns::new(&r.processor, r.cycles_total, r.own).csv());
        let processor = processor.unwrap_or_default();
        write!(out, "{class},{method},{descriptor},{},{},{},{}{processor}\r\n", r.calls, r.exceptional_exits, r.own, r.total)?;
    }
    Ok(())
}

/// `totals`, `methods`, `coverage`, `run`.
pub fn json(view: &View, args: &Report, out: &mut dyn Write) -> Result<()> {
    #[derive(Serialize)]
    struct Methods<'a> {
        methods: Vec<Method<'a>>,
    }
    let rows = chosen(view, args);
    let methods = rows.iter().map(|r| Method::new(view, r)).collect();
    serde_json::to_writer_pretty(&mut *out, &Document::new(view, Methods { methods })).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
