//! By thread.

use super::view::{View, loose, share};
use super::{coverage, field, methods};
use crate::args::{Report, Sort};
use crate::style::Style;
use crate::table::Table;
use anyhow::Result;
use cprof_profile::names::thousands;
use cprof_profile::projections::{ThreadRow, by_thread};
use cprof_profile::tree::Tree;
use serde_json::json;
use std::io::{self, Write};

fn rows(view: &View, args: &Report) -> Vec<ThreadRow> {
    let tree = |chosen: &dyn Fn(usize) -> bool| {
        let tree = Tree::new(&view.profile, &view.symbols, &view.measures, &view.natives, |t| view.threads[t] && chosen(t));
        match &view.roots {
            Some(roots) => tree.at_and_below(|s| roots[s as usize]),
            None => tree,
        }
    };
    let mut rows = by_thread(&view.profile, &view.symbols, tree);
    if let Some(name) = &args.thread {
        let pattern = loose(name);
        rows.retain(|r| pattern.matches(&r.label));
    }
    match args.sort {
        Sort::Bytecodes | Sort::Total => rows.sort_by_key(|r| std::cmp::Reverse(r.totals.own)),
        Sort::Calls => rows.sort_by_key(|r| std::cmp::Reverse(r.totals.calls)),
        Sort::Exits => rows.sort_by_key(|r| std::cmp::Reverse(r.totals.exceptional_exits)),
        Sort::Name => {}
    }
    if let Some(top) = args.top.filter(|&t| t > 0) {
        rows.truncate(top);
    }
    rows
}

/// For people.
pub fn text(view: &View, args: &Report, out: &mut dyn Write, style: Style) -> Result<()> {
    methods::head(view, out, style)?;
    writeln!(out)?;
    let mut table = Table::new(&["bytecodes", "share", "calls", "exits", "contexts", "threads", "name"]);
    for r in rows(view, args) {
        table.row(vec![
            thousands(r.totals.own),
            share(r.totals.own, view.totals.own),
            thousands(r.totals.calls),
            thousands(r.totals.exceptional_exits),
            thousands(r.totals.contexts),
            thousands(r.threads),
            r.label,
        ]);
    }
    table.print(out, style)?;
    writeln!(out)?;
    coverage::line(view, out, style)?;
    Ok(())
}

/// A row per name.
pub fn csv(view: &View, args: &Report, out: &mut dyn Write) -> Result<()> {
    write!(out, "thread,threads,contexts,calls,exceptional_exits,bytecodes\r\n")?;
    for r in rows(view, args) {
        let t = r.totals;
        write!(out, "{},{},{},{},{},{}\r\n", field(&r.label), r.threads, t.contexts, t.calls, t.exceptional_exits, t.own)?;
    }
    Ok(())
}

/// `{"threads": [...]}`.
pub fn json(view: &View, args: &Report, out: &mut dyn Write) -> Result<()> {
    let row = |r: &ThreadRow| {
        json!({
            "thread": r.label, "threads": r.threads, "contexts": r.totals.contexts, "calls": r.totals.calls,
            "exceptional_exits": r.totals.exceptional_exits, "bytecodes": r.totals.own,
        })
    };
    let rows: Vec<_> = rows(view, args).iter().map(row).collect();
    serde_json::to_writer_pretty(&mut *out, &json!({ "threads": rows })).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
