//! By method.

use super::view::{View, readable, share};
use super::{coverage, field, json as shapes};
use crate::args::Report;
use crate::date::utc;
use crate::style::Style;
use crate::table::Table;
use anyhow::Result;
use cprof_profile::names::{dotted, thousands};
use cprof_profile::projections::MethodRow;
use std::io::{self, Write};

/// What ran, and the sums.
pub fn head(view: &View, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let run = &view.profile.run;
    let main = if run.main_class.is_empty() { "(unknown main class)".to_owned() } else { dotted(&run.main_class) };
    let seconds = run.ended_ms.saturating_sub(run.started_ms) as f64 / 1000.0;
    let vm = format!("{} {}", run.jvm_vendor, run.jvm_version);
    writeln!(out, "{}", style.bold(&format!("{}: {main}", view.file)))?;
    writeln!(out, "{}", style.dim(&format!("{}, {}, {seconds:.1} s under the profiler", vm.trim(), utc(run.started_ms))))?;
    if !run.options.is_empty() {
        writeln!(out, "{}", style.dim(&format!("options: {}", run.options)))?;
    }
    let totals = &view.totals;
    let threads: u64 = view.profile.threads.iter().zip(&view.threads).filter(|t| *t.1).map(|t| u64::from(t.0.leases)).sum();
    let mut lines = vec![
        ("bytecodes", totals.own, String::new()),
        ("calls", totals.calls, format!("and {} of native methods", thousands(totals.native_calls))),
        ("exceptional exits", totals.exceptional_exits, String::new()),
        ("methods", totals.methods, String::new()),
        ("contexts", totals.contexts, String::new()),
    ];
    if view.roots.is_none() {
        lines.push(("threads", threads, String::new()));
    }
    let width = lines.iter().map(|l| thousands(l.1).len()).max().unwrap_or(0);
    writeln!(out)?;
    for (name, number, rest) in lines {
        writeln!(out, "{}", format!("{name:17}  {:>width$}  {}", thousands(number), style.dim(&rest)).trim_end())?;
    }
    Ok(())
}

fn table(view: &View, rows: &[MethodRow], out: &mut dyn Write, style: Style) -> io::Result<()> {
    let mut table = Table::new(&["bytecodes", "share", "with callees", "share", "calls", "exits", "method"]);
    for r in rows {
        table.row(vec![
            thousands(r.own),
            share(r.own, view.totals.own),
            thousands(r.total),
            share(r.total, view.totals.own),
            thousands(r.calls),
            thousands(r.exceptional_exits),
            readable(&view.symbols.list[r.symbol as usize]),
        ]);
    }
    table.print(out, style)
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
    table(view, &rows[..shown], out, style)?;
    if shown < rows.len() {
        let rest = rows[shown..].iter().fold(0u64, |sum, r| sum.saturating_add(r.own));
        let more = format!(
            "{} more methods with {} bytecodes ({}); --top 0 shows all",
            thousands((rows.len() - shown) as u64),
            thousands(rest),
            share(rest, view.totals.own)
        );
        writeln!(out, "{}", style.dim(&more))?;
    }
    writeln!(out)?;
    coverage::line(view, out, style)?;
    Ok(())
}

/// For the end of a run.
pub fn summary(view: &View, out: &mut dyn Write, style: Style) -> Result<()> {
    head(view, out, style)?;
    writeln!(out)?;
    let rows = view.rows(&super::view::defaults("".as_ref()));
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
    write!(out, "class,method,descriptor,calls,exceptional_exits,bytecodes,bytecodes_total\r\n")?;
    for r in chosen(view, args) {
        let s = &view.symbols.list[r.symbol as usize];
        let (class, method, descriptor) = (field(&s.class), field(&s.method), field(&s.descriptor));
        write!(out, "{class},{method},{descriptor},{},{},{},{}\r\n", r.calls, r.exceptional_exits, r.own, r.total)?;
    }
    Ok(())
}

/// `totals`, `methods`, `coverage`, `run`.
pub fn json(view: &View, args: &Report, out: &mut dyn Write) -> Result<()> {
    let rows = chosen(view, args);
    let methods = rows.iter().map(|r| shapes::Method::new(&view.symbols.list[r.symbol as usize], r)).collect();
    let report = shapes::Methods {
        totals: shapes::Totals::new(view),
        methods,
        coverage: shapes::Coverage::new(view),
        run: &view.profile.run,
    };
    serde_json::to_writer_pretty(&mut *out, &report).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
