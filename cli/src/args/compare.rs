//! Options of the commands that compare profiles, with each other or with budgets.

use super::{Evaluating, Format, Part, Processors, top};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Two profiles, or the same part of both.
#[derive(Debug, Args)]
pub struct Two {
    /// The first profile
    pub before: PathBuf,
    /// The second profile
    pub after: PathBuf,
    /// Only contexts at and below this method (* allowed)
    #[arg(long, value_name = "CLASS.METHOD", value_parser = NonEmptyStringValueParser::new())]
    pub root: Option<String>,
    /// Only threads whose name fits
    #[arg(long, value_name = "PATTERN", value_parser = NonEmptyStringValueParser::new())]
    pub thread: Option<String>,
}

impl Two {
    /// Each of them.
    pub fn parts(&self) -> [Part; 2] {
        [&self.before, &self.after].map(|file| Part { file: file.clone(), root: self.root.clone(), thread: self.thread.clone() })
    }
}

/// `cprof diff`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof diff before.cprof after.cprof                              methods by how much their bytecodes changed
  cprof diff before.cprof after.cprof --by context                 where: the callers, too
  cprof diff before.cprof after.cprof --metric calls --top 0       all methods, by calls
  cprof diff before.cprof after.cprof --root com.acme.Codec.encode
  cprof diff before.cprof after.cprof --target jop --metric cycles
  cprof diff main.cprof app.cprof --format markdown >> $GITHUB_STEP_SUMMARY
  cprof diff first.cprof second.cprof --format csv                 what happened between two snapshots of one run

Methods are the same when their names are; lambdas, anonymous classes and proxies, whose names are numbered, when their code is
(docs/compare.md).

Exit code: 0, whether or not they differ; 1 when a profile cannot be read or has no such method, thread or metric; 2 for wrong options.")]
pub struct Diff {
    /// Which
    #[command(flatten)]
    pub two: Two,
    /// What a row is
    #[arg(long, value_enum, default_value_t = By::Method)]
    pub by: By,
    /// The number to rank by: calls, bytecodes, cycles[jop,4k/16] … [default: cycles on the processor chosen, or allocations if they are, else bytecodes]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// How many rows to show; 0 is all [default: 25, for csv and json all]
    #[arg(long, value_name = "N", value_parser = top, allow_negative_numbers = true)]
    pub top: Option<usize>,
    /// Output format
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub format: DiffFormat,
    /// On which processors
    #[command(flatten)]
    pub on: Processors,
}

/// Formats of `cprof diff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// For people
    Text,
    /// For people who read it in a review, or in the summary of a job
    Markdown,
    /// RFC 4180, with a header line
    Csv,
    /// One object
    Json,
}

/// What a row of a comparison is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A method
    Method,
    /// A method with the chain of its callers
    Context,
}

/// `cprof overlap`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof overlap a.cprof b.cprof                      for each metric, by context and by method
  cprof overlap a.cprof b.cprof --metric bytecodes
  cprof overlap a.cprof b.cprof --target jop --format csv

The overlap is the sum, over all contexts or methods, of the smaller of the two shares of the metric: 100 % when both profiles spread it
alike, however much of it there is; 0 % when they have nothing in common.

Exit code: 0; 1 when a profile cannot be read or has no such method, thread or metric; 2 for wrong options.")]
pub struct Overlap {
    /// Which
    #[command(flatten)]
    pub two: Two,
    /// Only this metric: calls, bytecodes, cycles[jop,4k/16] …
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// On which processors
    #[command(flatten)]
    pub on: Processors,
}

/// `cprof check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof check app.cprof --budget budget.toml
  cprof check app.cprof --budget budget.toml --baseline main.cprof        limits such as bytecodes +2%
  cprof check app.cprof --budget budget.toml --format junit -o check.xml
  cprof check app.cprof --budget budget.toml --format github              annotations in GitHub Actions
  cprof check app.cprof --budget budget.toml --format markdown            a table, for a job's summary

A budget file has, for each method or pattern, what must hold (docs/ci.md):
  [[budget]]
  method = \"com.acme.Codec.encode\"
  limits = [\"bytecodes <= 1_250_000\", \"calls == 3\", \"cycles[jop] +2%\", \"allocations <= 12\"]

Exit code: 0 when all limits hold; 1 when one is exceeded; 2 for wrong options, a wrong budget file, or a limit that cannot be checked
(no such method or metric, no baseline); 3 when a profile cannot be read or
has no such part (--root, --thread), or the output cannot be written.")]
pub struct Check {
    /// The profile to check, or a part of it
    #[command(flatten)]
    pub part: Part,
    /// The budgets
    #[arg(long, value_name = "FILE.toml")]
    pub budget: PathBuf,
    /// What relative limits are relative to
    #[arg(long, value_name = "FILE.cprof")]
    pub baseline: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub format: CheckFormat,
    /// Where to write it; - is standard output
    #[arg(short = 'o', long = "out", value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// How the processors in the budgets are evaluated.
    #[command(flatten)]
    pub how: Evaluating,
}

/// Formats of `cprof check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// A line per limit that does not hold
    Text,
    /// JUnit XML, as CI servers read it
    Junit,
    /// Workflow commands that GitHub Actions turns into annotations
    Github,
    /// For people who read it in a review, or in the summary of a job
    Markdown,
    /// One object
    Json,
}
