//! Tables as RFC 4180 has them: a header line, CRLF, quotes where they must be. Two columns per metric: own, and with callees
//! (`_total`).

use crate::Source;
use crate::rows::{contexts, methods};
use cprof_profile::tree::What;
use csv::{Terminator, Writer, WriterBuilder};
use std::io::{self, Write};

fn table<'a>(source: &Source, keys: &[&str], out: &'a mut dyn Write) -> io::Result<Writer<&'a mut dyn Write>> {
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    for key in keys {
        table.write_field(key)?;
    }
    for metric in source.sheet.metrics {
        table.write_field(&metric.name)?;
        table.write_field(format!("{}_total", metric.name))?;
    }
    end(&mut table)?;
    Ok(table)
}

fn end(table: &mut Writer<&mut dyn Write>) -> io::Result<()> {
    table.write_record(None::<&[u8]>)?;
    Ok(())
}

/// Number 0 is none.
fn line(line: u32) -> String {
    if line == 0 { String::new() } else { line.to_string() }
}

/// A row per context: `index`, `parent` (0 for a thread's first methods), `thread`, `class`, `method`, `descriptor`, `native`, `file`;
/// `site` (bytecode index of the call in the caller) and `line` of the call where call sites were distinguished; metrics.
pub fn write_contexts(source: &Source, out: &mut dyn Write) -> io::Result<()> {
    let keys = ["index", "parent", "thread", "class", "method", "descriptor", "native", "file", "site", "line"];
    let sheet = &source.sheet;
    let totals: Vec<Vec<u64>> = sheet.metrics.iter().map(|m| m.totals(sheet.tree)).collect();
    let mut table = table(source, &keys, out)?;
    contexts(source, |row| {
        let context = source.context(row.context);
        table.write_field(row.index.to_string())?;
        table.write_field(row.parent.to_string())?;
        table.write_field(&sheet.tree.threads[row.thread].1)?;
        match context.what {
            What::Method(symbol) => {
                let symbol = &sheet.symbols.list[symbol as usize];
                for name in [&symbol.class, &symbol.method, &symbol.descriptor] {
                    table.write_field(name)?;
                }
                table.write_field(if symbol.native { "true" } else { "false" })?;
            }
            What::Root | What::Folded => {
                for name in ["", crate::names::FOLDED, "", "false"] {
                    table.write_field(name)?;
                }
            }
        }
        table.write_field(&source.places.of(source.frame(row.context)).file)?;
        table.write_field(context.site.checked_sub(1).map(|bci| bci.to_string()).unwrap_or_default())?;
        table.write_field(line(source.places.call_line(sheet.tree, row.context).unwrap_or(0)))?;
        for (metric, totals) in sheet.metrics.iter().zip(&totals) {
            table.write_field(metric.own[row.context as usize].to_string())?;
            table.write_field(totals[row.context as usize].to_string())?;
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
            table.write_field(name)?;
        }
        table.write_field(if symbol.native { "true" } else { "false" })?;
        let place = source.places.of(crate::source::Frame(row.symbol));
        table.write_field(&place.file)?;
        table.write_field(line(place.line))?;
        for (own, total) in row.own.iter().zip(&row.total) {
            table.write_field(own.to_string())?;
            table.write_field(total.to_string())?;
        }
        end(&mut table)?;
    }
    table.flush()
}
