//! The command line.

mod code;
mod compare;
mod export;
mod live;
mod merge;
mod views;

pub use code::{Annotate, AnnotateFormat, Histogram, HistogramBy};
pub use compare::{By, Check, CheckFormat, Diff, DiffFormat, Overlap, Two};
pub use export::{Export, Format as ExportFormat};
pub use live::{Attach, Clean, Detach, List, Recover, Snapshot, Top};
pub use merge::Merge;
pub use views::{Flamegraph, Html};

use crate::usage::Usage;
use anyhow::{Result, bail};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use cprof_profile::cache::CacheSpec;
use cprof_profile::cycles::Options;
use cprof_profile::target::{CycleEstimator, Model};
use std::ffi::OsString;
use std::path::PathBuf;

/// Exact, deterministic profiles of Java programs: every call and every bytecode, per calling context.
#[derive(Debug, Parser)]
#[command(
    name = "cprof",
    version,
    after_help = "Examples:
  cprof run -- java -cp app.jar com.acme.Main        count everything, then print a summary
  cprof report cprof-4711.cprof                      the methods that cost most
  cprof report cprof-4711.cprof --tree               who called them
  cprof list                                         which JVMs run, and which are recorded
  cprof top 4711                                     what one does now
  cprof <command> --help                             all options of a command, with examples"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a Java program under the profiler and print a summary at its end
    Run(Box<Run>),
    /// Show what a profile says: totals, methods, calling contexts, threads
    Report(Box<Report>),
    /// Show the source or the bytecode of methods, each line with executions, cycles or allocations, and branch outcomes
    Annotate(Box<Annotate>),
    /// Show what kinds of bytecodes were executed, in blocks of what size, and how branches went
    Histogram(Box<Histogram>),
    /// Draw a flame graph as an SVG to click on, also of what changed between two profiles
    Flamegraph(Box<Flamegraph>),
    /// Write one self-contained page to explore a profile in a browser
    Html(Box<Html>),
    /// Write a profile in the format of another tool: pprof, callgrind, Parquet and others
    Export(Box<Export>),
    /// Compare processors, method caches and parameters on one profile
    Explore(Box<Explore>),
    /// Make one profile of many: runs, machines, JDKs
    Merge(Merge),
    /// Show what changed between two profiles, or between two snapshots of a run
    Diff(Box<Diff>),
    /// Say how far two profiles spread their costs over the same contexts and methods
    Overlap(Box<Overlap>),
    /// Check a profile against budgets, for CI
    Check(Box<Check>),
    /// List the processors that cprof has models of, show one, check one of your own
    Targets(Targets),
    /// List the JVMs of this user, or what dead ones have left
    List(List),
    /// Load cprof into a running JVM, and count from now on or for a while
    Attach(Box<Attach>),
    /// End counting in a JVM that cprof was attached to, and restore its classes; what could not be restored is listed
    Detach(Detach),
    /// Write a profile of a JVM that is being recorded, now, without stopping it
    Snapshot(Snapshot),
    /// Show what a JVM that is being recorded does now, by method, context and thread
    Top(Top),
    /// Write the profile of a JVM that was killed or crashed
    Recover(Recover),
    /// Remove the recordings that dead JVMs have left
    Clean(Clean),
}

/// `cprof run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof run -- java -cp app.jar com.acme.Main
  cprof run -o main.cprof --root com.acme.Codec.encode -- java -jar app.jar input.bin
  cprof run --sites --include 'com.acme.*' -- /opt/jdk-25/bin/java -jar app.jar
  cprof run --deterministic -- java -cp app.jar com.acme.Main
  cprof run --target jop --cache 1k/4+4k/16 -- java -cp app.jar com.acme.Main

The program's input, output and exit code are its own; the summary goes to standard error.
The same without cprof run:  java -agentpath:/path/to/libcprof.so=out=app.cprof -jar app.jar

Exit code: the program's (128 + n when signal n ended it); 1 when it could not be started, 2 for wrong options.

Environment:
  CPROF_AGENT   path of libcprof.so, when it is not beside the cprof command")]
pub struct Run {
    /// The file to write; %p stands for the process id, %t for the start time in seconds
    #[arg(short = 'o', long = "out", value_name = "FILE", default_value = "cprof-%p.cprof")]
    pub out: String,
    /// What is counted, and how
    #[command(flatten)]
    pub counting: Counting,
    /// Fix what can be fixed of what differs from run to run and machine to machine: hash seeds, number of processors, time zone,
    /// language
    #[arg(long)]
    pub deterministic: bool,
    /// No summary; only why there is no profile, if there is none
    #[arg(short, long)]
    pub quiet: bool,
    /// The java command with its arguments; -- may stand before it
    #[arg(trailing_var_arg = true, required = true, value_name = "JAVA COMMAND")]
    pub command: Vec<OsString>,
}

/// What is counted, and how.
#[derive(Debug, Clone, Args)]
pub struct Counting {
    /// Distinguish contexts by call site, not by method alone
    #[arg(long)]
    pub sites: bool,
    /// Keep contexts down to N calls below the thread's first; deeper calls stand beside each other at that depth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(u32::MAX >> 1)), allow_negative_numbers = true)]
    pub depth: Option<u32>,
    /// Put a recursive call into the context of the outer call of that method
    #[arg(long)]
    pub fold_recursion: bool,
    /// Count only what runs in calls of this method; may be given several times
    #[arg(long, value_name = "CLASS.METHOD")]
    pub root: Vec<String>,
    /// Count only classes whose whole dotted name fits (* stands for anything); may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
    /// Do not count classes whose whole dotted name fits; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// How exactly bytecodes are counted where exceptions are thrown
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub bba: Option<Bba>,
    /// Most contexts to keep apart; of further ones there is one for each method, and their counts stay exact in total
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub max_nodes: Option<u32>,
    /// Most memory for contexts, as 512m or 2g
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<String>,
    /// The processor that reports show unless asked for another; its method cache is simulated unless --cache names others
    #[arg(long, value_name = "NAME|FILE")]
    pub target: Option<String>,
    /// Simulate this method cache, or several: 4k/16 or 1k/4+4k/16+lru:4k/16 (lru: ones take longer)
    #[arg(long, value_name = "CACHE[+CACHE…]")]
    pub cache: Option<String>,
    /// Whose the method caches are: each thread has its own, as on a core of its own, or all threads share them
    #[arg(long, value_name = "SCOPE", value_enum)]
    pub cache_scope: Option<CacheScope>,
}

/// Whose method caches are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheScope {
    /// Each thread has its own (the default)
    Thread,
    /// All threads share them
    Shared,
}

/// How exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Bba {
    /// To the bytecode that threw (the default)
    Precise,
    /// A block of bytecodes that was entered counts whole
    Block,
}

/// `cprof report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof report app.cprof                                   totals and the 25 methods that cost most
  cprof report app.cprof --sort total --top 50             by cost including what they call
  cprof report app.cprof --filter 'com.acme.*'             methods of one package
  cprof report app.cprof --tree --min-share 5              the calling contexts from 5 % up
  cprof report app.cprof --tree --root com.acme.Main.run   below one method
  cprof report app.cprof --threads                         cost by thread
  cprof report app.cprof --format csv > app.csv            every method, for other tools
  cprof report app.cprof --target jop --set rws=3          cycles on a processor (cprof targets lists them)
  cprof report app.cprof --tree --format json              every context, for other tools

PATTERN: * stands for any characters and the whole name must fit; without * any part of the name may.

Exit code: 0; 1 when the profile cannot be read or has no such method or thread; 2 for wrong options.")]
pub struct Report {
    /// Show calling contexts as a tree instead of methods
    #[arg(long)]
    pub tree: bool,
    /// Show threads instead of methods
    #[arg(long, conflicts_with = "tree")]
    pub threads: bool,
    /// List what was not covered, with the reasons
    #[arg(long, conflicts_with_all = ["tree", "threads", "root", "thread", "target", "cache", "set", "no_upcalls", "no_exceptions"])]
    pub coverage: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Of what
    #[command(flatten)]
    pub part: Part,
    /// Only methods whose Class.method fits; in a tree, with their callers
    #[arg(long, value_name = "PATTERN", value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["threads", "coverage"])]
    pub filter: Option<String>,
    /// What to order by [default: cost; contexts as csv and json: name]
    #[arg(long, value_name = "KEY", value_enum, conflicts_with = "coverage")]
    pub sort: Option<Sort>,
    /// How many rows to show; 0 is all [default: 25, for threads, csv and json all]
    #[arg(long, value_name = "N", value_parser = top, allow_negative_numbers = true, conflicts_with = "coverage")]
    pub top: Option<usize>,
    /// Hide contexts of the tree below so many percent of the total [default: 1; csv and json: 0]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, requires = "tree",
        conflicts_with_all = ["threads", "coverage"])]
    pub min_share: Option<f64>,
    /// Hide contexts of the tree deeper than so many calls
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "tree", conflicts_with_all = ["threads", "coverage"])]
    pub max_depth: Option<u32>,
    /// On which processor
    #[command(flatten)]
    pub on: OnTarget,
}

/// A profile, or a part of it.
#[derive(Debug, Args)]
pub struct Part {
    /// The profile
    pub file: PathBuf,
    /// Only contexts at and below this method (* allowed)
    #[arg(long, value_name = "CLASS.METHOD", value_parser = NonEmptyStringValueParser::new())]
    pub root: Option<String>,
    /// Only threads whose name fits
    #[arg(long, value_name = "PATTERN", value_parser = NonEmptyStringValueParser::new())]
    pub thread: Option<String>,
}

impl Part {
    /// Its name; none: the whole profile.
    pub fn named(&self) -> Option<String> {
        let given = [("root", &self.root), ("thread", &self.thread)];
        let named: Vec<String> = given.iter().filter_map(|(of, value)| Some(format!("{of}={}", value.as_ref()?))).collect();
        (!named.is_empty()).then(|| named.join(" "))
    }
}

/// How a processor is evaluated, whichever it is.
#[derive(Debug, Args, Default, Clone)]
pub struct Evaluating {
    /// Another value for a parameter of the model, as rws=3; may be given several times, for other parameters
    #[arg(long, value_name = "NAME=NUMBER", value_parser = setting)]
    pub set: Vec<(String, i64)>,
    /// Leave out what calls by the JVM and by native code (class initialisers, reflection) cost
    #[arg(long)]
    pub no_upcalls: bool,
    /// Leave out what bytecodes that throw cost
    #[arg(long)]
    pub no_exceptions: bool,
}

impl Evaluating {
    /// With a method cache.
    pub fn options(&self, cache: CacheSpec) -> Options {
        Options { cache: Some(cache), without_upcalls: self.no_upcalls, without_exceptions: self.no_exceptions }
    }

    /// A processor's name with what these change of it: `jop rws=3 no-exceptions`.
    pub fn named(&self, model: &Model) -> String {
        format!("{}{}", model.name(), self.settings())
    }

    fn settings(&self) -> String {
        let mut settings = settings(self.set.iter().map(|(name, value)| (name, value)));
        for (left_out, what) in [(self.no_upcalls, " no-upcalls"), (self.no_exceptions, " no-exceptions")] {
            settings.push_str(if left_out { what } else { "" });
        }
        settings
    }

    /// That they hold, for who names his processors elsewhere.
    pub fn note(&self) -> Option<String> {
        self.is_given().then(|| format!("costs are with{}, as the options say, where nothing else is said", self.settings()))
    }

    /// Whether any of these options is.
    pub fn is_given(&self) -> bool {
        !self.set.is_empty() || self.no_upcalls || self.no_exceptions
    }

    /// Refuses options that need a processor, of which there is none.
    pub fn refuse_without_processor(&self, caches: usize) -> Result<()> {
        if caches > 0 || self.is_given() {
            bail!(Usage(
                "--cache, --set, --no-upcalls and --no-exceptions belong to a processor; name one with --target (cprof targets lists them)"
                    .to_owned()
            ));
        }
        Ok(())
    }
}

/// A processor to evaluate on.
#[derive(Debug, Args, Default)]
#[command(next_help_heading = "Processor")]
pub struct OnTarget {
    /// Cycles on this processor, or allocations: a name from cprof targets, or a model's .toml file
    #[arg(long, value_name = "NAME|FILE")]
    pub target: Option<String>,
    /// Its method cache, as 4k/16, lru:4k/16@shared, ideal or none [default: the model's own, or, recorded for it with others, the
    /// first of these]
    #[arg(long, value_name = "CACHE")]
    pub cache: Option<CacheSpec>,
    /// How.
    #[command(flatten)]
    pub how: Evaluating,
}

/// Processors to evaluate on, for tools that show several numbers.
#[derive(Debug, Args, Default)]
#[command(next_help_heading = "Processors")]
pub struct Processors {
    /// Cycles on this processor, or allocations, too: a name from cprof targets, or a model's .toml file; may be given several times
    #[arg(long, value_name = "NAME|FILE")]
    pub target: Vec<String>,
    /// With this method cache; may be given several times [default: all that were simulated]
    #[arg(long, value_name = "CACHE")]
    pub cache: Vec<CacheSpec>,
    /// How.
    #[command(flatten)]
    pub how: Evaluating,
}

impl Processors {
    /// Whether any of these options is.
    pub fn are_given(&self) -> bool {
        !self.target.is_empty() || !self.cache.is_empty() || self.how.is_given()
    }
}

/// `cprof targets`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof targets                    the processors that come with cprof
  cprof targets show jop           what one costs, and where the numbers come from
  cprof targets check my.toml      what is wrong with a model of your own

Exit code: 0; 1 when a model's file cannot be read or is wrong; 2 for wrong options, the name of no model among them.")]
pub struct Targets {
    /// What about them
    #[command(subcommand)]
    pub command: Option<TargetsCommand>,
}

/// What about them.
#[derive(Debug, Subcommand)]
pub enum TargetsCommand {
    /// Show a model: parameters, costs, sources, gaps
    Show {
        /// A name from cprof targets, or a .toml file
        target: String,
        /// Another value for a parameter, as rws=3
        #[arg(long, value_name = "NAME=NUMBER", value_parser = setting)]
        set: Vec<(String, i64)>,
    },
    /// Check a model file
    Check {
        /// The .toml file
        file: String,
    },
}

/// `cprof explore`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof explore app.cprof                                    the recorded caches, ideal and none, on the recording's processor and JOP's variants
  cprof explore app.cprof --matrix design.toml               processors, caches and parameters of your choice
  cprof explore app.cprof --matrix design.toml --plot design.svg
  cprof explore app.cprof --root com.acme.Main.loop --format csv

A matrix is a TOML file: targets = [...], caches = [...], [set] with lists of values, [base] to compare with;
docs/cross-profiling.md describes it.

Exit code: 0; 1 when something cannot be read or a cache was not simulated; 2 for wrong options.")]
pub struct Explore {
    /// Which configurations
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Draw the speedups into this SVG file, too
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Of what
    #[command(flatten)]
    pub part: Part,
    /// Leave out what calls by the JVM and by native code cost
    #[arg(long)]
    pub no_upcalls: bool,
    /// Leave out what bytecodes that throw cost
    #[arg(long)]
    pub no_exceptions: bool,
}

/// Parameters as they follow a processor's name: ` rws=3 wws=4`.
pub fn settings<'a>(set: impl Iterator<Item = (&'a String, &'a i64)>) -> String {
    set.map(|(name, value)| format!(" {name}={value}")).collect()
}

/// `NAME=NUMBER`.
pub fn setting(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("it takes NAME=NUMBER, as rws=3")?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err("there is no name before the =; it takes NAME=NUMBER, as rws=3".to_owned());
    }
    let value = value.parse().map_err(|_| format!("{value:?} is no whole number of at most 64 bits"))?;
    Ok((name.to_owned(), value))
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// RFC 4180, with a header line
    Csv,
    /// One object
    Json,
}

/// Orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Sort {
    /// Cycles where the report is of a processor, allocations where it is of those, else bytecodes: of the method itself, in a tree of the context with everything it called
    #[default]
    Cost,
    /// The same with those of everything it called
    Total,
    /// Bytecodes executed in the method itself
    Bytecodes,
    /// The same with those of everything it called
    #[value(name = "bytecodes_total")]
    BytecodesTotal,
    /// Cycles of the method itself
    Cycles,
    /// The same with those of everything it called
    #[value(name = "cycles_total")]
    CyclesTotal,
    /// Calls
    Calls,
    /// Calls that ended with an exception
    #[value(alias = "exceptional_exits")]
    Exits,
    /// Class, method, descriptor
    Name,
}

impl Sort {
    /// Refuses cycles where there are none.
    pub fn refuse_without_processor(self) -> Result<()> {
        if let Sort::Cycles | Sort::CyclesTotal = self {
            bail!(Usage(
                "--sort cycles and cycles_total belong to a processor; name one with --target (cprof targets lists them)"
                    .to_owned()
            ));
        }
        Ok(())
    }
}

/// How many rows.
fn top(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it takes a number, 0 for all".into())
}

fn percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).parse::<f64>() {
        Ok(p) if (0.0..=100.0).contains(&p) => Ok(p),
        _ => Err("it takes a number from 0 to 100".into()),
    }
}
