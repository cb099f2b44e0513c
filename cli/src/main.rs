//! The `cprof` command.

// It panics when nobody reads: `output::tell` does not.
#![deny(clippy::print_stderr)]

mod agent;
mod annotate;
mod args;
mod check;
mod compare;
mod date;
mod explore;
mod export;
mod histogram;
mod launch;
mod live;
mod loaded;
mod markdown;
mod merge;
mod metrics;
mod output;
mod parquet;
mod progress;
mod report;
mod signals;
mod stack_size;
mod style;
mod table;
mod targets;
mod usage;
mod views;

use args::{Cli, Command};
use clap::Parser;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use std::io;
use std::process::ExitCode;
use usage::Usage;

fn main() -> ExitCode {
    signals::outlive_full_files();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(said) => return tell_usage(&without_escape(said)),
    };
    let done = match cli.command {
        Command::Run(run) => launch::run(&run),
        Command::Explore(explore) => explore::explore(&explore).map(|()| ExitCode::SUCCESS),
        Command::Merge(merge) => merge::merge(&merge).map(|()| ExitCode::SUCCESS),
        Command::Targets(targets) => targets::targets(&targets).map(|()| ExitCode::SUCCESS),
        Command::Export(export) => export::export(&export).map(|()| ExitCode::SUCCESS),
        Command::Report(report) => report::report(&report).map(|()| ExitCode::SUCCESS),
        Command::Diff(diff) => compare::diff(&diff).map(|()| ExitCode::SUCCESS),
        Command::Overlap(overlap) => compare::overlap(&overlap).map(|()| ExitCode::SUCCESS),
        Command::Check(check) => return check::check(&check),
        Command::Annotate(annotate) => annotate::annotate(&annotate).map(|()| ExitCode::SUCCESS),
        Command::Histogram(histogram) => histogram::histogram(&histogram).map(|()| ExitCode::SUCCESS),
        Command::Flamegraph(flamegraph) => views::flamegraph(&flamegraph).map(|()| ExitCode::SUCCESS),
        Command::Html(html) => views::html(&html).map(|()| ExitCode::SUCCESS),
        Command::List(list) => live::list(&list).map(|()| ExitCode::SUCCESS),
        Command::Attach(attach) => live::attach(&attach).map(|()| ExitCode::SUCCESS),
        Command::Detach(detach) => live::detach(&detach).map(|()| ExitCode::SUCCESS),
        Command::Snapshot(snapshot) => live::snapshot(&snapshot).map(|()| ExitCode::SUCCESS),
        Command::Top(top) => live::top(&top).map(|()| ExitCode::SUCCESS),
        Command::Recover(recover) => live::recover(&recover).map(|()| ExitCode::SUCCESS),
        Command::Clean(clean) => live::clean(&clean).map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(code) => code,
        // Whoever reads our output has seen enough (`cprof report … | head`).
        Err(e) if e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(e) => {
            // What is written to a file says so; standard output has no name.
            let bare = e.chain().len() == 1 && e.downcast_ref::<io::Error>().is_some();
            output::tell(format_args!("{}{e:#}", if bare { UNWRITABLE } else { "" }));
            if e.is::<Usage>() { ExitCode::from(usage::CODE) } else { ExitCode::FAILURE }
        }
    }
}

const UNWRITABLE: &str = "standard output cannot be written: ";

/// Without the parser's tip to put `--` before an unknown option: a value that looks like one is none here but for a file called so,
/// which `./` before its name does for, too.
fn without_escape(mut said: clap::Error) -> clap::Error {
    if let Some(ContextValue::StyledStrs(tips)) = said.remove(ContextKind::Suggested) {
        let tips: Vec<StyledStr> = tips.into_iter().filter(|tip| !tip.to_string().contains(" as a value, use '-- ")).collect();
        if !tips.is_empty() {
            said.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    said
}

/// Help, the version, or what is wrong with the options.
fn tell_usage(said: &clap::Error) -> ExitCode {
    match said.print() {
        Err(e) if !said.use_stderr() && e.kind() != io::ErrorKind::BrokenPipe => {
            output::tell(format_args!("{UNWRITABLE}{e}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::from(u8::try_from(said.exit_code()).unwrap_or(usage::CODE)),
    }
}
