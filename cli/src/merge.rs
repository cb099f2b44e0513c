//! `cprof merge`: many profiles made one.

use crate::args::Merge;
use crate::live::{contexts, size};
use crate::output;
use crate::progress::Progress;
use crate::style::Style;
use crate::usage::Usage;
use anyhow::{Result, bail};
use cprof_profile::file;
use cprof_profile::merge::Merger;
use cprof_profile::model::Run;
use cprof_profile::names::counted;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

/// Reads one profile after the other, adds them up, and writes the sum.
pub fn merge(args: &Merge) -> Result<()> {
    if let Some(same) = file::same(&args.out, &args.files) {
        bail!(Usage(format!(
            "{} is one of the profiles to merge and the one to write: its counts would be in there twice the next time. Name another file with -o, or leave it out",
            same.display()
        )));
    }
    output::spares_terminal(&args.out, "a profile", "all.cprof")?;
    let progress = Progress::start(format!("merging {} profiles", args.files.len()));
    let mut merger = Merger::default();
    for (i, path) in args.files.iter().enumerate() {
        progress.reached(i as f64 / args.files.len() as f64);
        merger.add(file::read(path)?, &path.display().to_string())?;
    }
    let merged = merger.finish();
    let bytes = output::write_profile(&args.out, &merged.profile)?;
    drop(progress);
    let style = Style::of(&io::stderr());
    for note in merged.notes.iter().chain(&twice(&merged.profile.runs)) {
        output::tell(format_args!("{}", style.warning(note)));
    }
    if !args.quiet {
        let runs = counted(merged.profile.runs.len() as u64, "run", "runs");
        let contexts = contexts(&merged.profile);
        let out = if output::is_standard(&args.out) { "standard output".into() } else { args.out.display().to_string() };
        let what = format!("{runs} into {out} ({}, {contexts})", size(bytes));
        let show = output::shown_with(&args.out);
        output::tell(format_args!("merged {what}{show}"));
    }
    Ok(())
}

/// Says which runs are in there several times: that may be meant, and may be two names of one file. Snapshots of one run, which end
/// at different times, have its counts from its start.
fn twice(runs: &[Run]) -> Option<String> {
    let mut ends = BTreeMap::new();
    let (mut again, mut snapshots) = (Vec::new(), false);
    for run in runs {
        match ends.entry((run.facts.started_ms, run.facts.pid, &run.facts.command_line)) {
            Entry::Vacant(entry) => {
                entry.insert(run.facts.ended_ms);
            }
            Entry::Occupied(first) => {
                again.push(run);
                snapshots |= *first.get() != run.facts.ended_ms;
            }
        }
    }
    let first = again.first()?;
    let snapshots = if snapshots { "; snapshots count from the start of the run" } else { "" };
    Some(format!(
        "{} of the {} runs {} there more than once, {} among them: their counts are, too{snapshots}",
        again.len(),
        runs.len(),
        if again.len() == 1 { "is" } else { "are" },
        first.file
    ))
}
