//! speedscope's own file format: a profile per metric and thread, as events.
//!
//! A frame opens and closes once per context, at the sum of what was counted before: callees follow each other in order of name,
//! the context's own part comes first. So the file's size is proportional to the number of contexts, however deep they are.
//! speedscope merges frames by name and file; it calculates in doubles, exact up to 2⁵³.

use crate::Source;
use crate::source::Frame;
use cprof_profile::metrics::Metric;
use cprof_profile::tree::Visit;
use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};

#[derive(Serialize)]
struct Entry<'a> {
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// Writes all metrics of the sheet.
pub fn write(source: &Source, out: &mut dyn Write) -> io::Result<()> {
    let sheet = &source.sheet;
    out.write_all(b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":")?;
    serde_json::to_writer(&mut *out, concat!("cprof ", env!("CARGO_PKG_VERSION")))?;
    write!(out, ",\n\"name\":{},\n", json!(source.title()))?;
    // What opens first: the thread that has executed most.
    let first = sheet.metrics.iter().position(|m| m.name == "bytecodes").unwrap_or(0);
    let sums = thread_sums(source, &sheet.metrics[first]);
    let largest = (0..sums.len()).rev().max_by_key(|&thread| sums[thread]).unwrap_or(0);
    write!(out, "\"activeProfileIndex\":{},\n\"shared\":{{\"frames\":[", first * sheet.tree.threads.len() + largest)?;
    for frame in 0..=sheet.symbols.list.len() as u32 {
        out.write_all(if frame == 0 { b"\n" } else { b",\n" })?;
        let place = source.places.of(Frame(frame));
        let line = Some(place.line).filter(|&line| line > 0);
        serde_json::to_writer(&mut *out, &Entry { name: source.name(Frame(frame)), file: &place.file, line })?;
    }
    out.write_all(b"\n]},\n\"profiles\":[")?;
    for pass in 0..sheet.metrics.len() {
        profiles(source, pass, out)?;
    }
    out.write_all(b"\n]}\n")
}

/// The profiles of one metric.
fn profiles(source: &Source, pass: usize, out: &mut dyn Write) -> io::Result<()> {
    let sheet = &source.sheet;
    let metric = &sheet.metrics[pass];
    let sums = thread_sums(source, metric);
    // Contexts that the walk is in, and how many of them are open: those with nothing in and below them never are.
    let mut callers: Vec<u32> = Vec::new();
    let (mut open, mut at, mut events, mut first) = (0, 0u64, 0u64, pass == 0);
    source.walk(pass, sheet.metrics.len(), |step| match step {
        Visit::Enter { context, .. } => {
            if let Some(thread) = source.thread(context) {
                (at, events) = (0, 0);
                let title = json!(format!("{}: {}", source.label(thread), metric.name));
                out.write_all(if std::mem::take(&mut first) { b"\n" } else { b",\n" })?;
                write!(out, "{{\"type\":\"evented\",\"name\":{title},\"unit\":\"none\",")?;
                return write!(out, "\"startValue\":0,\"endValue\":{},\"events\":[", sums[thread]);
            }
            callers.push(source.frame(context).0);
            let own = metric.own.get(context as usize);
            if own > 0 {
                for frame in &callers[open..] {
                    event('O', *frame, at, &mut events, out)?;
                }
                open = callers.len();
                at = at.saturating_add(own);
            }
            Ok(())
        }
        Visit::Leave { context } if source.thread(context).is_some() => out.write_all(b"]}"),
        Visit::Leave { .. } => {
            let frame = callers.pop().unwrap_or_default();
            if open > callers.len() {
                open = callers.len();
                event('C', frame, at, &mut events, out)?;
            }
            Ok(())
        }
    })
}

fn event(kind: char, frame: u32, at: u64, events: &mut u64, out: &mut dyn Write) -> io::Result<()> {
    let separator = if *events > 0 { ",\n" } else { "\n" };
    *events += 1;
    write!(out, "{separator}{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}")
}

/// Per thread, the sum of a metric.
fn thread_sums(source: &Source, metric: &Metric) -> Vec<u64> {
    let tree = source.sheet.tree;
    let mut sums = vec![0u64; tree.threads.len()];
    for (own, at) in metric.own.iter().zip(tree.thread_of()) {
        let sum = &mut sums[source.thread_at(at as usize)];
        *sum = sum.saturating_add(own);
    }
    sums
}
