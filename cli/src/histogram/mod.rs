//! `cprof histogram`: kinds of bytecodes, sizes of blocks, outcomes of branches, types of objects made.

mod opcodes;
mod rows;
mod types;

use crate::args::{Format, Histogram, HistogramBy};
use crate::compare::cautions;
use crate::loaded::view::{Shape, View};
use crate::output;
use crate::style::Style;
use anyhow::{Context, Result};
use cprof_annotate::histogram::Mix;
use cprof_annotate::method::{Annotation, Choice, annotate};
use rows::By;
use std::io::{self, BufWriter, Write};

/// Prints a histogram to standard output.
pub fn histogram(args: &Histogram) -> Result<()> {
    let view = View::load(&args.part, None, Shape::Nodes)?;
    view.tell_if_nothing();
    output::notes(&cautions(&view));
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    match args.by {
        HistogramBy::Opcode => {
            let mut mix = Mix::default();
            for_each(&view, |annotation| mix.add(&annotation))?;
            match args.format {
                Format::Text => opcodes::text(&view, &mix, args, &mut out, style)?,
                Format::Csv => opcodes::csv(&mix, args, &mut out)?,
                Format::Json => opcodes::json(&view, &mix, args, &mut out)?,
            }
        }
        HistogramBy::Class => print(&view, By::Class, args, &mut out, style)?,
        HistogramBy::Method => print(&view, By::Method, args, &mut out, style)?,
        HistogramBy::Line => print(&view, By::Line, args, &mut out, style)?,
        HistogramBy::Type => types::print(&view, args, &mut out, style)?,
    }
    out.flush()?;
    Ok(())
}

fn print(view: &View, by: By, args: &Histogram, out: &mut dyn Write, style: Style) -> Result<()> {
    let table = rows::collect(view, by)?;
    match args.format {
        Format::Text => table.text(view, args, out, style),
        Format::Csv => table.csv(args, out),
        Format::Json => table.json(view, args, out),
    }
}

/// The chosen nodes of a view, and which methods ran in them.
fn chosen(view: &View) -> (Vec<bool>, Vec<bool>) {
    let nodes = view.chosen_nodes();
    let ran = view.ran(&nodes);
    (nodes, ran)
}

/// Annotates every method that ran in the view.
fn for_each(view: &View, each: impl FnMut(Annotation)) -> Result<()> {
    let (nodes, ran) = chosen(view);
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
