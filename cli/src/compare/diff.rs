//! `cprof diff`.

use super::page::{Layout, Page};
use super::rows::{Line, header};
use super::{Loaded, notes, signed};
use crate::args::{By, Diff, DiffFormat};
use crate::output;
use crate::style::{Style, printable};
use crate::table::Table;
use anyhow::{Context, Result};
use cprof_compare::diff::{Comparison, Fate, Fates, Pair, Row, rank};
use cprof_profile::names::{relative, thousands};
use cprof_profile::tree::What;
use serde::{Serialize, Serializer};
use std::io::{self, BufWriter, Write};

/// Callers are shown up to so many.
const CALLERS: usize = 4;

/// What there is to show.
struct Report<'a> {
    loaded: &'a Loaded,
    comparison: Comparison<'a>,
    metric: Pair<'a>,
    by: By,
    /// The rows that differ in any metric, ranked by this one.
    rows: Vec<Row>,
    contexts: Fates,
    methods: Fates,
    notes: Vec<String>,
}

/// Prints what changed.
pub fn diff(args: &Diff) -> Result<()> {
    let loaded = Loaded::new(&args.two, &args.on)?;
    let report = Report::new(&loaded, args)?;
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    match args.format {
        DiffFormat::Text => report.show(args.top, Page::new(Layout::Text(style), &mut out))?,
        DiffFormat::Markdown => report.show(args.top, Page::new(Layout::Markdown, &mut out))?,
        DiffFormat::Csv => report.csv(args.top, &mut out)?,
        DiffFormat::Json => report.json(args.top, &mut out)?,
    }
    out.flush()?;
    if args.format == DiffFormat::Csv {
        output::notes(&report.notes);
    }
    Ok(())
}

impl<'a> Report<'a> {
    fn new(loaded: &'a Loaded, args: &Diff) -> Result<Report<'a>> {
        let comparison = loaded.compare();
        let metrics = comparison.metrics();
        let metric = match &args.metric {
            Some(name) => loaded.named(&comparison, name)?,
            None => {
                let both = |name: &String| metrics.iter().find(|m| m.before.name == *name);
                *loaded.telling.iter().find_map(both).context("there are no bytecodes in these profiles")?
            }
        };
        let context_fates = comparison.context_fates();
        let method_fates = comparison.method_fates();
        let mut rows = match args.by {
            By::Method => comparison.by_method(metric, &method_fates),
            By::Context => comparison.by_context(metric, &context_fates),
        };
        match args.by {
            By::Method => rank(&mut rows, |row| comparison.symbol(row.at)),
            // Contexts have no short name; their order is that of the trees.
            By::Context => rank(&mut rows, |row| row.at),
        }
        let contexts = Fates::count(context_fates.into_iter().skip(1));
        let methods = Fates::count(method_fates.into_iter().flatten());
        let notes = notes::notes(loaded, &comparison);
        Ok(Report { loaded, comparison, metric, by: args.by, rows, contexts, methods, notes })
    }

    /// For people.
    fn show(&self, top: Option<usize>, mut page: Page<'_>) -> Result<()> {
        let [before, after] = &self.loaded.views;
        page.title(&before.file, &after.file)?;
        page.gap()?;
        let mut totals = Table::new(&["before", "after", "change", "", "metric"]);
        for Pair { before, after } in self.comparison.metrics() {
            let (old, new) = (before.sum(), after.sum());
            let change = signed(i128::from(new) - i128::from(old));
            totals.row(vec![thousands(old), thousands(new), change, relative(old, new), before.name.clone()]);
        }
        page.table(&totals)?;
        page.gap()?;
        for (name, fates) in [("methods", self.methods), ("contexts", self.contexts)] {
            let [new, gone, changed, same] = [fates.new, fates.gone, fates.changed, fates.same].map(|n| thousands(n as u64));
            page.fact(name, &format!("{new} new, {gone} gone, {changed} changed, {same} the same"))?;
        }
        page.gap()?;
        if self.rows.is_empty() {
            let metrics: Vec<&str> = self.comparison.metrics().iter().map(|m| m.before.name.as_str()).collect();
            let metrics = metrics.join(", ");
            let metrics = printable(&metrics);
            match self.contexts.new + self.contexts.gone + self.contexts.changed {
                0 => page.line(&format!("no difference in {metrics}"))?,
                _ => page.line(&format!("no method differs in {metrics}; the contexts that do: --by context"))?,
            }
        } else {
            self.table(top.unwrap_or(25), &mut page)?;
        }
        if !self.notes.is_empty() {
            page.gap()?;
        }
        for note in &self.notes {
            page.note(note)?;
        }
        Ok(())
    }

    fn table(&self, top: usize, page: &mut Page<'_>) -> Result<()> {
        let name = &self.metric.before.name;
        let moved = self.rows.partition_point(|row| row.change() != 0);
        let shown = if top == 0 { moved } else { top.min(moved) };
        let last = if self.by == By::Method { "method" } else { "context" };
        let mut table = Table::new(&["change", "", "before", "after", "with callees", last]);
        let callers = self.callers();
        for row in &self.rows[..shown] {
            let relative = match row.fate {
                Fate::New => "new".to_owned(),
                Fate::Gone => "gone".to_owned(),
                Fate::Changed | Fate::Same => relative(row.before.own, row.after.own),
            };
            let numbers = [signed(row.change()), relative, thousands(row.before.own), thousands(row.after.own)];
            table.row([&numbers[..], &[signed(row.total_change()), self.label(row, &callers)]].concat());
        }
        if shown > 0 {
            page.about(&format!("by {name}, without callees"))?;
            page.table(&table)?;
        }
        if shown < moved {
            let rest = self.rows[shown..moved].iter().map(Row::change).sum();
            let more = format!("{} more with {}; --top 0 shows all", thousands((moved - shown) as u64), signed(rest));
            page.about(&more)?;
        }
        if moved < self.rows.len() {
            let others = thousands((self.rows.len() - moved) as u64);
            page.about(&format!("{others} differ in other numbers than {name}; --metric chooses"))?;
        }
        Ok(())
    }

    /// How many callers each context has.
    fn callers(&self) -> Vec<usize> {
        let mut callers: Vec<usize> = Vec::new();
        for context in &self.comparison.contexts.list {
            // Callers come first.
            callers.push(if context.parent == 0 { 0 } else { callers[context.parent as usize] + 1 });
        }
        callers
    }

    fn label(&self, row: &Row, callers: &[usize]) -> String {
        let contexts = &self.comparison.contexts.list;
        let name = |what: What| what.name(|m| printable(&self.comparison.readable(m)).into_owned());
        if self.by == By::Method {
            return name(What::Method(row.at));
        }
        let named = |at: u32| {
            let context = contexts[at as usize];
            let site = context.site.checked_sub(1).map_or_else(String::new, |bci| format!(" from bytecode {bci}"));
            name(context.what) + &site
        };
        let mut label = named(row.at);
        let mut at = contexts[row.at as usize].parent;
        for _ in 0..CALLERS.min(callers[row.at as usize]) {
            label.push_str(&format!(" < {}", named(at)));
            at = contexts[at as usize].parent;
        }
        if let more @ 1.. = callers[row.at as usize].saturating_sub(CALLERS) {
            label.push_str(&format!(" … {more} more"));
        }
        label
    }

    /// The rows for other tools: of contexts the callers, too, even if they are the same.
    fn lines(&self, top: Option<usize>) -> Vec<Row> {
        let mut rows = self.rows.clone();
        if let Some(top) = top.filter(|&top| top > 0) {
            rows.truncate(top);
        }
        if self.by == By::Method {
            return rows;
        }
        let contexts = &self.comparison.contexts.list;
        let mut fates = vec![Fate::Same; contexts.len()];
        self.rows.iter().for_each(|row| fates[row.at as usize] = row.fate);
        let mut listed = vec![false; contexts.len()];
        listed[0] = true;
        rows.iter().for_each(|row| listed[row.at as usize] = true);
        let mut callers = Vec::new();
        for row in &rows {
            let mut at = contexts[row.at as usize].parent;
            // One that is listed has its callers listed, or will have: it is a row or was met here.
            while !std::mem::replace(&mut listed[at as usize], true) {
                callers.push((at, fates[at as usize]));
                at = contexts[at as usize].parent;
            }
        }
        rows.extend(self.comparison.rows(self.metric, callers.into_iter()));
        rows
    }

    fn csv(&self, top: Option<usize>, out: &mut dyn Write) -> Result<()> {
        write!(out, "{}\r\n", header(self.by))?;
        for row in self.lines(top) {
            Line::new(&self.comparison, self.by, &row).csv(out)?;
        }
        Ok(())
    }

    /// `before`, `after`, `metric`, `totals`, `methods`, `contexts`, `rows`, `notes`.
    fn json(&self, top: Option<usize>, out: &mut dyn Write) -> Result<()> {
        #[derive(Serialize)]
        struct Total<'a> {
            metric: &'a str,
            unit: &'a str,
            before: u64,
            after: u64,
            change: i128,
        }
        #[derive(Serialize)]
        struct Whole<'a> {
            before: &'a str,
            after: &'a str,
            metric: &'a str,
            totals: Vec<Total<'a>>,
            methods: Fates,
            contexts: Fates,
            notes: &'a [String],
            #[serde(serialize_with = "rows")]
            rows: (&'a Report<'a>, Vec<Row>),
        }
        /// One by one: a million of them need not be in memory together.
        fn rows<S: Serializer>((report, rows): &(&Report, Vec<Row>), serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(rows.iter().map(|row| Line::new(&report.comparison, report.by, row)))
        }
        let total = |Pair { before, after }: Pair<'a>| {
            let (old, new) = (before.sum(), after.sum());
            Total { metric: &before.name, unit: &before.unit, before: old, after: new, change: i128::from(new) - i128::from(old) }
        };
        let whole = Whole {
            before: &self.loaded.views[0].file,
            after: &self.loaded.views[1].file,
            metric: &self.metric.before.name,
            totals: self.comparison.metrics().into_iter().map(total).collect(),
            methods: self.methods,
            contexts: self.contexts,
            notes: &self.notes,
            rows: (self, self.lines(top)),
        };
        serde_json::to_writer(&mut *out, &whole).map_err(io::Error::from)?;
        writeln!(out)?;
        Ok(())
    }
}
