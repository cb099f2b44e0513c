//! `cprof merge`: many profiles made one.

use crate::args::Merge;
use crate::live::contexts;
use crate::output;
use crate::progress::Progress;
use crate::style::Style;
use crate::usage::Usage;
use anyhow::{Result, bail};
use cprof_profile::file;
use cprof_profile::merge::{Merger, repeated};
use cprof_profile::names::{counted, size};
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
    for note in merged.notes.iter().chain(&repeated(&merged.profile.runs)) {
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
