//! The Trace Event Format, as Perfetto, chrome://tracing and the Performance panel of Chrome's DevTools load it: a complete event
//! (`"ph":"X"`) per context, a track per thread.
//!
//! The unit of time stands for the unit of the metric: what takes 1 µs there was counted once. A context begins where what was
//! counted before it ends; its own part comes first, then its callees in order of name. Contexts with nothing in and below them
//! are left out.

use crate::Source;
use crate::source::Frame;
use cprof_profile::metrics::Metric;
use cprof_profile::tree::Visit;
use serde_json::json;
use std::io::{self, Write};

/// Writes one metric of the sheet.
pub fn write(source: &Source, metric: &Metric, out: &mut dyn Write) -> io::Result<()> {
    let sheet = &source.sheet;
    let pid = sheet.profile.run.pid;
    let totals = metric.totals(sheet.tree);
    let names: Vec<String> = (0..source.frames() as u32).map(|f| json!(source.name(Frame(f))).to_string()).collect();
    let category = json!(metric.unit);
    let other = json!({
        "cprof": env!("CARGO_PKG_VERSION"), "main_class": source.title(), "metric": metric.name,
        "unit": format!("1 µs stands for 1 of {}", metric.unit),
    });
    write!(out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{other},\n\"traceEvents\":[\n")?;
    write!(
        out,
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"tid\":0,\"args\":{{\"name\":{}}}}}",
        json!(source.title())
    )?;
    let (mut at, mut tid) = (0u64, 0);
    source.walk(0, 1, |step| {
        let Visit::Enter { context, .. } = step else { return Ok(()) };
        if let Some(thread) = source.thread(context) {
            (at, tid) = (0, tid + 1);
            let name = json!(source.label(thread));
            return write!(
                out,
                ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":{name}}}}}"
            );
        }
        let total = totals.get(context as usize);
        if total == 0 {
            return Ok(());
        }
        let name = &names[source.frame(context).0 as usize];
        write!(
            out,
            ",\n{{\"ph\":\"X\",\"name\":{name},\"cat\":{category},\"pid\":{pid},\"tid\":{tid},\"ts\":{at},\"dur\":{total}}}"
        )?;
        at = at.saturating_add(metric.own.get(context as usize));
        Ok(())
    })?;
    out.write_all(b"\n]}\n")
}
