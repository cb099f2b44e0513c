//! The code of methods with its counts, for the page.

use super::Loaded;
use crate::args::Html;
use crate::output;
use anyhow::{Context, Result};
use cprof_annotate::charges::Charges;
use cprof_annotate::method::{Annotation, Choice, Outcome, Way, annotate_by_name};
use cprof_annotate::source::{Source, Sources};
use cprof_profile::measure::Measures;
use cprof_profile::names::{few, thousands};
use cprof_profile::tree::Symbol;
use cprof_views::page::{Code, CodeRow, CodeSource};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Methods whose code is on the page: it would grow without bound.
const MOST_METHODS: usize = 5_000;

/// So many classes are named in a note.
const NAMED: usize = 5;

/// The code of the methods that executed most bytecodes; notes say what is left out.
pub fn codes(loaded: &Loaded, args: &Html, notes: &mut Vec<String>) -> Result<Vec<Code>> {
    let view = &loaded.view;
    let profile = &view.profile;
    let damaged = || format!("{} cannot be annotated", view.file);
    let nodes = view.chosen_nodes();
    let wanted = wanted(loaded, &nodes, notes);
    let mut codes: BTreeMap<u32, Code> = BTreeMap::new();
    let annotations = |choice: &Choice<'_>| {
        let by_symbol = annotate_by_name(choice, |m| wanted[m as usize], |m| view.symbols.of_method(m)).with_context(damaged)?;
        anyhow::Ok(by_symbol.into_values().flatten())
    };
    let begin = |codes: &mut BTreeMap<u32, Code>, annotation: Annotation| {
        let symbol = &view.symbols.list[view.symbols.of_method(annotation.method) as usize];
        codes.entry(annotation.method).or_insert_with(|| code(&annotation, symbol));
    };
    if loaded.processors.is_empty() {
        let choice = Choice { profile, measures: &view.measures, nodes: &nodes, charges: None };
        annotations(&choice)?.for_each(|a| begin(&mut codes, a));
    }
    for processor in &loaded.processors {
        let measures = &view.measures;
        let charges = Charges::collect(profile, measures, &view.natives, &processor.model, &processor.options, &nodes);
        let charges = charges.with_context(damaged)?;
        let evaluated = Measures { processor: processor.nodes.clone(), ..measures.clone() };
        let choice = Choice { profile, measures: &evaluated, nodes: &nodes, charges: Some(&charges) };
        let name = processor.column();
        for annotation in annotations(&choice)? {
            let (method, whole) = (annotation.method, annotation.cycles);
            let cycles: Vec<u64> = annotation.rows.iter().map(|r| r.cycles).collect();
            let elsewhere: Vec<String> =
                annotation.elsewhere.iter().map(|e| format!("{name}: {} are of {}", e.cycles, e.why.about())).collect();
            begin(&mut codes, annotation);
            if let Some(code) = codes.get_mut(&method) {
                code.cycles.push(name.clone());
                code.whole.push(whole);
                code.notes.extend(elsewhere);
                code.rows.iter_mut().zip(cycles).for_each(|(row, cycles)| row.5.push(cycles));
            }
        }
    }
    number_variants(&mut codes);
    if !args.source.is_empty() {
        add_sources(loaded, args, &mut codes, notes)?;
    }
    Ok(codes.into_values().collect())
}

/// Of methods with one name, in their order in the profile.
fn number_variants(codes: &mut BTreeMap<u32, Code>) {
    let mut of_symbol: BTreeMap<Symbol, Vec<&mut Code>> = BTreeMap::new();
    codes.values_mut().for_each(|code| of_symbol.entry(code.symbol.clone()).or_default().push(code));
    for mut variants in of_symbol.into_values() {
        let of = variants.len();
        variants.iter_mut().enumerate().for_each(|(i, code)| code.variant = (i + 1, of));
    }
}

/// Per method of the profile: its name is among those of which most was executed.
fn wanted(loaded: &Loaded, nodes: &[bool], notes: &mut Vec<String>) -> Vec<bool> {
    let view = &loaded.view;
    let methods = 0..view.profile.methods.len() as u32;
    let named: Vec<usize> = methods.map(|m| view.symbols.of_method(m) as usize).collect();
    let mut own = vec![0u64; view.symbols.list.len()];
    for (node, _) in nodes.iter().enumerate().filter(|(_, chosen)| **chosen) {
        if let Some(&symbol) = named.get(view.profile.nodes.method[node] as usize) {
            own[symbol] = own[symbol].saturating_add(view.measures.own.get(node));
        }
    }
    let mut order: Vec<usize> = (0..own.len()).filter(|&symbol| own[symbol] > 0).collect();
    order.sort_by_key(|&symbol| (Reverse(own[symbol]), symbol));
    if order.len() > MOST_METHODS {
        let left = thousands((order.len() - MOST_METHODS) as u64);
        let bytecodes = order[MOST_METHODS..].iter().map(|&symbol| own[symbol]).fold(0u64, u64::saturating_add);
        notes.push(format!(
            "{}: the code of {left} methods is not on this page; they executed least, {} bytecodes together",
            view.file,
            thousands(bytecodes)
        ));
        order.truncate(MOST_METHODS);
    }
    let mut wanted = vec![false; own.len()];
    order.into_iter().for_each(|symbol| wanted[symbol] = true);
    named.into_iter().map(|symbol| wanted[symbol]).collect()
}

fn code(annotation: &Annotation, symbol: &Symbol) -> Code {
    let starts: HashSet<u32> = annotation.blocks.iter().map(|b| b.start).collect();
    let begins = |bci: u32| u8::from(starts.contains(&bci));
    let rows = annotation.rows.iter().map(|row| {
        let text = row.text.lines(row.bci).join("\n");
        let text = text.split_once(": ").map_or(text.as_str(), |(_, text)| text).to_owned();
        let outcomes = row.outcomes.iter().map(|o| (outcome(o), o.count)).collect();
        CodeRow(row.bci, row.line.unwrap_or(0), text, begins(row.bci), row.executions, Vec::new(), outcomes)
    });
    Code {
        symbol: symbol.clone(),
        cycles: Vec::new(),
        whole: Vec::new(),
        variant: (1, 1),
        rows: rows.collect(),
        source: None,
        notes: Vec::new(),
    }
}

/// A way as text.
fn outcome(outcome: &Outcome) -> String {
    let to = outcome.target.map(|target| format!(" → {target}")).unwrap_or_default();
    match &outcome.way {
        Way::Case { values, default } => {
            let mut labels: Vec<String> = values.iter().take(4).map(i32::to_string).collect();
            labels.extend((values.len() > 4).then(|| format!("{} more", values.len() - 4)));
            labels.extend(default.then(|| "default".to_owned()));
            format!("{}{to}", labels.join(", "))
        }
        way => format!("{}{to}", way.name().replace('_', " ")),
    }
}

/// Gives methods the lines of their source.
fn add_sources(loaded: &Loaded, args: &Html, codes: &mut BTreeMap<u32, Code>, notes: &mut Vec<String>) -> Result<()> {
    let profile = &loaded.view.profile;
    let mut sources = Sources::open(&args.source)?;
    let mut files: HashMap<(String, String), Option<Source>> = HashMap::new();
    let (mut without, mut shorter) = (0u64, 0u64);
    let mut several: Vec<String> = Vec::new();
    for (&method, code) in codes {
        let class = &profile.classes[profile.methods[method as usize].class as usize];
        // One text would stand beside the counts of others.
        if code.variant.1 > 1 {
            several.push(code.symbol.class.clone());
            continue;
        }
        let package = class.name.rsplit_once('/').map_or("", |(package, _)| package);
        let key = (package.to_owned(), class.source_file.clone());
        if !files.contains_key(&key) {
            let found = sources.find(&class.name, &class.source_file)?;
            output::spares(&args.out, found.iter().map(|source| &source.file))?;
            files.insert(key.clone(), found);
        }
        let lines = || code.rows.iter().map(|row| row.1).filter(|&line| line > 0);
        match (&files[&key], lines().min(), lines().max()) {
            (Some(source), Some(first), Some(last)) if source.lines.len() >= usize::from(last) => {
                let lines = source.lines[usize::from(first) - 1..usize::from(last)].to_vec();
                code.source = Some(CodeSource { name: source.name.clone(), first, lines });
            }
            (Some(_), Some(_), Some(_)) => shorter += 1,
            _ => without += 1,
        }
    }
    several.sort();
    several.dedup();
    if !several.is_empty() {
        let (file, named) = (&loaded.view.file, few(&several, NAMED));
        notes.push(format!("{file}: there are several versions of {named}: the bytecode of each is shown, and no source"));
    }
    if shorter > 0 {
        let (file, methods) = (&loaded.view.file, thousands(shorter));
        notes.push(format!(
            "{file}: the source of {methods} methods has fewer lines than they: it is not what they were compiled from"
        ));
    }
    if without > 0 {
        let methods = thousands(without);
        notes.push(format!("{}: the source of {methods} methods was not found, or has no line numbers", loaded.view.file));
    }
    Ok(())
}
