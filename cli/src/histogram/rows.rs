//! By class, method or line.

use super::{for_each, top};
use crate::args::Histogram;
use crate::loaded::view::{View, share};
use crate::style::Style;
use crate::table::Table;
use crate::table::field;
use anyhow::Result;
use cprof_annotate::histogram::Mix;
use cprof_annotate::histogram::branches::Outcomes;
use cprof_annotate::lines::{self, Lines};
use cprof_annotate::method::{Annotation, Outcome, Way};
use cprof_profile::names::thousands;
use cprof_profile::tree::Symbol;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What a row is of; what does not apply is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Key {
    class: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    descriptor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_file: Option<String>,
    /// 0: bytecodes without a line number, which are of no line in JSON.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "line_or_null")]
    line: Option<u16>,
    /// Of a method, which the names above are: index in the view's symbols.
    #[serde(skip)]
    symbol: Option<u32>,
}

fn line_or_null<S: Serializer>(line: &Option<u16>, serializer: S) -> Result<S::Ok, S::Error> {
    line.filter(|&line| line > 0).serialize(serializer)
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    bytecodes: u64,
    /// Executed blocks; of lines, executions. What is of no line has none.
    executions: Option<u64>,
    branches: u64,
    taken: u64,
}

struct Row {
    key: Key,
    counts: Counts,
}

/// The names are those of the CSV.
#[derive(Serialize)]
struct JsonRow<'a> {
    #[serde(flatten)]
    key: &'a Key,
    bytecodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    executions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<u64>,
    branches: u64,
    taken: u64,
}

/// What a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Class,
    Method,
    Line,
}

/// Rows, those with most bytecodes first.
pub struct Rows {
    by: By,
    rows: Vec<Row>,
}

/// Counts everything in the view.
pub fn collect(view: &View, by: By) -> Result<Rows> {
    let mut rows: BTreeMap<Key, Counts> = BTreeMap::new();
    let mut lines: BTreeMap<(String, String), (Lines, Counts)> = BTreeMap::new();
    for_each(view, |annotation| {
        let number = view.symbols.of_method(annotation.method);
        let symbol = &view.symbols.list[number as usize];
        if by == By::Line {
            let class = &view.profile.classes[view.profile.methods[annotation.method as usize].class as usize];
            let of_class = lines.entry((symbol.class.clone(), class.source_file.clone())).or_default();
            lines::add(&mut of_class.0, &annotation);
            let rows = annotation.rows.iter().filter(|row| row.line.is_none());
            of_class.1.add(without_line(&annotation), None, &branches(rows.flat_map(|row| &row.outcomes)));
            return;
        }
        let mut mix = Mix::default();
        mix.add(&annotation);
        let branches = mix.branches.all();
        let counts = rows.entry(key(symbol, number, by)).or_default();
        counts.add(mix.bytecodes, Some(mix.blocks()), &branches);
    })?;
    for ((class, source_file), (lines, without)) in lines {
        let key = |line| Key { class: class.clone(), source_file: Some(source_file.clone()), line: Some(line), ..Key::default() };
        for (number, line) in lines {
            if line.bytecodes > 0 {
                let outcomes = branches(line.outcomes.iter().map(|of| &of.outcome));
                rows.entry(key(number)).or_default().add(line.bytecodes, Some(line.executions), &outcomes);
            }
        }
        if without.bytecodes > 0 {
            rows.insert(key(0), without);
        }
    }
    let mut rows: Vec<Row> = rows.into_iter().map(|(key, counts)| Row { key, counts }).collect();
    rows.sort_by(|a, b| b.counts.bytecodes.cmp(&a.counts.bytecodes).then_with(|| a.key.cmp(&b.key)));
    Ok(Rows { by, rows })
}

/// How conditional branches went.
fn branches<'o>(ways: impl Iterator<Item = &'o Outcome>) -> Outcomes {
    let mut branches = Outcomes::default();
    for outcome in ways {
        match outcome.way {
            Way::Taken => branches.taken = branches.taken.saturating_add(outcome.count),
            Way::NotTaken => branches.not_taken = branches.not_taken.saturating_add(outcome.count),
            _ => {}
        }
    }
    branches
}

/// The bytecodes of a method that stand at no line.
fn without_line(annotation: &Annotation) -> u64 {
    let at_lines =
        annotation.rows.iter().filter(|row| row.line.is_some()).fold(0u64, |sum, row| sum.wrapping_add(row.executions));
    annotation.bytecodes.saturating_sub(at_lines)
}

fn key(symbol: &Symbol, number: u32, by: By) -> Key {
    let mut key = Key { class: symbol.class.clone(), ..Key::default() };
    if by == By::Method {
        key.method = Some(symbol.method.clone());
        key.descriptor = Some(symbol.descriptor.clone());
        key.symbol = Some(number);
    }
    key
}

impl Counts {
    fn add(&mut self, bytecodes: u64, executions: Option<u64>, branches: &Outcomes) {
        self.bytecodes = self.bytecodes.saturating_add(bytecodes);
        if let Some(executions) = executions {
            self.executions = Some(self.executions.unwrap_or(0).saturating_add(executions));
        }
        self.branches = self.branches.saturating_add(branches.executed());
        self.taken = self.taken.saturating_add(branches.taken);
    }
}

impl Rows {
    fn shown(&self, args: &Histogram) -> &[Row] {
        &self.rows[..top(args, self.rows.len())]
    }

    /// What the executions of a row are of.
    fn executions(&self) -> &'static str {
        if self.by == By::Line { "executions" } else { "blocks" }
    }

    /// For people.
    pub fn text(&self, view: &View, args: &Histogram, out: &mut dyn Write, style: Style) -> Result<()> {
        let all = view.totals.own;
        writeln!(out, "{}", style.bold(&view.file))?;
        writeln!(out, "{} bytecodes executed\n", thousands(all))?;
        let (what, per) = match self.by {
            By::Line => ("line", None),
            By::Method => ("method", Some("per block")),
            By::Class => ("class", Some("per block")),
        };
        let mut heads = vec!["bytecodes", "share", self.executions()];
        heads.extend(per);
        heads.extend(["branches", "taken", what]);
        let mut table = Table::new(&heads);
        let shown = self.shown(args);
        for Row { key, counts } in shown {
            let executions = counts.executions.map_or_else(|| "-".to_owned(), thousands);
            let mut cells = vec![thousands(counts.bytecodes), share(counts.bytecodes, all), executions];
            let mean = counts.bytecodes as f64 / counts.executions.unwrap_or(0).max(1) as f64;
            cells.extend(per.map(|_| format!("{mean:.2}")));
            cells.extend([thousands(counts.branches), share(counts.taken, counts.branches), key.readable(view)]);
            table.row(cells);
        }
        table.print(out, style)?;
        let rest = &self.rows[shown.len()..];
        if !rest.is_empty() {
            let sum = rest.iter().fold(0u64, |sum, row| sum.saturating_add(row.counts.bytecodes));
            let more =
                format!("{} more: {} ({}); --top 0 shows all", thousands(rest.len() as u64), thousands(sum), share(sum, all));
            writeln!(out, "{}", style.dim(&more))?;
        }
        Ok(())
    }

    /// The columns depend on what a row is.
    pub fn csv(&self, args: &Histogram, out: &mut dyn Write) -> Result<()> {
        let names = match self.by {
            By::Line => "class,source_file,line",
            By::Method => "class,method,descriptor",
            By::Class => "class",
        };
        write!(out, "{names},bytecodes,{},branches,taken\r\n", self.executions())?;
        for Row { key, counts } in self.shown(args) {
            let texts = [Some(&key.class), key.method.as_ref(), key.descriptor.as_ref(), key.source_file.as_ref()];
            let mut fields: Vec<String> = texts.into_iter().flatten().map(|text| field(text)).collect();
            fields.extend(key.line.map(|line| if line == 0 { String::new() } else { line.to_string() }));
            let Counts { bytecodes, branches, taken, .. } = counts;
            let executions = counts.executions.map(|number| number.to_string()).unwrap_or_default();
            write!(out, "{},{bytecodes},{executions},{branches},{taken}\r\n", fields.join(","))?;
        }
        Ok(())
    }

    /// `bytecodes` and `rows`.
    pub fn json(&self, view: &View, args: &Histogram, out: &mut dyn Write) -> Result<()> {
        let by_line = self.by == By::Line;
        let rows: Vec<JsonRow<'_>> = self
            .shown(args)
            .iter()
            .map(|Row { key, counts }| JsonRow {
                key,
                bytecodes: counts.bytecodes,
                executions: counts.executions.filter(|_| by_line),
                blocks: counts.executions.filter(|_| !by_line),
                branches: counts.branches,
                taken: counts.taken,
            })
            .collect();
        let report = serde_json::json!({ "bytecodes": view.totals.own, "rows": rows });
        serde_json::to_writer_pretty(&mut *out, &report).map_err(io::Error::from)?;
        writeln!(out)?;
        Ok(())
    }
}

impl Key {
    fn readable(&self, view: &View) -> String {
        match (self.symbol, &self.source_file, self.line) {
            (Some(symbol), ..) => view.readable(symbol),
            (_, _, Some(0)) => format!("{} (no line number)", self.class),
            (_, Some(file), Some(line)) => format!("{} {file}:{line}", self.class),
            _ => self.class.clone(),
        }
    }
}
