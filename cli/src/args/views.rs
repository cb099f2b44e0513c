//! Pictures.

use super::{Part, Processors};
use clap::Args;
use std::path::PathBuf;

/// `cprof flamegraph`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof flamegraph app.cprof -o app.svg                            in any browser: click to zoom, / to search
  cprof flamegraph app.cprof -o app.svg --metric calls             widths are calls
  cprof flamegraph app.cprof -o app.svg --target jop               widths are cycles on a processor
  cprof flamegraph app.cprof -o app.svg --reverse                  methods by their own cost, their callers below
  cprof flamegraph after.cprof -o diff.svg --diff before.cprof     colours say what became dearer and cheaper

Contexts that would be narrower than --min-width are not drawn; the picture says how many, and what share of the cost they are.

Exit code: 0; 1 when a profile cannot be read or has no such method, thread or metric; 2 for wrong options.")]
pub struct Flamegraph {
    /// Of what
    #[command(flatten)]
    pub part: Part,
    /// The file to write; - is standard output
    #[arg(short = 'o', long = "out", alias = "output", value_name = "FILE.svg")]
    pub out: PathBuf,
    /// Compare with this profile: widths are FILE's, colours the change
    #[arg(long, value_name = "BEFORE")]
    pub diff: Option<PathBuf>,
    /// What widths are: calls, bytecodes, cycles[jop,4k/16], … [default: cycles, or allocations, where --target or the recording names them, else bytecodes]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Callers below callees
    #[arg(long)]
    pub reverse: bool,
    /// The heading [default: the main class]
    #[arg(long)]
    pub title: Option<String>,
    /// Leave out what is narrower than this, in pixels of a picture 1200 wide
    #[arg(long, value_name = "PIXELS", default_value_t = 0.5, value_parser = pixels, allow_negative_numbers = true)]
    pub min_width: f64,
    /// On which processors
    #[command(flatten)]
    pub on: Processors,
}

/// `cprof html`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof html app.cprof -o app.html                            open it in any browser of 2023 or later
  cprof html app.cprof -o app.html --source src/main/java     with the program's source
  cprof html app.cprof -o app.html --target jop --cache 1k/4 --cache 4k/16
  cprof html after.cprof -o diff.html --diff before.cprof     what changed

The page needs no network. It has all contexts, of all threads, with all metrics.

Exit code: 0; 1 when a profile cannot be read or has no such method or thread; 2 for wrong options.")]
pub struct Html {
    /// Of what
    #[command(flatten)]
    pub part: Part,
    /// The file to write; - is standard output
    #[arg(short = 'o', long = "out", alias = "output", value_name = "FILE.html")]
    pub out: PathBuf,
    /// Compare with this profile
    #[arg(long, value_name = "BEFORE")]
    pub diff: Option<PathBuf>,
    /// Where the program's source files are: a directory, a JDK's src.zip or a -sources.jar; may be given several times
    #[arg(long, value_name = "DIR|ZIP")]
    pub source: Vec<PathBuf>,
    /// The heading [default: the main class]
    #[arg(long)]
    pub title: Option<String>,
    /// On which processors
    #[command(flatten)]
    pub on: Processors,
}

fn pixels(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(p) if p.is_finite() && p >= 0.0 => Ok(p),
        _ => Err("it takes a number from 0 up".into()),
    }
}
