//! Commands that look at code.

use super::{Format, OnTarget, Part, top};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `cprof annotate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof annotate app.cprof com.acme.Codec.encode                       the bytecode, with executions and branch outcomes
  cprof annotate app.cprof com.acme.Codec.encode --source src/main/java   the source, line by line
  cprof annotate app.cprof com.acme.Codec --source codec-sources.jar   all methods of the class that ran
  cprof annotate app.cprof 'com.acme.Codec.encode([B)V'                one of several methods of that name
  cprof annotate app.cprof java.lang.String.hashCode --source $JAVA_HOME/lib/src.zip
  cprof annotate app.cprof com.acme.Codec.encode --target jop          with the cycles of each bytecode
  cprof annotate app.cprof 'com.acme.Main$$Lambda.run' --format json   for other tools

Exit code: 0; 1 when the profile cannot be read or has no such class or method; 2 for wrong options.")]
pub struct Annotate {
    /// Of what
    #[command(flatten)]
    pub part: Part,
    /// A class with its package, or a method of it, a descriptor may follow; * allowed
    #[arg(value_name = "CLASS[.METHOD[DESCRIPTOR]]", value_parser = NonEmptyStringValueParser::new())]
    pub what: String,
    /// Where sources are: a directory, src.zip or a -sources.jar; may be given several times
    #[arg(long, value_name = "DIR|ZIP")]
    pub source: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = AnnotateFormat::Text)]
    pub format: AnnotateFormat,
    /// On which processor
    #[command(flatten)]
    pub on: OnTarget,
}

/// Output formats of `cprof annotate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnnotateFormat {
    /// For people
    Text,
    /// One object
    Json,
}

/// `cprof histogram`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof histogram app.cprof                                  opcodes, block sizes, branches
  cprof histogram app.cprof --by class                       bytecodes, block sizes and branches of each class
  cprof histogram app.cprof --root com.acme.Codec.encode     of a part of the program
  cprof histogram app.cprof --by line --format csv           every source line, for other tools
  cprof histogram app.cprof --by type                        objects and arrays that were made, by type

Exit code: 0; 1 when the profile cannot be read or has no such method or thread; 2 for wrong options.")]
pub struct Histogram {
    /// Of what
    #[command(flatten)]
    pub part: Part,
    /// What a row is
    #[arg(long, value_enum, default_value_t = HistogramBy::Opcode)]
    pub by: HistogramBy,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// How many rows to show; 0 is all [default: 25, for csv and json all]
    #[arg(long, value_name = "N", value_parser = top, allow_negative_numbers = true)]
    pub top: Option<usize>,
}

/// What a row of `cprof histogram` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HistogramBy {
    /// An opcode; as text also groups of opcodes, block sizes and branches
    Opcode,
    /// A class
    Class,
    /// A method
    Method,
    /// A source line
    Line,
    /// A type of objects or arrays, with how many were made
    Type,
}
