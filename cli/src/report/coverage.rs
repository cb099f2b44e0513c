//! What the numbers do not cover.

use super::json::Coverage;
use crate::loaded::view::View;
use crate::style::{Style, printable};
use crate::table::field;
use anyhow::Result;
use cprof_profile::names::{argument, counted, thousands};
use cprof_profile::natives::NotTold;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// Behind their number: it is of those that found no room, and not of what they called.
pub const NO_ROOM: &str = "calls, with all that they called, or exceptions found no room";

/// So many lines nobody counts.
const LONG: usize = 20;

const TOO_LARGE: &str = "too large for precise counting";

/// `3 methods` and `1 class`, of each as far as there are any.
pub fn gaps(methods: u64, classes: u64) -> Vec<String> {
    let kinds = [(methods, "method", "methods"), (classes, "class", "classes")];
    kinds.into_iter().filter(|(number, ..)| *number > 0).map(|(number, one, many)| counted(number, one, many)).collect()
}

/// `not covered: 3 methods, 1 class`; none if all is.
pub fn not_covered(c: &Coverage) -> Option<String> {
    let gaps = gaps(c.methods_not_covered as u64, c.classes_not_covered as u64);
    (!gaps.is_empty()).then(|| format!("not covered: {}", gaps.join(", ")))
}

/// The same for who reads no report, with the command that lists it.
pub fn note(view: &View) -> Option<String> {
    let (file, not_covered) = (&view.file, not_covered(&Coverage::new(view))?);
    Some(format!("{file}: {not_covered}; cprof report {} --coverage lists them", argument(file)))
}

/// The line in every report, and warnings where there are any.
pub fn line(view: &View, out: &mut dyn Write, style: Style) -> io::Result<()> {
    worth(view, ["; --coverage lists them", "; see --coverage"], out, style)
}

/// The same; behind what is not covered, and behind what is too large, `more`.
fn worth(view: &View, more: [&str; 2], out: &mut dyn Write, style: Style) -> io::Result<()> {
    let c = Coverage::new(view);
    match not_covered(&c) {
        None => writeln!(out, "not covered: nothing")?,
        Some(not_covered) => writeln!(out, "{not_covered}{}", more[0])?,
    }
    let run = &view.profile.run;
    if !c.too_large.is_empty() {
        let methods = counted(c.too_large.len() as u64, "method was", "methods were");
        writeln!(out, "{methods} {TOO_LARGE}: after an exception its block counts whole{}", more[1])?;
    }
    if run.lost_calls > 0 {
        let lost = format!(
            "incomplete: {} {NO_ROOM}: in memory (give more with max-memory=) or at the end of a thread's stack",
            thousands(run.lost_calls)
        );
        writeln!(out, "{}", style.warning(&lost))?;
    }
    if run.folded {
        let exact = if run.lost_calls == 0 { "; calls, exits and bytecodes are exact in total" } else { "" };
        writeln!(
            out,
            "contexts beyond the limit were folded{exact}; numbers with callees may be too low. More with max-nodes= or max-memory=, or \
             where /dev/shm or the container has more memory"
        )?;
    }
    if run.bounded {
        writeln!(
            out,
            "contexts were folded by depth= or recursion=fold: numbers with callees may be too low; calls and bytecodes of methods themselves are exact"
        )?;
    }
    if let Some(natives) = NotTold::of(&view.profile).sentence(&view.profile) {
        writeln!(out, "{}", printable(&natives))?;
    }
    if c.inconsistent_contexts > 0 {
        let contexts = counted(c.inconsistent_contexts as u64, "context was", "contexts were");
        writeln!(
            out,
            "{}",
            style.warning(&format!("{contexts} caught between two counters; their numbers may be off by one call"))
        )?;
    }
    for note in view.processor.iter().flat_map(|p| &p.notes) {
        writeln!(out, "{}", style.warning(&format!("note: {note}")))?;
    }
    for warning in c.warnings {
        writeln!(out, "{}", style.warning(&format!("warning: {warning}")))?;
    }
    Ok(())
}

/// The list. What is told several times in the same words, as of hidden classes of one name, is one line.
pub fn text(view: &View, out: &mut dyn Write, style: Style) -> Result<()> {
    let coverage = Coverage::new(view);
    let gaps = coverage.gaps.iter().map(|gap| match gap.method {
        Some(method) => format!("{}.{method}: {}", gap.class, gap.reason),
        None => format!("{}: {}", gap.class, gap.reason),
    });
    let too_large = coverage.too_large.iter().map(|m| format!("{}.{}{}: {TOO_LARGE}", m.class, m.method, m.descriptor));
    let lines: Vec<String> = gaps.chain(too_large).collect();
    let mut times: HashMap<&str, u64> = HashMap::new();
    lines.iter().for_each(|line| *times.entry(line).or_default() += 1);
    let is_long = times.len() >= LONG;
    for line in &lines {
        let times = times.remove(line.as_str());
        let often = times.filter(|&times| times > 1).map(|times| format!(" ({} times)", thousands(times)));
        if times.is_some() {
            writeln!(out, "{}{}", printable(line), often.unwrap_or_default())?;
        }
    }
    if is_long {
        by_reason(&coverage, out, style)?;
    }
    worth(view, [""; 2], out, style)?;
    Ok(())
}

/// How many there are for each reason, the most frequent first.
fn by_reason(coverage: &Coverage<'_>, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let mut reasons: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for gap in &coverage.gaps {
        reasons.entry(gap.reason).or_default()[usize::from(gap.method.is_none())] += 1;
    }
    if !coverage.too_large.is_empty() {
        reasons.insert(TOO_LARGE, [coverage.too_large.len() as u64, 0]);
    }
    let mut reasons: Vec<(&str, [u64; 2])> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, [methods, classes])| std::cmp::Reverse(methods + classes));
    writeln!(out)?;
    for (reason, [methods, classes]) in reasons {
        writeln!(out, "{}", style.dim(&printable(&format!("{}: {reason}", gaps(methods, classes).join(", ")))))?;
    }
    Ok(())
}

/// `class,method,reason`: gaps, where an empty method is the whole class, and methods too large for precise counting.
pub fn csv(view: &View, out: &mut dyn Write) -> Result<()> {
    write!(out, "class,method,reason\r\n")?;
    let coverage = Coverage::new(view);
    for gap in &coverage.gaps {
        write!(out, "{},{},{}\r\n", field(&gap.class), field(gap.method.unwrap_or("")), field(gap.reason))?;
    }
    for m in &coverage.too_large {
        write!(out, "{},{},{TOO_LARGE}\r\n", field(&m.class), field(&format!("{}{}", m.method, m.descriptor)))?;
    }
    Ok(())
}

/// The `coverage` object of the report.
pub fn json(view: &View, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Coverage::new(view)).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
