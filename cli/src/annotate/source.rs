//! Source, line by line.

use super::bytecode::{self, describe};
use super::{Shown, cost, foot, head, separate};
use crate::loaded::view::{View, share};
use crate::style::Style;
use crate::table::Table;
use anyhow::Result;
use cprof_annotate::lines::{self, Line, Lines};
use cprof_annotate::source::{Source, Sources};
use cprof_profile::names::{Pattern, dotted, few, stable, thousands};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// How many lines to show before and behind those with code.
const AROUND: usize = 2;

/// So many classes are named in a note.
const NAMED: usize = 4;

/// Methods whose code is in one source file.
pub struct File<'m, 'v> {
    /// The methods.
    pub methods: Vec<&'m Shown<'v>>,
    /// Their lines, and with zeros those of methods that did not run.
    pub lines: Lines,
    /// The text; none where it was not found.
    pub source: Option<Source>,
}

/// Puts the methods of `what` together by source file, in their order. Methods without line numbers are in none.
pub fn files<'m, 'v>(view: &View, methods: &'m [Shown<'v>], what: &str, sources: &mut Sources) -> Result<Vec<File<'m, 'v>>> {
    let mut files: Vec<File<'m, 'v>> = Vec::new();
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for method in methods.iter().filter(|m| has_lines(m)) {
        let package = method.class.rsplit_once('/').map_or("", |(package, _)| package);
        let at = match known.entry((package, method.source_file)) {
            Entry::Occupied(at) => *at.get(),
            Entry::Vacant(new) => {
                let source = sources.find(method.class, method.source_file)?;
                files.push(File { methods: Vec::new(), lines: Lines::new(), source });
                *new.insert(files.len() - 1)
            }
        };
        lines::add(&mut files[at].lines, &method.annotation);
        files[at].methods.push(method);
    }
    let (what, ran) = (Pattern::new(what), lines::positions(&view.profile, &view.ran(&view.chosen_nodes())));
    for file in &mut files {
        not_run(view, &what, &ran, file)?;
    }
    Ok(files)
}

/// That lines of several versions of a class have been put together.
pub fn versions(methods: &[Shown<'_>]) -> Option<String> {
    let mut classes: Vec<String> = methods.iter().filter(|m| m.variant.1 > 1 && has_lines(m)).map(|m| dotted(m.class)).collect();
    classes.sort();
    classes.dedup();
    (!classes.is_empty()).then(|| {
        let named = few(&classes, NAMED);
        format!("there are several versions of {named}, whose lines are put together: no source has them all; without --source each is shown by itself")
    })
}

/// Whether the class file says from which lines a method's code is.
pub fn has_lines(method: &Shown<'_>) -> bool {
    !method.source_file.is_empty() && method.annotation.rows.iter().any(|row| row.line.is_some())
}

/// Adds the lines of methods that did not run, with zeros: of those that are meant, and of others between what is shown. What was
/// not covered is no zero.
fn not_run(view: &View, what: &Pattern, ran: &[BTreeSet<u16>], file: &mut File<'_, '_>) -> Result<()> {
    let (Some(first), Some(last)) = (file.lines.keys().next().copied(), file.lines.keys().next_back().copied()) else {
        return Ok(());
    };
    let mut classes: Vec<u32> = file.methods.iter().map(|m| view.profile.methods[m.annotation.method as usize].class).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in classes {
        let of = &view.profile.classes[class as usize];
        let (name, readable) = (&of.name, stable(&of.name, of.hidden));
        for method in lines::not_run(&view.profile, class, ran)? {
            if view.profile.gaps.iter().any(|gap| gap.is_of(name, &method.name, &method.descriptor)) {
                continue;
            }
            let meant = what.matches(&readable) || what.matches_method(&readable, &method.name, &method.descriptor);
            for line in method.lines.iter().filter(|line| meant || (first..=last).contains(line)) {
                file.lines.entry(*line).or_default();
            }
        }
    }
    Ok(())
}

/// Prints source files, and the bytecode of methods without.
pub fn print(
    view: &View,
    methods: &[Shown<'_>],
    what: &str,
    sources: &mut Sources,
    out: &mut dyn Write,
    style: Style,
) -> Result<()> {
    let mut parts = 0;
    let mut without: Vec<(&Shown<'_>, String)> = Vec::new();
    for file in files(view, methods, what, sources)? {
        match &file.source {
            Some(source) => {
                separate(parts, out)?;
                parts += 1;
                print_file(view, &file, source, out, style)?;
            }
            None => {
                let missing = |m: &&Shown<'_>| format!("{} was not found below --source", m.source_file);
                without.extend(file.methods.iter().map(|m| (*m, missing(m))));
            }
        }
    }
    let bare = methods.iter().filter(|m| !has_lines(m));
    without.extend(bare.map(|m| (m, "its class file has no source lines for it".to_owned())));
    for (method, why) in without {
        separate(parts, out)?;
        parts += 1;
        bytecode::print(view, method, out, style)?;
        writeln!(out, "{}", style.warning(&format!("no source: {why}")))?;
    }
    Ok(())
}

fn print_file(view: &View, file: &File<'_, '_>, source: &Source, out: &mut dyn Write, style: Style) -> Result<()> {
    for method in &file.methods {
        head(view, method, out, style)?;
        foot(view, method, out, style)?;
    }
    writeln!(out, "{}\n", style.dim(&source.name))?;
    let on = view.processor.is_some();
    let mut heads = vec!["executions", "bytecodes"];
    heads.extend(on.then_some(view.unit()));
    heads.extend(["share", "line", "source"]);
    let mut table = Table::new(&heads);
    let whole = file.methods.iter().fold(0u64, |sum, m| sum.saturating_add(cost(view, &m.annotation)));
    let numbers = |line: &Line| {
        let mut cells = vec![thousands(line.executions), thousands(line.bytecodes)];
        cells.extend(on.then(|| thousands(line.cycles)));
        cells.push(share(if on { line.cycles } else { line.bytecodes }, whole));
        cells
    };
    let empty = || vec![String::new(); heads.len() - 2];
    let mut before = None;
    for number in shown(&file.lines) {
        if before.is_some_and(|before| before + 1 != number) {
            table.row([empty(), vec![String::new(), style.dim("…")]].concat());
        }
        before = Some(number);
        let line = u16::try_from(number).ok().and_then(|number| file.lines.get(&number));
        let text = match source.lines.get(number - 1) {
            Some(text) => text.replace('\t', "    "),
            None if line.is_none() => continue,
            None => style.warning("(the source has no such line)"),
        };
        let cells = line.map_or_else(empty, numbers);
        table.row([cells, vec![number.to_string(), if line.is_some() { text } else { style.dim(&text) }]].concat());
        for outcome in line.iter().flat_map(|line| &line.outcomes).filter(|o| o.outcome.count > 0) {
            let method = &view.profile.methods[outcome.method as usize].name;
            let text = format!("    ^ {method} {}: {} {}", outcome.bci, outcome.mnemonic, describe(&outcome.outcome));
            let mut cells = empty();
            cells[0] = thousands(outcome.outcome.count);
            table.row([cells, vec![String::new(), style.dim(&text)]].concat());
        }
    }
    table.print(out, style)?;
    for method in &file.methods {
        let bare = method.annotation.rows.iter().filter(|row| row.line.is_none());
        let (bytecodes, cycles) = bare.fold((0u64, 0u64), |(bytecodes, cycles), row| {
            (bytecodes.saturating_add(row.executions), cycles.saturating_add(row.cycles))
        });
        if bytecodes > 0 {
            let cost = if on { format!(", {} {}", thousands(cycles), view.unit()) } else { String::new() };
            let text = format!(
                "{}: {} bytecodes{cost} are of no line; without --source they are shown",
                method.readable,
                thousands(bytecodes)
            );
            writeln!(out, "{}", style.warning(&text))?;
        }
    }
    let last = file.lines.keys().next_back().copied().map_or(0, usize::from);
    if last > source.lines.len() {
        let text = format!(
            "{} has {} lines, the class that ran has code on line {last}: this is not the source it was compiled from",
            source.name,
            source.lines.len()
        );
        writeln!(out, "{}", style.warning(&text))?;
    }
    // An archive's time says nothing of what is in it.
    if source.is_file() && view.is_older_than(&source.file) {
        let text = format!("{} was changed after the profile was taken: its lines may be others", source.name);
        writeln!(out, "{}", style.warning(&text))?;
    }
    Ok(())
}

/// Numbers from 1 of the lines to show.
fn shown(lines: &Lines) -> Vec<usize> {
    let around = |line: &u16| {
        let line = usize::from(*line);
        line.saturating_sub(AROUND).max(1)..=line + AROUND
    };
    let mut numbers: Vec<usize> = lines.keys().flat_map(around).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
