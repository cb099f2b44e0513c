//! `--format markdown`: a table of all limits, and what is to be said of those that do not hold.

use super::Report;
use super::formats::{contexts, decimal, message, sums};
use crate::markdown::{code, code_cell, prose, table};
use cprof_compare::budget::Outcome;
use cprof_profile::names::thousands;
use std::io::{self, Write};

/// Writes it.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "**{}: {}**\n", code(report.profile), sums(report))?;
    let mut rows = Vec::new();
    for verdict in &report.verdicts {
        let (outcome, value, bound, baseline) = match &verdict.outcome {
            Outcome::Held { value, bound, baseline } => ("held", Some(value), Some(bound), baseline),
            Outcome::Exceeded { value, bound, baseline, .. } => ("**exceeded**", Some(value), Some(bound), baseline),
            Outcome::Wrong(_) => ("**not checked**", None, None, &None),
            Outcome::Skipped(_) => ("skipped", None, None, &None),
        };
        let number = |number: Option<&u64>| number.map(|number| thousands(*number)).unwrap_or_default();
        let order = verdict.limit.order;
        let bound = bound.map(|bound| prose(&format!("{order} {}", decimal(*bound)))).unwrap_or_default();
        let limit = code_cell(&verdict.limit.text);
        rows.push(vec![
            outcome.to_owned(),
            limit,
            number(baseline.as_ref()),
            number(value),
            bound,
            code_cell(&verdict.budget.method),
        ]);
    }
    table(out, &["", "limit", "baseline", "counted", "must be", "method"], 2, &rows)?;
    let told = report.verdicts.iter().filter(|verdict| !matches!(verdict.outcome, Outcome::Held { .. }));
    for (at, verdict) in told.enumerate() {
        let place = format!("{}:{}", report.budget_file, verdict.at.line);
        let gap = if at == 0 { "\n" } else { "" };
        writeln!(out, "{gap}- {}: {}: {}", code(&place), code(&verdict.budget.method), prose(&message(verdict, false)))?;
        if let Outcome::Exceeded { responsible, .. } = &verdict.outcome {
            contexts(responsible).iter().try_for_each(|context| writeln!(out, "  - {}", code(context)))?;
        }
    }
    for note in &report.notes {
        writeln!(out, "\n> note: {}", prose(note))?;
    }
    Ok(())
}
