//! `cprof overlap`.

use super::{Loaded, notes};
use crate::args::{Format, Overlap};
use crate::output;
use crate::style::Style;
use crate::table::Table;
use crate::table::field;
use anyhow::Result;
use cprof_compare::overlap::{Overlap as Degree, overlap as degree};
use cprof_profile::names::thousands;
use serde::Serialize;
use std::io::{self, BufWriter, Write};

/// A metric.
#[derive(Serialize)]
struct Row {
    metric: String,
    /// In percent; none when one of the profiles has none of it.
    by_context: Option<f64>,
    by_method: Option<f64>,
    before: u64,
    after: u64,
    /// By context and by method.
    #[serde(skip)]
    exact: [Option<Degree>; 2],
}

/// Prints the overlaps.
pub fn overlap(args: &Overlap) -> Result<()> {
    let loaded = Loaded::new(&args.two, &args.on)?;
    let comparison = loaded.compare();
    let metrics = match &args.metric {
        Some(name) => vec![loaded.named(&comparison, name)?],
        None => comparison.metrics(),
    };
    let rows: Vec<Row> = metrics
        .into_iter()
        .map(|metric| {
            let by =
                [comparison.columns(metric), comparison.method_columns(metric)].map(|[before, after]| degree(&before, &after));
            Row {
                metric: metric.before.name.clone(),
                by_context: by[0].map(|o| o.percent()),
                by_method: by[1].map(|o| o.percent()),
                before: metric.before.sum(),
                after: metric.after.sum(),
                exact: by,
            }
        })
        .collect();
    let notes = notes::notes(&loaded, &comparison);
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    match args.format {
        Format::Text => {
            let mut table = Table::new(&["by context", "by method", "before", "after", "metric"]);
            for row in rows {
                let [context, method] = row.exact.map(|o| o.map_or_else(|| "-".to_owned(), |o| format!("{}%", o.to_text(2))));
                table.row(vec![context, method, thousands(row.before), thousands(row.after), row.metric]);
            }
            table.print(&mut out, style)?;
            for note in &notes {
                writeln!(out, "{}", style.warning(&format!("note: {note}")))?;
            }
        }
        Format::Csv => {
            write!(out, "metric,by_context,by_method,before,after\r\n")?;
            for Row { metric, exact, before, after, .. } in rows {
                let [context, method] = exact.map(|o| o.map(|o| o.to_text(6)).unwrap_or_default());
                write!(out, "{},{context},{method},{before},{after}\r\n", field(&metric))?;
            }
        }
        Format::Json => {
            let files = loaded.views.each_ref().map(|view| &view.file);
            let all = serde_json::json!({ "before": files[0], "after": files[1], "overlap": rows, "notes": notes });
            serde_json::to_writer_pretty(&mut out, &all).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    if args.format == Format::Csv {
        output::notes(&notes);
    }
    Ok(())
}
