//! `cprof merge`.

use clap::Args;
use std::path::PathBuf;

/// `cprof merge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof merge monday.cprof tuesday.cprof -o both.cprof
  cprof merge runs/*.cprof -o all.cprof && cprof report all.cprof

Counts add up per method and calling context, whatever the machine or JDK; threads of one name are one. The result is a profile
like any other, and can be merged again. Profiles with and without call sites (--sites), with and without folded
contexts (--fold-recursion), or with different --depth, do not go together and are refused: merge each kind by itself. A
method cache that some of the runs did not simulate is left out, with a note.

Exit code: 0; 1 when a profile cannot be read or does not go with the others; 2 for wrong options.")]
pub struct Merge {
    /// The profiles
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The profile to write; - is standard output
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: PathBuf,
    /// No line about what was written
    #[arg(short, long)]
    pub quiet: bool,
}
