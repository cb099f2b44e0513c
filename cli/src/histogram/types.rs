//! By type of what was made.

use super::{chosen, top};
use crate::args::{Format, Histogram};
use crate::loaded::view::{View, share};
use crate::output;
use crate::report::coverage;
use crate::style::{Style, printable};
use crate::table::{Table, field};
use anyhow::{Context, Result};
use cprof_annotate::histogram::types::{made, makes_objects};
use cprof_annotate::method::Choice;
use cprof_profile::cycles::whole_blocks;
use cprof_profile::names::{dotted, signature, thousands};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Everything there is to say.
#[derive(Serialize)]
struct Made<'a> {
    /// Of all types, shown or not.
    allocations: u64,
    types: Vec<Row>,
    /// Native methods that make objects, of types that only their callers know.
    natives: Vec<Native<'a>>,
    /// Methods counted by blocks that were left in the midst of some: what threw there counts.
    by_block: usize,
}

#[derive(Serialize)]
struct Row {
    r#type: String,
    allocations: u64,
}

#[derive(Serialize)]
struct Native<'a> {
    class: String,
    method: &'a str,
    descriptor: &'a str,
    calls: u64,
}

fn collect(view: &View) -> Result<Made<'_>> {
    let (nodes, ran) = chosen(view);
    let choice = Choice { profile: &view.profile, measures: &view.measures, nodes: &nodes, charges: None };
    let types = made(&choice, |method| ran[method as usize]).with_context(|| format!("{} cannot be evaluated", view.file))?;
    let mut types: Vec<Row> = types.into_iter().map(|(r#type, allocations)| Row { r#type, allocations }).collect();
    types.sort_by_key(|row| Reverse(row.allocations));
    let mut calls: BTreeMap<u32, u64> = BTreeMap::new();
    for native in view.chosen_natives(&nodes) {
        let sum = calls.entry(native.native).or_default();
        *sum = sum.saturating_add(native.calls);
    }
    let native = |(native, calls): (u32, u64)| {
        let of = &view.profile.natives[native as usize];
        let makes = makes_objects(&of.class, &of.name);
        makes.then(|| Native { class: dotted(&of.class), method: &of.name, descriptor: &of.descriptor, calls })
    };
    let mut natives: Vec<Native<'_>> = calls.into_iter().filter_map(native).collect();
    natives.sort_by_key(|native| Reverse(native.calls));
    Ok(Made {
        allocations: types.iter().fold(0, |sum, row| sum.saturating_add(row.allocations)),
        types,
        natives,
        by_block: view.profile.left_blocks(|node| nodes[node as usize]).len(),
    })
}

/// Prints in the format that was asked for.
pub fn print(view: &View, args: &Histogram, out: &mut dyn Write, style: Style) -> Result<()> {
    let mut made = collect(view)?;
    let rest = made.types.split_off(top(args, made.types.len()));
    output::notes(coverage::note(view).iter());
    if let Some(note) = whole_blocks(made.by_block) {
        output::note(&format!("{}: {note}", view.file));
    }
    match args.format {
        Format::Text => text(view, &made, &rest, out, style)?,
        Format::Csv => csv(&made, out)?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &made).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn text(view: &View, made: &Made<'_>, rest: &[Row], out: &mut dyn Write, style: Style) -> io::Result<()> {
    writeln!(out, "{}", style.bold(&view.file))?;
    writeln!(out, "{} objects and arrays made by bytecodes\n", thousands(made.allocations))?;
    let mut table = Table::new(&["allocations", "share", "type"]);
    for row in &made.types {
        table.row(vec![
            thousands(row.allocations),
            share(row.allocations, made.allocations),
            printable(&row.r#type).into_owned(),
        ]);
    }
    table.print(out, style)?;
    if !rest.is_empty() {
        let sum = rest.iter().fold(0u64, |sum, row| sum.saturating_add(row.allocations));
        let (sum, share) = (thousands(sum), share(sum, made.allocations));
        writeln!(out, "{}", style.dim(&format!("{} more types: {sum} ({share}); --top 0 shows all", rest.len())))?;
    }
    if !made.natives.is_empty() {
        writeln!(out)?;
        let mut table = Table::new(&["calls", "native methods that make an object or array, too"]);
        for native in &made.natives {
            let name = format!("{}.{}{}", native.class, native.method, signature(native.descriptor, false));
            table.row(vec![thousands(native.calls), printable(&name).into_owned()]);
        }
        table.print(out, style)?;
    }
    Ok(())
}

/// A row per type.
fn csv(made: &Made<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "type,allocations\r\n")?;
    made.types.iter().try_for_each(|row| write!(out, "{},{}\r\n", field(&row.r#type), row.allocations))
}
