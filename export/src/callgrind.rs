//! Callgrind's format, as callgrind_annotate and KCachegrind read it: own costs of every method, and calls with their inclusive
//! costs by caller, line and callee.
//!
//! - All metrics are events, named without punctuation; an `event:` line has the real name.
//! - A thread is a function `[label]` without costs of its own, which calls the thread's first methods.
//! - Own costs stand at the line where they arise; at the first line of the method what arises on none (see [`ByLine`]). Calls stand
//!   at the line they are made from where call sites were distinguished and all versions of the caller agree, else at the first,
//!   too. Lines of versions of a method from
//!   other files are between `fi=` and `fe=`.
//! - A call of a method that is active already is counted, but its inclusive cost is 0: it is in the outer call's. So the calls
//!   of a method together cost what the method costs with all it called, in recursion, too.

use crate::rows::{Running, add};
use crate::source::Frame;
use crate::{ByLine, Source};
use cprof_profile::metrics::Metric;
use cprof_profile::tree::{Active, Visit};
use rustc_hash::FxHashMap;
use std::collections::HashSet;
use std::io::{self, Write};

/// Calls from one line of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Call {
    caller: u32,
    line: u32,
    callee: u32,
}

/// What there is to write, summed up.
struct Sums {
    /// Own costs, frame after frame.
    own: Vec<u64>,
    /// Calls, each with a number.
    calls: FxHashMap<Call, usize>,
    /// How often, by number.
    counts: Vec<u64>,
    /// Inclusive costs, one after the other, by number.
    costs: Vec<u64>,
}

/// Writes all metrics of the sheet, own costs `by_line`.
pub fn write(source: &Source, by_line: &ByLine, out: &mut dyn Write) -> io::Result<()> {
    let sums = sum(source)?;
    head(source, out)?;
    let width = source.sheet.metrics.len();
    let mut calls: Vec<(Call, usize)> = sums.calls.into_iter().collect();
    calls.sort_unstable();
    let mut calls = calls.into_iter().peekable();
    let mut names = Names { source, files: FxHashMap::default(), named: vec![false; source.frames()] };
    for frame in 0..source.frames() as u32 {
        let own = &sums.own[frame as usize * width..][..width];
        if own.iter().all(|&n| n == 0) && calls.peek().is_none_or(|(call, _)| call.caller != frame) {
            continue;
        }
        writeln!(out)?;
        names.file("fl", frame, out)?;
        names.function("fn", frame, out)?;
        let place = source.places.of(Frame(frame));
        let lines = by_line.of(source.number(Frame(frame)), (&place.file, place.line), source.sheet.metrics, own);
        for (at, line) in lines.iter().enumerate() {
            if let Some(file) = line.file.as_ref().filter(|_| lines[at - 1].file != line.file) {
                names.path("fi", file, out)?;
            }
            costs(line.number, &line.costs, out)?;
        }
        if lines.last().is_some_and(|line| line.file.is_some()) {
            names.file("fe", frame, out)?;
        }
        while let Some((call, number)) = calls.next_if(|(call, _)| call.caller == frame) {
            names.file("cfi", call.callee, out)?;
            names.function("cfn", call.callee, out)?;
            // For callgrind_annotate, costs behind `calls=0` are the caller's own. What was folded has no calls, nor has a method
            // that was active already when counting began.
            writeln!(out, "calls={} {}", sums.counts[number].max(1), source.places.first_line(Frame(call.callee)))?;
            costs(call.line, &sums.costs[number * width..][..width], out)?;
        }
    }
    write!(out, "\ntotals:")?;
    for metric in source.sheet.metrics {
        write!(out, " {}", metric.sum())?;
    }
    writeln!(out)
}

fn head(source: &Source, out: &mut dyn Write) -> io::Result<()> {
    let run = &source.sheet.profile.run;
    let line = |text: &str| {
        let mut line = String::new();
        crate::names::escaped(text, |_| false, &mut line);
        line
    };
    write!(out, "# callgrind format\nversion: 1\ncreator: cprof {}\npid: {}\n", env!("CARGO_PKG_VERSION"), run.pid)?;
    writeln!(out, "cmd: {}", line(source.title()))?;
    if let Some(caution) = run.taken.caution() {
        writeln!(out, "desc: cprof: {caution}")?;
    }
    writeln!(out, "positions: line")?;
    let events = events(source.sheet.metrics);
    for (event, metric) in events.iter().zip(source.sheet.metrics) {
        writeln!(out, "event: {event} : {}", line(&metric.name))?;
    }
    writeln!(out, "events: {}", events.join(" "))
}

/// Names of events: of letters, digits and underscores, each once.
fn events(metrics: &[Metric]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut name = |metric: &Metric| {
        let plain: String = metric.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let plain = plain.trim_end_matches('_');
        let numbered = (2..).map(|n| format!("{plain}_{n}"));
        let name = std::iter::once(plain.to_owned()).chain(numbered).find(|name| !taken.contains(name));
        let name = name.expect("there are more numbers than metrics");
        taken.insert(name.clone());
        name
    };
    metrics.iter().map(&mut name).collect()
}

/// Names that are written once and referred to by number afterwards.
struct Names<'s, 'a> {
    source: &'s Source<'a>,
    files: FxHashMap<String, usize>,
    named: Vec<bool>,
}

impl Names<'_, '_> {
    /// The file that a method is in.
    fn file(&mut self, key: &str, frame: u32, out: &mut dyn Write) -> io::Result<()> {
        self.path(key, &self.source.places.of(Frame(frame)).file, out)
    }

    fn path(&mut self, key: &str, path: &str, out: &mut dyn Write) -> io::Result<()> {
        let mut file = String::new();
        crate::names::escaped(path, |_| false, &mut file);
        if file.is_empty() {
            // As Valgrind's own tools say it.
            file.push_str("???");
        }
        match self.files.get(&file) {
            Some(number) => writeln!(out, "{key}=({number})"),
            None => {
                let number = self.files.len() + 1;
                writeln!(out, "{key}=({number}) {file}")?;
                self.files.insert(file, number);
                Ok(())
            }
        }
    }

    fn function(&mut self, key: &str, frame: u32, out: &mut dyn Write) -> io::Result<()> {
        let number = frame + 1;
        if std::mem::replace(&mut self.named[frame as usize], true) {
            writeln!(out, "{key}=({number})")
        } else {
            writeln!(out, "{key}=({number}) {}", self.source.name(Frame(frame)))
        }
    }
}

fn costs(line: u32, costs: &[u64], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{line}")?;
    for cost in costs {
        write!(out, " {cost}")?;
    }
    writeln!(out)
}

fn sum(source: &Source) -> io::Result<Sums> {
    let sheet = &source.sheet;
    let (width, frames) = (sheet.metrics.len(), source.frames());
    let mut sums = Sums { own: vec![0; frames * width], calls: FxHashMap::default(), counts: Vec::new(), costs: Vec::new() };
    let mut active = Active::new(frames);
    let mut outermost = Running::new(width);
    let mut open: Vec<usize> = Vec::new();
    source.walk(0, 1, |step| {
        let (context, enter) = match step {
            Visit::Enter { context, .. } => (context, true),
            Visit::Leave { context } => (context, false),
        };
        if source.thread(context).is_some() {
            return Ok(());
        }
        let frame = source.frame(context).0;
        if enter {
            let c = source.context(context);
            let caller = source.frame(c.parent);
            let line = source.places.call_line(sheet.tree, context);
            let line = line.unwrap_or_else(|| source.places.first_line(caller));
            let next = sums.counts.len();
            let call = *sums.calls.entry(Call { caller: caller.0, line, callee: frame }).or_insert(next);
            if call == next {
                sums.counts.push(0);
                sums.costs.resize((next + 1) * width, 0);
            }
            sums.counts[call] = sums.counts[call].saturating_add(c.calls);
            open.push(call);
            if active.enter(frame) {
                outermost.open();
            }
            let own = || sheet.metrics.iter().map(|m| m.own.get(context as usize));
            outermost.count(own());
            add(&mut sums.own[frame as usize * width..], own());
        } else {
            let call = open.pop().unwrap_or_default();
            if active.leave(frame) {
                outermost.close(&mut sums.costs[call * width..]);
            }
        }
        Ok(())
    })?;
    Ok(sums)
}
