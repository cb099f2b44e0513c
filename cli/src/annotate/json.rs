//! The shapes of `cprof annotate --format json`.

use super::Shown;
use super::source::{File, files};
use crate::loaded::processor::Sums;
use crate::loaded::view::View;
use anyhow::Result;
use cprof_annotate::method::{Block, Outcome, Row, Way};
use cprof_annotate::source::Sources;
use cprof_profile::model::Level;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Report<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    processor: Option<Sums<'a>>,
    methods: Vec<Method<'a>>,
    files: Vec<SourceFile<'a>>,
}

#[derive(Serialize)]
struct Method<'a> {
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    source_file: &'a str,
    level: &'static str,
    calls: u64,
    exceptional_exits: u64,
    bytecodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles: Option<u64>,
    rows: Vec<JsonRow<'a>>,
    blocks: Vec<JsonBlock>,
    elsewhere: Vec<Elsewhere>,
    unexplained: i64,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    bci: u32,
    text: String,
    line: Option<u16>,
    block: u32,
    executions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles: Option<u64>,
    outcomes: Vec<JsonOutcome<'a>>,
}

#[derive(Serialize)]
struct JsonOutcome<'a> {
    way: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [i32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<bool>,
    count: u64,
}

#[derive(Serialize)]
struct JsonBlock {
    start: u32,
    end: u32,
    executions: u64,
    handled: u64,
    bytecodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles: Option<u64>,
}

#[derive(Serialize)]
struct Elsewhere {
    why: &'static str,
    cycles: i64,
}

#[derive(Serialize)]
struct SourceFile<'a> {
    source_file: &'a str,
    /// Null: not found, or not looked for.
    path: Option<&'a str>,
    lines: Vec<SourceLine<'a>>,
}

#[derive(Serialize)]
struct SourceLine<'a> {
    line: u16,
    /// Null: there is no source, or it has no such line.
    text: Option<&'a str>,
    executions: u64,
    bytecodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles: Option<u64>,
}

/// Prints one object.
pub fn print(view: &View, methods: &[Shown<'_>], what: &str, sources: &mut Sources, out: &mut dyn Write) -> Result<()> {
    let files = files(view, methods, what, sources)?;
    let on = view.processor.is_some();
    let report = Report {
        processor: view.processor.as_ref().map(|p| Sums::new(p, &view.totals.processor, view.totals.own)),
        methods: methods.iter().map(|m| method(m, on)).collect(),
        files: files.iter().map(|f| file(f, on)).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &report).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn method<'a>(shown: &'a Shown<'_>, on: bool) -> Method<'a> {
    let a = &shown.annotation;
    Method {
        class: &shown.symbol.class,
        method: &shown.symbol.method,
        descriptor: &shown.symbol.descriptor,
        source_file: shown.source_file,
        level: if a.level == Level::Precise { "precise" } else { "block" },
        calls: a.calls,
        exceptional_exits: a.exceptional_exits,
        bytecodes: a.bytecodes,
        cycles: on.then_some(a.cycles),
        rows: a.rows.iter().map(|r| row(r, on)).collect(),
        blocks: a.blocks.iter().map(|b| block(b, on)).collect(),
        elsewhere: a.elsewhere.iter().map(|e| Elsewhere { why: e.why.about(), cycles: e.cycles }).collect(),
        unexplained: a.unexplained,
    }
}

fn row(row: &Row, on: bool) -> JsonRow<'_> {
    JsonRow {
        bci: row.bci,
        text: row.text.to_string(),
        line: row.line,
        block: row.block,
        executions: row.executions,
        cycles: on.then_some(row.cycles),
        outcomes: row.outcomes.iter().map(outcome).collect(),
    }
}

fn outcome(outcome: &Outcome) -> JsonOutcome<'_> {
    let case = match &outcome.way {
        Way::Case { values, default } => Some((values.as_slice(), *default)),
        _ => None,
    };
    JsonOutcome {
        way: outcome.way.name(),
        target: outcome.target,
        values: case.map(|case| case.0),
        default: case.map(|case| case.1),
        count: outcome.count,
    }
}

fn block(block: &Block, on: bool) -> JsonBlock {
    let Block { start, end, executions, handled, bytecodes, cycles, .. } = *block;
    JsonBlock { start, end, executions, handled, bytecodes, cycles: on.then_some(cycles) }
}

fn file<'a>(file: &'a File<'_, 'a>, on: bool) -> SourceFile<'a> {
    let text = |line: u16| file.source.as_ref().and_then(|s| s.lines.get(usize::from(line).checked_sub(1)?)).map(String::as_str);
    SourceFile {
        source_file: file.methods.first().map_or("", |m| m.source_file),
        path: file.source.as_ref().map(|s| s.name.as_str()),
        lines: file
            .lines
            .iter()
            .map(|(&number, line)| SourceLine {
                line: number,
                text: text(number),
                executions: line.executions,
                bytecodes: line.bytecodes,
                cycles: on.then_some(line.cycles),
            })
            .collect(),
    }
}
