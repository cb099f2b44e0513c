//! For people, for GitHub Actions, for other tools.

use super::Report;
use crate::style::{Style, printable};
use cprof_compare::budget::{Bound, Limit, Outcome, Responsible, Scope, Verdict};
use cprof_profile::names::{counted, thousands};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Callers are shown up to so many.
const CALLERS: usize = 4;

/// A line per limit that does not hold, and one at the end.
pub fn text(report: &Report<'_>, out: &mut dyn Write, style: Style) -> io::Result<()> {
    for verdict in &report.verdicts {
        if !matches!(verdict.outcome, Outcome::Held { .. }) {
            let place = format!("{}:{}", report.budget_file, verdict.at.line);
            let line = format!("{place}: {}: {}", verdict.budget.method, message(verdict, true));
            writeln!(out, "{}", printable(&line))?;
        }
    }
    for note in &report.notes {
        writeln!(out, "{}", style.warning(&format!("note: {note}")))?;
    }
    writeln!(out, "{}", style.bold(&format!("{}: {}", report.profile, sums(report))))
}

/// `of 5 limits 4 held, 1 exceeded`
pub fn sums(report: &Report<'_>) -> String {
    let (mut held, mut exceeded, mut wrong, mut skipped) = (0u64, 0u64, 0u64, 0u64);
    for verdict in &report.verdicts {
        let count = match verdict.outcome {
            Outcome::Held { .. } => &mut held,
            Outcome::Exceeded { .. } => &mut exceeded,
            Outcome::Wrong(_) => &mut wrong,
            Outcome::Skipped(_) => &mut skipped,
        };
        *count += 1;
    }
    let mut parts = vec![format!("{} held", thousands(held))];
    for (number, what) in [(exceeded, "exceeded"), (wrong, "could not be checked"), (skipped, "skipped")] {
        if number > 0 {
            parts.push(format!("{} {what}", thousands(number)));
        }
    }
    let limits = counted(report.verdicts.len() as u64, "limit", "limits");
    format!("of {limits} {}", parts.join(", "))
}

/// What became of a limit, in words.
pub fn message(verdict: &Verdict<'_>, with_contexts: bool) -> String {
    let limit = verdict.limit;
    match &verdict.outcome {
        Outcome::Held { value, .. } => format!("{} {}: {} holds", thousands(*value), number_name(limit), limit.text),
        Outcome::Skipped(reason) => format!("{} skipped: {reason}", limit.text),
        Outcome::Wrong(reason) => format!("{} cannot be checked: {reason}", limit.text),
        Outcome::Exceeded { value, bound, baseline, responsible } => {
            let mut text = format!("{} {}", thousands(*value), number_name(limit));
            text.push_str(&format!(", must be {} {}", limit.order, decimal(*bound)));
            if limit.is_relative() {
                text.push_str(&format!(" ({})", limit.text));
            }
            if let Some(before) = baseline {
                text.push_str(&format!("; baseline {}", thousands(*before)));
            }
            if with_contexts && !responsible.is_empty() {
                text.push_str(&format!("; {}", contexts(responsible).join("; ")));
            }
            text
        }
    }
}

/// A bound to the last digit: 1,500.25. A limit below nothing is one that no number keeps.
pub fn decimal(bound: Bound) -> String {
    let (whole, millionths) = bound.parts();
    let whole = u64::try_from(whole).map_or_else(|_| whole.to_string(), thousands);
    let sign = if bound.is_negative() { "-" } else { "" };
    let fraction = format!(".{millionths:06}");
    format!("{sign}{whole}{}", fraction.trim_end_matches('0').trim_end_matches('.'))
}

/// `own bytecodes`, `bytecodes with callees`.
fn number_name(limit: &Limit) -> String {
    match limit.scope {
        Scope::Own => format!("own {}", limit.metric),
        Scope::Total => format!("{} with callees", limit.metric),
    }
}

/// Contexts with their nearest callers, as many as tell them apart, and their numbers.
pub fn contexts(all: &[Responsible]) -> Vec<String> {
    all.iter().map(|one| context(one, told_apart(one, all))).collect()
}

/// How many of the last methods of a path to show.
fn told_apart(one: &Responsible, all: &[Responsible]) -> usize {
    let others = || all.iter().filter(|other| other.path != one.path);
    let tells = |&methods: &usize| others().all(|other| last(&other.path, methods) != last(&one.path, methods));
    (CALLERS + 1..one.path.len()).find(tells).unwrap_or(one.path.len())
}

fn last(path: &[String], methods: usize) -> &[String] {
    &path[path.len().saturating_sub(methods)..]
}

/// A context with so many of the last methods of its path.
fn context(responsible: &Responsible, methods: usize) -> String {
    let Responsible { path, amount, changed } = responsible;
    let shown = last(path, methods);
    let dots = if shown.len() < path.len() { "… > " } else { "" };
    let digits = u64::try_from(amount.unsigned_abs()).map_or_else(|_| amount.to_string(), thousands);
    let sign = if *amount < 0 {
        "-"
    } else if *changed {
        "+"
    } else {
        ""
    };
    // One line each, whatever the names of methods are.
    format!("{sign}{digits} in {dots}{}", printable(&shown.join(" > ")))
}

/// `::error file=…,line=…,col=…,title=…::…` for limits that do not hold.
pub fn github(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for verdict in &report.verdicts {
        let command = match verdict.outcome {
            Outcome::Held { .. } => continue,
            Outcome::Skipped(_) => "notice",
            Outcome::Exceeded { .. } | Outcome::Wrong(_) => "error",
        };
        let file = property(&report.budget_file);
        let title = property(&printable(&format!("cprof: {}", verdict.budget.method)));
        let (line, column) = (verdict.at.line, verdict.at.column);
        let text = data(&printable(&format!("{}: {}", verdict.budget.method, message(verdict, true))));
        writeln!(out, "::{command} file={file},line={line},col={column},title={title}::{text}")?;
    }
    for note in &report.notes {
        writeln!(out, "::warning title=cprof::{}", data(&printable(note)))?;
    }
    Ok(())
}

/// A message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of one.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// `profile`, `baseline`, `budgets`, `limits`, `notes`.
pub fn json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let limits: Vec<Value> = report.verdicts.iter().map(row).collect();
    let whole = json!({
        "profile": report.profile,
        "baseline": report.baseline,
        "budgets": report.budget_file,
        "limits": limits,
        "notes": report.notes,
    });
    serde_json::to_writer_pretty(&mut *out, &whole).map_err(io::Error::from)?;
    writeln!(out)
}

fn row(verdict: &Verdict<'_>) -> Value {
    let (outcome, numbers, reason) = match &verdict.outcome {
        Outcome::Held { value, bound, baseline } => ("held", Some((value, bound, baseline, &[][..])), None),
        Outcome::Exceeded { value, bound, baseline, responsible } => {
            ("exceeded", Some((value, bound, baseline, responsible.as_slice())), None)
        }
        Outcome::Skipped(reason) => ("skipped", None, Some(reason)),
        Outcome::Wrong(reason) => ("wrong", None, Some(reason)),
    };
    let context = |r: &Responsible| json!({ "path": r.path, "amount": amount(r.amount), "changed": r.changed });
    let contexts: Vec<Value> = numbers.iter().flat_map(|(.., responsible)| responsible.iter().map(context)).collect();
    let Verdict { budget, limit, at, .. } = verdict;
    json!({
        "method": budget.method, "limit": limit.text, "line": at.line, "column": at.column, "metric": limit.metric,
        "own": limit.scope == Scope::Own, "outcome": outcome, "message": message(verdict, true), "reason": reason,
        "value": numbers.map(|(value, ..)| value), "bound": numbers.map(|(_, &bound, ..)| number(bound)),
        "baseline": numbers.and_then(|(_, _, baseline, _)| *baseline), "contexts": contexts,
    })
}

/// A whole number as one, whatever its size.
fn number(bound: Bound) -> Value {
    match bound
        .exact()
        .and_then(|whole| i64::try_from(whole).map(Value::from).or_else(|_| u64::try_from(whole).map(Value::from)).ok())
    {
        Some(whole) => whole,
        None => bound.to_f64().into(),
    }
}

/// JSON numbers are at most 64 bits wide here; changes of more do not occur in one program's life.
fn amount(amount: i128) -> i64 {
    i64::try_from(amount).unwrap_or(if amount < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflow_commands_are_escaped() {
        assert_eq!(data("1%\n2"), "1%25%0A2");
        assert_eq!(property("C:\\a,b%"), "C%3A\\a%2Cb%25");
    }

    #[test]
    fn whole_bounds_are_exact() {
        let bound = |text: &str, baseline| number(Limit::parse(text).unwrap().bound(Some(baseline)).unwrap());
        assert_eq!(bound("bytecodes <= 9007072457760333021", 0).to_string(), "9007072457760333021");
        assert_eq!(bound("bytecodes +0%", u64::MAX).to_string(), u64::MAX.to_string());
        assert_eq!(bound("bytecodes +50%", 15).to_string(), "22.5");
        assert_eq!(bound("bytecodes -20", 15).to_string(), "-5");
    }

    #[test]
    fn bounds_in_words_are_exact() {
        let bound = |text: &str, baseline| decimal(Limit::parse(text).unwrap().bound(Some(baseline)).unwrap());
        assert_eq!(bound("bytecodes == baseline +0.8%", 120), "120.96");
        assert_eq!(bound("bytecodes +50%", 3001), "4,501.5");
        assert_eq!(bound("bytecodes +0.0001%", 1), "1.000001");
        assert_eq!(bound("bytecodes +0%", u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(bound("bytecodes -50%", 1), "0.5");
        assert_eq!(bound("bytecodes -20", 15), "-5");
    }

    #[test]
    fn long_paths_are_cut_at_the_far_end() {
        let path = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned).to_vec();
        let responsible = Responsible { path, amount: 1234, changed: true };
        assert_eq!(contexts(&[responsible]), ["+1,234 in … > c > d > e > f > g"]);
        let hostile = Responsible { path: vec!["a\n\u{1b}[2Jé".to_owned()], amount: -3, changed: false };
        assert_eq!(contexts(&[hostile]), ["-3 in a\\n\\u{1b}[2Jé"]);
    }

    #[test]
    fn paths_are_shown_as_far_as_they_differ() {
        let of = |path: &str| Responsible { path: path.chars().map(String::from).collect(), amount: 1, changed: false };
        let shown = contexts(&[of("abcdefg"), of("axcdefg"), of("cdefg")]);
        assert_eq!(shown, ["1 in … > b > c > d > e > f > g", "1 in … > x > c > d > e > f > g", "1 in c > d > e > f > g"]);
    }
}
