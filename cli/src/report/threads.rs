//! By thread.

use super::json::Document;
use super::{coverage, methods};
use crate::args::{Report, Sort};
use crate::loaded::processor::{Columns, HEADER};
use crate::loaded::view::{View, share};
use crate::style::Style;
use crate::table::{Table, field};
use anyhow::Result;
use cprof_profile::names::thousands;
use cprof_profile::projections::{ThreadRow, by_thread};
use serde::Serialize;
use std::io::{self, Write};

fn rows(view: &View, args: &Report) -> Vec<ThreadRow> {
    let mut rows = by_thread(&view.profile, &view.symbols, |t| view.threads[t], &view.tree_apart());
    // Threads that never called a root's methods.
    rows.retain(|r| view.roots.is_none() || r.totals.contexts > 0);
    let on = view.processor.is_some();
    match args.sort.unwrap_or_default() {
        Sort::Cost | Sort::Total | Sort::Cycles | Sort::CyclesTotal if on => {
            rows.sort_by_key(|r| std::cmp::Reverse(r.totals.processor.cycles));
        }
        Sort::Cost | Sort::Total | Sort::Cycles | Sort::CyclesTotal | Sort::Bytecodes | Sort::BytecodesTotal => {
            rows.sort_by_key(|r| std::cmp::Reverse(r.totals.own));
        }
        Sort::Calls => rows.sort_by_key(|r| std::cmp::Reverse(r.totals.calls)),
        Sort::Exits => rows.sort_by_key(|r| std::cmp::Reverse(r.totals.exceptional_exits)),
        Sort::Name => {}
    }
    rows
}

/// How many of them `--top` lets be shown.
fn shown(rows: &[ThreadRow], args: &Report) -> usize {
    args.top.filter(|&top| top > 0).map_or(rows.len(), |top| top.min(rows.len()))
}

/// A thread calls nothing but what its tree holds: cycles and cycles_total are the same.
fn columns(view: &View, row: &ThreadRow) -> Option<Columns> {
    let t = &row.totals;
    view.processor.as_ref().map(|_| Columns::new(&t.processor, t.processor.cycles, t.own))
}

fn cost(view: &View, row: &ThreadRow) -> u64 {
    if view.processor.is_some() { row.totals.processor.cycles } else { row.totals.own }
}

/// For people.
pub fn text(view: &View, args: &Report, out: &mut dyn Write, style: Style) -> Result<()> {
    methods::head(view, out, style)?;
    writeln!(out)?;
    let mut table = Table::new(&[view.unit(), "share", "calls", "exits", "contexts", "threads", "name"]);
    let mut rows = rows(view, args);
    let left = rows.split_off(shown(&rows, args));
    for r in rows {
        table.row(vec![
            thousands(cost(view, &r)),
            share(cost(view, &r), view.whole()),
            thousands(r.totals.calls),
            thousands(r.totals.exceptional_exits),
            thousands(r.totals.contexts),
            thousands(r.threads),
            r.label,
        ]);
    }
    table.print(out, style)?;
    if !left.is_empty() {
        writeln!(out, "{}", style.dim(&methods::more(view, ["more name", "more names"], left.iter().map(|r| cost(view, r)))))?;
    }
    writeln!(out)?;
    coverage::line(view, out, style)?;
    Ok(())
}

/// A row per name.
pub fn csv(view: &View, args: &Report, out: &mut dyn Write) -> Result<()> {
    write!(
        out,
        "thread,threads,contexts,calls,exceptional_exits,bytecodes{}\r\n",
        if view.processor.is_some() { HEADER } else { "" }
    )?;
    let rows = rows(view, args);
    for r in &rows[..shown(&rows, args)] {
        let t = r.totals;
        let processor = columns(view, r).map(|c| c.csv()).unwrap_or_default();
        write!(
            out,
            "{},{},{},{},{},{}{processor}\r\n",
            field(&r.label),
            r.threads,
            t.contexts,
            t.calls,
            t.exceptional_exits,
            t.own
        )?;
    }
    Ok(())
}

/// `totals`, `threads`, `coverage`, `run`.
pub fn json(view: &View, args: &Report, out: &mut dyn Write) -> Result<()> {
    #[derive(Serialize)]
    struct Threads<'a> {
        threads: Vec<Row<'a>>,
    }
    #[derive(Serialize)]
    struct Row<'a> {
        thread: &'a str,
        threads: u64,
        contexts: u64,
        calls: u64,
        exceptional_exits: u64,
        bytecodes: u64,
        #[serde(flatten)]
        processor: Option<Columns>,
    }
    let rows = rows(view, args);
    let shown = &rows[..shown(&rows, args)];
    let threads = shown.iter().map(|r| {
        let t = &r.totals;
        Row {
            thread: &r.label,
            threads: r.threads,
            contexts: t.contexts,
            calls: t.calls,
            exceptional_exits: t.exceptional_exits,
            bytecodes: t.own,
            processor: columns(view, r),
        }
    });
    let threads = Threads { threads: threads.collect() };
    serde_json::to_writer_pretty(&mut *out, &Document::new(view, threads)).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
