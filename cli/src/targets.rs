//! `cprof targets`: the processors there are models of.

use crate::args::{Targets, TargetsCommand};
use crate::loaded::processor::model_of_option;
use crate::style::{Style, printable};
use crate::table::Table;
use crate::usage::Usage;
use anyhow::{Result, bail};
use cprof_profile::target::names::Space;
use cprof_profile::target::source::Formula;
use cprof_profile::target::{CycleEstimator, Library, Model};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

/// Prints what was asked for to standard output.
pub fn targets(args: &Targets) -> Result<()> {
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    match &args.command {
        None => list(&mut out, style)?,
        Some(TargetsCommand::Show { target, set }) => show(&model_of_option(target, set)?, &mut out, style)?,
        Some(TargetsCommand::Check { file }) => check(file, &mut out)?,
    }
    out.flush()?;
    Ok(())
}

fn list(out: &mut dyn Write, style: Style) -> Result<()> {
    let mut table = Table::new(&["clock", "accuracy", "cache", "name"]);
    for shipped in Library.shipped() {
        let model = Library.load(shipped.name)?;
        let clock = model.clock_mhz().map_or_else(|| "-".to_owned(), |mhz| format!("{mhz} MHz"));
        let name = format!("{:18} {}", shipped.name, model.title);
        table.row(vec![clock, model.accuracy.to_string(), model.cache().to_string(), name]);
    }
    table.print(out, style)?;
    writeln!(out)?;
    writeln!(
        out,
        "exact: as published by the processor's makers; hypothetical: a variant nobody built; coarse: partly approximated."
    )?;
    writeln!(
        out,
        "cprof targets show NAME lists costs, sources and gaps. A model of your own is a .toml file: docs/cross-profiling.md."
    )?;
    Ok(())
}

fn check(file: &str, out: &mut dyn Write) -> Result<()> {
    if Library.shipped().iter().any(|s| s.name == file) {
        bail!(Usage(format!(
            "{file} comes with cprof and is checked by its tests; to check a file of your own give its path, as ./{file}.toml"
        )));
    }
    let path = if Library.is_path(file) { file.to_owned() } else { format!("./{file}") };
    let model = Library.load(&path)?;
    model.try_all_sizes()?;
    writeln!(out, "{}", printable(&format!("{file} is a target model: {}", model.title)))?;
    for file in &model.files[1..] {
        writeln!(out, "  on top of {file}")?;
    }
    let estimated = Space::Bytecodes.all().filter(|&o| model.opcode(o as u8).estimated).count();
    writeln!(out, "  {estimated} of {} bytecodes are left to software at an average cost", Space::Bytecodes.all().count())?;
    if model.gaps.is_empty() {
        writeln!(out, "  it names no gaps; a reader of its numbers will want to know what is not modelled (gaps = [...])")?;
    }
    Ok(())
}

/// A cost as its formulas, and where each comes from.
fn described<'m>(formulas: impl Iterator<Item = &'m Formula>) -> (String, Vec<&'m str>) {
    let mut text = String::new();
    let mut sources = Vec::new();
    for formula in formulas {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&formula.text);
        if !sources.contains(&&*formula.source) {
            sources.push(&formula.source);
        }
    }
    (text, sources)
}

fn show(model: &Model, out: &mut dyn Write, style: Style) -> Result<()> {
    writeln!(out, "{}", style.bold(&printable(&format!("{}: {}", model.name(), model.title))))?;
    writeln!(out, "accuracy: {}", model.accuracy)?;
    writeln!(out, "files: {}", printable(&model.files.join(", on top of ")))?;
    // Numbered, as the same source stands behind many costs.
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut notes = |sources: Vec<&str>| {
        let number = |source: &str| {
            *numbers.entry(source.to_owned()).or_insert_with(|| {
                order.push(source.to_owned());
                order.len()
            })
        };
        sources.into_iter().filter(|source| !source.is_empty()).map(number).map(|n| format!("[{n}]")).collect::<String>()
    };
    writeln!(out, "method cache: {}  {}", model.cache(), style.dim(&notes(vec![&model.cache_source])))?;
    if !model.parameters.is_empty() {
        writeln!(out, "\n{}", style.bold("parameters"))?;
        for (name, parameter) in &model.parameters {
            let note = notes(vec![&parameter.source]);
            writeln!(out, "  {name} = {}  {}", parameter.value, style.dim(format!("{} {note}", parameter.about).trim()))?;
        }
    }
    if model.load_formulas(false).next().is_some() {
        writeln!(out, "\n{}", style.bold("load time l of a method of n words"))?;
        for (miss, name) in [(false, "hit"), (true, "miss")] {
            let (text, sources) = described(model.load_formulas(miss));
            writeln!(out, "  {name:16} {text}  {}", style.dim(&notes(sources)))?;
        }
    }
    for (space, title) in [(Space::Invokes, "calls"), (Space::Returns, "returns"), (Space::Bytecodes, "bytecodes")] {
        writeln!(out, "\n{}", style.bold(&format!("{title}, in {}", model.unit)))?;
        for number in space.all() {
            let (text, sources) = described(model.formulas(space, number));
            let now = match space {
                Space::Bytecodes => model.opcode(number as u8).cycles.to_string(),
                Space::Returns => model.leave(number as u8, None)?.to_string(),
                Space::Invokes => model.invoke(cprof_profile::target::InvokeKind::ALL[number], None)?.to_string(),
            };
            let formula = if text == now { String::new() } else { format!("  = {text}") };
            let software =
                if space == Space::Bytecodes && model.opcode(number as u8).estimated { "  in software, an average" } else { "" };
            writeln!(out, "  {:16} {now:>5}{formula}{software}  {}", space.name(number), style.dim(&notes(sources)))?;
        }
    }
    if !model.gaps.is_empty() {
        writeln!(out, "\n{}", style.bold("what it does not model"))?;
        for gap in &model.gaps {
            writeln!(out, "  - {}", printable(gap))?;
        }
    }
    writeln!(out, "\n{}", style.bold("sources"))?;
    for (i, source) in order.iter().enumerate() {
        writeln!(out, "  [{}] {}", i + 1, printable(source))?;
    }
    Ok(())
}
