//! Tables as RFC 4180 has them: a header line, CRLF, quotes where they must be. Two columns per metric: own, and with callees
//! (`_total`).

use crate::Source;
use crate::rows::{contexts, methods};
use cprof_profile::tree::What;
use csv::{ErrorKind, Terminator, Writer, WriterBuilder};
use std::io::{self, Write};

fn table<'a>(source: &Source, keys: &[&str], out: &'a mut dyn Write) -> io::Result<Writer<&'a mut dyn Write>> {
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    for key in keys {
        put(&mut table, key)?;
    }
    for metric in source.sheet.metrics {
        put(&mut table, &metric.name)?;
        put(&mut table, format!("{}_total", metric.name))?;
    }
    end(&mut table)?;
    Ok(table)
}

fn put(table: &mut Writer<&mut dyn Write>, field: impl AsRef<[u8]>) -> io::Result<()> {
    table.write_field(field).map_err(own)
}

fn end(table: &mut Writer<&mut dyn Write>) -> io::Result<()> {
    table.write_record(None::<&[u8]>).map_err(own)
}

/// What went wrong as the sink said it: the library's own conversion hides a closed pipe.
fn own(error: csv::Error) -> io::Error {
    match error.into_kind() {
        ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Number 0 is none.
fn line(line: u32) -> String {
    if line == 0 { String::new() } else { line.to_string() }
}

/// A row per context: `index`, `parent` (0 for a thread's first methods), `thread`, `class`, `method`, `descriptor`, `native`,
/// `file`; `site` (bytecode index of the call in the caller) and `line` of the call where call sites were distinguished; metrics.
pub fn write_contexts(source: &Source, out: &mut dyn Write) -> io::Result<()> {
    let keys = ["index", "parent", "thread", "class", "method", "descriptor", "native", "file", "site", "line"];
    let sheet = &source.sheet;
    let totals: Vec<_> = sheet.metrics.iter().map(|m| m.totals(sheet.tree)).collect();
    let mut table = table(source, &keys, out)?;
    contexts(source, |row| {
        let context = source.context(row.context);
        put(&mut table, row.index.to_string())?;
        put(&mut table, row.parent.to_string())?;
        put(&mut table, source.label(row.thread))?;
        match context.what {
            What::Method(symbol) => {
                let symbol = &sheet.symbols.list[symbol as usize];
                for name in [&symbol.class, &symbol.method, &symbol.descriptor] {
                    put(&mut table, name)?;
                }
                put(&mut table, if symbol.native { "true" } else { "false" })?;
            }
            What::Root | What::Folded => {
                for name in ["", crate::names::FOLDED, "", "false"] {
                    put(&mut table, name)?;
                }
            }
        }
        put(&mut table, &source.places.of(source.frame(row.context)).file)?;
        put(&mut table, context.site.checked_sub(1).map(|bci| bci.to_string()).unwrap_or_default())?;
        put(&mut table, line(source.places.call_line(sheet.tree, row.context).unwrap_or(0)))?;
        for (metric, totals) in sheet.metrics.iter().zip(&totals) {
            put(&mut table, metric.own.get(row.context as usize).to_string())?;
            put(&mut table, totals.get(row.context as usize).to_string())?;
        }
        end(&mut table)
    })?;
    table.flush()
}

/// A row per method: `class`, `method`, `descriptor`, `native`, `file`, `line` of its first bytecode; metrics.
pub fn write_methods(source: &Source, out: &mut dyn Write) -> io::Result<()> {
    let mut table = table(source, &["class", "method", "descriptor", "native", "file", "line"], out)?;
    for row in methods(source)? {
        let symbol = &source.sheet.symbols.list[row.symbol as usize];
        for name in [&symbol.class, &symbol.method, &symbol.descriptor] {
            put(&mut table, name)?;
        }
        put(&mut table, if symbol.native { "true" } else { "false" })?;
        let place = source.places.of(source.frame_of(row.symbol));
        put(&mut table, &place.file)?;
        put(&mut table, line(place.line))?;
        for (own, total) in row.own.iter().zip(&row.total) {
            put(&mut table, own.to_string())?;
            put(&mut table, total.to_string())?;
        }
        end(&mut table)?;
    }
    table.flush()
}
