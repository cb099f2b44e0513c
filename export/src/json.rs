//! One JSON object: `metrics`, `threads`, `methods`, and `contexts`, which refer to the others by position.

use crate::Source;
use crate::rows::{self, contexts};
use cprof_profile::tree::{Symbol, What};
use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};

#[derive(Serialize)]
struct Method<'a> {
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    native: bool,
    /// None when the class does not say.
    file: Option<String>,
    line: Option<u32>,
    #[serde(flatten)]
    numbers: Option<Numbers<'a>>,
}

impl<'a> Method<'a> {
    fn new(source: &'a Source, symbol: u32, numbers: Option<Numbers<'a>>) -> Method<'a> {
        let Symbol { class, method, descriptor, native } = &source.sheet.symbols.list[symbol as usize];
        let place = source.places.of(source.frame_of(symbol));
        let (file, line) = (Some(place.file).filter(|f| !f.is_empty()), Some(place.line).filter(|&l| l > 0));
        Method { class, method, descriptor, native: *native, file, line, numbers }
    }
}

/// Beside `metrics`.
#[derive(Serialize)]
struct Numbers<'a> {
    own: &'a [u64],
    total: &'a [u64],
}

#[derive(Serialize)]
struct Context<'a> {
    /// The caller's position; none for a thread's first methods.
    parent: Option<u32>,
    thread: usize,
    /// None for contexts folded together.
    method: Option<u32>,
    /// Bytecode index of the call in the caller, where call sites were distinguished.
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(flatten)]
    numbers: Numbers<'a>,
}

/// The beginning, up to the metrics.
fn head(source: &Source, out: &mut dyn Write) -> io::Result<()> {
    let sheet = &source.sheet;
    let metrics: Vec<_> = sheet.metrics.iter().map(|m| json!({ "name": m.name, "unit": m.unit })).collect();
    write!(out, "{{\"cprof\":\"{}\",\n\"run\":", env!("CARGO_PKG_VERSION"))?;
    serde_json::to_writer(&mut *out, &sheet.profile.run)?;
    write!(out, ",\n\"metrics\":{},\n\"methods\":[", json!(metrics))
}

/// Writes things, each on a line, as the elements of a list.
struct List<'a> {
    out: &'a mut dyn Write,
    some: bool,
}

impl List<'_> {
    fn push(&mut self, element: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if self.some { b",\n" } else { b"\n" })?;
        self.some = true;
        Ok(serde_json::to_writer(&mut *self.out, element)?)
    }
}

/// `contexts`, with `methods` and `threads`.
pub fn write_contexts(source: &Source, out: &mut dyn Write) -> io::Result<()> {
    let sheet = &source.sheet;
    head(source, out)?;
    let mut list = List { out, some: false };
    for &symbol in source.methods() {
        list.push(&Method::new(source, symbol, None))?;
    }
    let labels: Vec<&str> = source.labels().collect();
    write!(list.out, "\n],\n\"threads\":{},\n\"contexts\":[", json!(labels))?;
    list.some = false;
    let totals: Vec<_> = sheet.metrics.iter().map(|m| m.totals(sheet.tree)).collect();
    let (mut own, mut total) = (Vec::new(), Vec::new());
    contexts(source, |row| {
        let c = source.context(row.context);
        own.clear();
        own.extend(sheet.metrics.iter().map(|m| m.own.get(row.context as usize)));
        total.clear();
        total.extend(totals.iter().map(|t| t.get(row.context as usize)));
        list.push(&Context {
            parent: row.parent.checked_sub(1),
            thread: row.thread,
            method: if let What::Method(symbol) = c.what { Some(source.frame_of(symbol).0) } else { None },
            site: c.site.checked_sub(1),
            line: source.places.call_line(sheet.tree, row.context),
            numbers: Numbers { own: &own, total: &total },
        })
    })?;
    out.write_all(b"\n]}\n")
}

/// `methods` alone, with numbers.
pub fn write_methods(source: &Source, out: &mut dyn Write) -> io::Result<()> {
    head(source, out)?;
    let mut list = List { out, some: false };
    for row in rows::methods(source)? {
        let numbers = Numbers { own: &row.own, total: &row.total };
        list.push(&Method::new(source, row.symbol, Some(numbers)))?;
    }
    out.write_all(b"\n]}\n")
}
