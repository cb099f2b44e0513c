//! Options of `cprof export`.

use super::{Part, Processors};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `cprof export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof export app.cprof --format pprof -o app.pb.gz                 then: go tool pprof -http=: app.pb.gz
  cprof export app.cprof --format pprof --lines --root com.acme.Codec.encode -o app.pb.gz
  cprof export app.cprof --format callgrind -o callgrind.out.app     then: callgrind_annotate --inclusive=yes callgrind.out.app
  cprof export app.cprof --format collapsed -o - | flamegraph.pl > app.svg
  cprof export app.cprof --format speedscope -o app.speedscope.json  then open it on speedscope.app
  cprof export app.cprof --format chrome --metric calls -o app.json  then open it in ui.perfetto.dev
  cprof export app.cprof --format csv --methods --target jop -o app.csv
  cprof export app.cprof --format json --root com.acme.Main.run -o - | jq .metrics
  cprof export app.cprof --format parquet -o fleet                   tables in fleet/, beside those of other runs
  cprof export app.cprof --format lcov --source src/main/java --classes target/classes -o app.info   then: genhtml -o coverage app.info

docs/export.md says what is in each format, and which tools open it; docs/fleet.md describes the tables.

Exit code: 0; 1 when the profile cannot be read, has no such method, thread or metric, or the file cannot be written; 2 for wrong options.")]
pub struct Export {
    /// Which format
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Format,
    /// The file to write; - is standard output. For parquet the directory of the tables
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: PathBuf,
    /// Only this metric, as bytecodes or calls [default: all; in collapsed and chrome, which have room for one, bytecodes]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// In pprof a sample per line of a context, so that own costs stand at the lines where they arise; several times as large
    #[arg(long)]
    pub lines: bool,
    /// In csv and json a row per method, not per context
    #[arg(long)]
    pub methods: bool,
    /// In lcov only files found here, by their paths: the directory in which those of the packages are; may be given several times [default: all, by package]
    #[arg(long, value_name = "DIR|ZIP")]
    pub source: Vec<PathBuf>,
    /// In lcov the classes of the program, so that those which did not run count, too, and no others: a directory or a jar; may be given several times [default: all of which something ran]
    #[arg(long, value_name = "DIR|JAR")]
    pub classes: Vec<PathBuf>,
    /// Of what
    #[command(flatten)]
    pub part: Part,
    /// On which processors
    #[command(flatten)]
    pub on: Processors,
}

/// Formats of other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For go tool pprof and what else reads profile.proto
    Pprof,
    /// A line per stack, for flamegraph.pl and inferno
    Collapsed,
    /// For callgrind_annotate and KCachegrind
    Callgrind,
    /// For speedscope
    Speedscope,
    /// Trace events, for Perfetto, chrome://tracing and DevTools
    Chrome,
    /// RFC 4180, with a header line
    Csv,
    /// One object
    Json,
    /// Tables of many runs, for DuckDB, Spark, DataFusion, pandas, polars
    Parquet,
    /// Which lines, methods and branches were executed, for genhtml, Codecov, editors
    Lcov,
}
