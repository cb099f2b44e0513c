//! Collapsed stacks, as flamegraph.pl and inferno read them: a line per context, its callers first, separated by semicolons,
//! then a space and the context's own number. Contexts whose number is 0 have no line.
//!
//! The first frame is the thread, as `[main]`. Names are those of [`crate::names`]; a semicolon in one is `\u003b`.
//!
//! A line repeats all callers, so the file's size is the sum of the depths of all contexts: for deep recursion it is quadratic.
//! In memory is one line. [`size()`] is known before.

use crate::Source;
use crate::source::Frame;
use cprof_profile::metrics::Metric;
use cprof_profile::tree::Visit;
use std::io::{self, Write};

/// How many bytes [`write()`] will write.
pub fn size(source: &Source, metric: &Metric) -> u64 {
    let texts = texts(source);
    let tree = source.sheet.tree;
    // Of each context's stack; that of the root, which is in none, is empty.
    let mut lengths = vec![0u64; tree.len()];
    let mut size = 0u64;
    for context in 1..tree.len() {
        let above = match tree.parent(context as u32) {
            0 => 0,
            parent => lengths[parent as usize] + 1,
        };
        lengths[context] = above + texts[source.frame(context as u32).0 as usize].len() as u64;
        let own = metric.own.get(context);
        if own > 0 {
            size = size.saturating_add(lengths[context] + u64::from(own.ilog10()) + 3);
        }
    }
    size
}

/// Of every frame.
fn texts(source: &Source) -> Vec<String> {
    let frame_text = |frame| source.name(Frame(frame)).replace(';', "\\u003b");
    (0..source.frames() as u32).map(frame_text).collect()
}

/// Writes one metric of the sheet.
pub fn write(source: &Source, metric: &Metric, out: &mut dyn Write) -> io::Result<()> {
    let texts = texts(source);
    let mut line = String::new();
    let mut ends: Vec<usize> = Vec::new();
    source.walk(0, 1, |step| {
        let Visit::Enter { context, .. } = step else {
            line.truncate(ends.pop().unwrap_or(0));
            return Ok(());
        };
        ends.push(line.len());
        if !line.is_empty() {
            line.push(';');
        }
        line.push_str(&texts[source.frame(context).0 as usize]);
        match metric.own.get(context as usize) {
            0 => Ok(()),
            own => {
                out.write_all(line.as_bytes())?;
                writeln!(out, " {own}")
            }
        }
    })
}
