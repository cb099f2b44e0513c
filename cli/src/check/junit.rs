//! JUnit XML, as CI servers read it: a test case for each limit.

use super::Report;
use super::formats::{contexts, message};
use cprof_compare::budget::Outcome;
use cprof_views::xml::escaped;
use std::io::{self, Write};

/// Writes a test suite.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let count = |is: fn(&Outcome) -> bool| report.verdicts.iter().filter(|v| is(&v.outcome)).count();
    let numbers = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"0\"",
        report.verdicts.len(),
        count(|o| matches!(o, Outcome::Exceeded { .. })),
        count(|o| matches!(o, Outcome::Wrong(_))),
        count(|o| matches!(o, Outcome::Skipped(_)))
    );
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"cprof check\" {numbers}>")?;
    writeln!(out, "  <testsuite name=\"{}\" {numbers}>", escaped(&format!("cprof check {}", report.profile)))?;
    for verdict in &report.verdicts {
        let (class, name) = (escaped(&verdict.budget.method), escaped(&verdict.limit.text));
        let (file, line) = (escaped(&report.budget_file), verdict.at.line);
        write!(out, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\" file=\"{file}\" line=\"{line}\"")?;
        let short = escaped(&message(verdict, false));
        match &verdict.outcome {
            Outcome::Held { .. } => writeln!(out, "/>")?,
            Outcome::Skipped(_) => writeln!(out, "><skipped message=\"{short}\"/></testcase>")?,
            Outcome::Wrong(_) => writeln!(out, "><error type=\"budget\" message=\"{short}\"/></testcase>")?,
            Outcome::Exceeded { responsible, .. } => {
                let contexts = escaped(&contexts(responsible).join("\n"));
                writeln!(out, "><failure type=\"exceeded\" message=\"{short}\">{contexts}</failure></testcase>")?;
            }
        }
    }
    if !report.notes.is_empty() {
        writeln!(out, "    <system-out>{}</system-out>", escaped(&report.notes.join("\n")))?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}
