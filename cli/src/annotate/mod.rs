//! `cprof annotate`: code with what was counted.

mod bytecode;
mod json;
mod select;
mod source;

use crate::args::{Annotate, AnnotateFormat};
use crate::compare::cautions;
use crate::loaded::view::{Shape, View, share};
use crate::output;
use crate::style::{Style, printable};
use anyhow::{Context, Result};
use cprof_annotate::charges::Charges;
use cprof_annotate::method::{Annotation, Choice, annotate_by_name};
use cprof_annotate::source::Sources;
use cprof_profile::model::Level;
use cprof_profile::names::{counted, thousands};
use cprof_profile::tree::Symbol;
use std::io::{self, BufWriter, Write};

/// A method that was asked for.
struct Shown<'v> {
    symbol: &'v Symbol,
    /// Its name for people.
    readable: String,
    /// Internal name of a class of that name that has it.
    class: &'v str,
    /// The SourceFile attribute; empty when there is none.
    source_file: &'v str,
    annotation: Annotation,
    /// Which of the methods with this name that have different code, and how many there are.
    variant: (usize, usize),
}

/// Prints annotated methods to standard output.
pub fn annotate(args: &Annotate) -> Result<()> {
    let mut sources = Sources::open(&args.source)?;
    let view = View::load(&args.part, Some(&args.on), Shape::Nodes)?;
    let symbols = select::choose(&view, &args.what)?;
    let methods = methods(&view, &symbols)?;
    output::notes(&cautions(&view));
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    match args.format {
        AnnotateFormat::Json => json::print(&view, &methods, &args.what, &mut sources, &mut out)?,
        AnnotateFormat::Text if args.source.is_empty() => {
            for (at, method) in methods.iter().enumerate() {
                separate(at, &mut out)?;
                bytecode::print(&view, method, &mut out, style)?;
            }
        }
        AnnotateFormat::Text => source::print(&view, &methods, &args.what, &mut sources, &mut out, style)?,
    }
    if args.format == AnnotateFormat::Text {
        let versions = if args.source.is_empty() { None } else { source::versions(&methods) };
        for note in view.processor.iter().flat_map(|p| &p.notes).chain(&versions) {
            writeln!(out, "\n{}", style.warning(&format!("note: {note}")))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// An empty line between two parts.
fn separate(at: usize, out: &mut dyn Write) -> io::Result<()> {
    if at > 0 { writeln!(out) } else { Ok(()) }
}

/// The methods of the chosen symbols that ran in the view, dearest first.
fn methods<'v>(view: &'v View, symbols: &[bool]) -> Result<Vec<Shown<'v>>> {
    let damaged = || format!("{} cannot be evaluated", view.file);
    let profile = &view.profile;
    let nodes = view.chosen_nodes();
    let charges = view
        .processor
        .as_ref()
        .map(|on| Charges::collect(profile, &view.measures, &view.natives, &on.model, &on.options, &nodes).with_context(damaged));
    let charges = charges.transpose()?;
    let choice = Choice { profile, measures: &view.measures, nodes: &nodes, charges: charges.as_ref() };
    let ran: Vec<bool> = view.ran(&nodes);
    let wanted = |method: u32| ran[method as usize] && symbols[view.symbols.of_method(method) as usize];
    let by_symbol = annotate_by_name(&choice, wanted, |m| view.symbols.of_method(m)).with_context(damaged)?;
    let cost = |a: &Annotation| if view.processor.is_some() { a.cycles } else { a.bytecodes };
    let mut shown = Vec::new();
    for (symbol, mut variants) in by_symbol {
        variants.sort_by_key(|a| std::cmp::Reverse(cost(a)));
        let of = variants.len();
        for (at, annotation) in variants.into_iter().enumerate() {
            let class = &profile.classes[profile.methods[annotation.method as usize].class as usize];
            shown.push(Shown {
                symbol: &view.symbols.list[symbol as usize],
                readable: view.readable(symbol),
                class: &class.name,
                source_file: &class.source_file,
                annotation,
                variant: (at + 1, of),
            });
        }
    }
    shown.sort_by(|a, b| cost(&b.annotation).cmp(&cost(&a.annotation)).then_with(|| a.symbol.cmp(b.symbol)));
    Ok(shown)
}

/// What a method's cost is, and of which whole.
fn cost(view: &View, annotation: &Annotation) -> u64 {
    if view.processor.is_some() { annotation.cycles } else { annotation.bytecodes }
}

/// Name and sums of a method.
fn head(view: &View, method: &Shown<'_>, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let a = &method.annotation;
    let variant = match method.variant {
        (_, 1) => String::new(),
        (at, of) => format!("  ({at} of {of} with this name and different code)"),
    };
    let file = if method.source_file.is_empty() { String::new() } else { format!("  {}", method.source_file) };
    writeln!(out, "{}{}", style.bold(&method.readable), style.dim(&format!("{file}{variant}")))?;
    let mut sums = vec![counted(a.calls, "call", "calls")];
    if a.exceptional_exits > 0 {
        sums.push(format!("{} left by an exception", thousands(a.exceptional_exits)));
    }
    sums.push(format!("{} bytecodes ({})", thousands(a.bytecodes), share(a.bytecodes, view.totals.own)));
    if let Some(on) = &view.processor {
        let cost = format!("{} {} ({})", thousands(a.cycles), view.unit(), share(a.cycles, view.whole()));
        let on = if on.model.counts_cycles() { format!(" on {}, {}", printable(&on.name), on.cache) } else { String::new() };
        sums.push(cost + &on);
    }
    writeln!(out, "{}", sums.join(", "))?;
    if a.level == Level::Block {
        writeln!(out, "{}", style.dim("counted by blocks: a block that was entered counts whole"))?;
    }
    Ok(())
}

/// What belongs to the method but to none of its bytecodes.
fn foot(view: &View, method: &Shown<'_>, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let signed = |n: i64| format!("{}{}", if n < 0 { "-" } else { "" }, thousands(n.unsigned_abs()));
    for elsewhere in &method.annotation.elsewhere {
        writeln!(out, "{} {} at no single bytecode: {}", signed(elsewhere.cycles), view.unit(), elsewhere.why.about())?;
    }
    if method.annotation.unexplained != 0 {
        let bytecodes = signed(method.annotation.unexplained);
        writeln!(out, "{}", style.warning(&format!("{bytecodes} bytecodes at no line: counts that contradict each other")))?;
    }
    Ok(())
}
