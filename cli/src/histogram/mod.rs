//! `cprof histogram`: kinds of bytecodes, sizes of blocks, outcomes of branches.

mod opcodes;
mod rows;

use crate::args::{Format, Histogram, HistogramBy};
use crate::compare::cautions;
use crate::loaded::view::{Shape, View};
use crate::output;
use crate::style::Style;
use anyhow::{Context, Result};
use cprof_annotate::histogram::Mix;
use cprof_annotate::method::{Annotation, Choice, annotate};
use std::io::{self, BufWriter, Write};

/// Prints a histogram to standard output.
pub fn histogram(args: &Histogram) -> Result<()> {
    let view = View::load(&args.part, None, Shape::Nodes)?;
    view.tell_if_nothing();
    output::notes(&cautions(&view));
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    if args.by == HistogramBy::Opcode {
        let mut mix = Mix::default();
        for_each(&view, |annotation| mix.add(&annotation))?;
        match args.format {
            Format::Text => opcodes::text(&view, &mix, args, &mut out, style)?,
            Format::Csv => opcodes::csv(&mix, args, &mut out)?,
            Format::Json => opcodes::json(&view, &mix, args, &mut out)?,
        }
    } else {
        let table = rows::collect(&view, args.by)?;
        match args.format {
            Format::Text => table.text(&view, args, &mut out, style)?,
            Format::Csv => table.csv(args, &mut out)?,
            Format::Json => table.json(&view, args, &mut out)?,
        }
    }
    out.flush()?;
    Ok(())
}

/// Annotates every method that ran in the view.
fn for_each(view: &View, each: impl FnMut(Annotation)) -> Result<()> {
    let nodes = view.chosen_nodes();
    let ran = view.ran(&nodes);
    let choice = Choice { profile: &view.profile, measures: &view.measures, nodes: &nodes, charges: None };
    annotate(&choice, |method| ran[method as usize], each).with_context(|| format!("{} cannot be evaluated", view.file))
}

/// How many of so many rows to show; as text 25 unless asked for more.
fn top(args: &Histogram, rows: usize) -> usize {
    let default = if args.format == Format::Text { 25 } else { 0 };
    match args.top.unwrap_or(default) {
        0 => rows,
        top => top.min(rows),
    }
}
