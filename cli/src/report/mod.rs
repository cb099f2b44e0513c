//! `cprof report`: what a profile says, for people and for other tools.

pub mod coverage;
mod json;
pub mod methods;
mod threads;
mod tree;

use crate::args::{Format, Report};
use crate::compare::cautions_of_contexts;
use crate::loaded::choice::loose;
use crate::loaded::view::{Shape, View, defaults};
use crate::output;
use crate::style::Style;
use crate::usage::Usage;
use anyhow::{Result, bail};
use cprof_profile::names::{Pattern, argument};
use cprof_profile::tree::What;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Prints a report to standard output.
pub fn report(args: &Report) -> Result<()> {
    if args.tree && args.top.is_some() {
        bail!(Usage("--top is about the rows of a table; of a tree choose with --min-share, --max-depth or --filter".to_owned()));
    }
    let shape = if args.threads { Shape::Both { apart: false } } else { Shape::Tree { apart: false } };
    // What was not covered is so on any processor.
    let view = View::load(&args.part, Some(&args.on).filter(|_| !args.coverage), shape)?;
    if view.processor.is_none() {
        args.sort.unwrap_or_default().refuse_without_processor()?;
    }
    view.tell_if_nothing();
    if args.format == Format::Csv {
        output::notes(coverage::note(&view).filter(|_| !args.coverage).iter());
        output::notes(cautions_of_contexts(&view).iter().chain(view.processor.iter().flat_map(|on| &on.notes)));
    }
    if args.format != Format::Text
        && let Some(filter) = args.filter.as_ref().filter(|filter| fits_none(&view, filter))
    {
        output::tell(format_args!("{}: no method's name fits {filter}", view.file));
    }
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    match (args.format, args.tree, args.threads, args.coverage) {
        (Format::Text, true, ..) => tree::text(&view, args, &mut out, style)?,
        (Format::Csv, true, ..) => tree::csv(&view, args, &mut out)?,
        (Format::Json, true, ..) => tree::json(&view, args, &mut out)?,
        (Format::Text, _, true, _) => threads::text(&view, args, &mut out, style)?,
        (Format::Csv, _, true, _) => threads::csv(&view, args, &mut out)?,
        (Format::Json, _, true, _) => threads::json(&view, args, &mut out)?,
        (Format::Text, .., true) => coverage::text(&view, &mut out, style)?,
        (Format::Csv, .., true) => coverage::csv(&view, &mut out)?,
        (Format::Json, .., true) => coverage::json(&view, &mut out)?,
        (Format::Text, ..) => methods::text(&view, args, &mut out, style)?,
        (Format::Csv, ..) => methods::csv(&view, args, &mut out)?,
        (Format::Json, ..) => methods::json(&view, args, &mut out)?,
    }
    out.flush()?;
    Ok(())
}

/// Whether no method of a view has a name that fits.
fn fits_none(view: &View, filter: &str) -> bool {
    let fitting = view.symbols.fitting(&loose(filter, Pattern::new));
    let fits = |context: u32| matches!(view.tree.what(context), What::Method(symbol) if fitting[symbol as usize]);
    !(0..view.tree.len() as u32).any(fits)
}

/// The summary at the end of `cprof run`.
pub fn summary(path: &Path, out: &mut dyn Write, style: Style) -> Result<()> {
    let args = defaults(path);
    let view = View::load(&args.part, Some(&args.on), Shape::Tree { apart: false })?;
    writeln!(out)?;
    methods::summary(&view, out, style)?;
    if let Some(nothing) = view.nothing() {
        writeln!(out, "{}", style.warning(&nothing))?;
    }
    let file = path.display().to_string();
    writeln!(out, "\n{file}: more with: cprof report {}", argument(&file))?;
    Ok(())
}
