//! `cprof snapshot`: a profile of a running JVM, which does not notice.

use super::attach::{exact_snapshot, of_recording};
use super::{out_path, size, which};
use crate::args::Snapshot;
use crate::style::Style;
use anyhow::Result;
use cprof_live::take;
use cprof_profile::file;
use cprof_profile::model::Taken;
use cprof_profile::names::thousands;
use std::io::{self, Write};

/// Writes it.
pub fn snapshot(args: &Snapshot) -> Result<()> {
    if args.exact {
        let out = out_path(&args.out, &of_recording(args.pid));
        let bytes = exact_snapshot(args.pid, args.agent.as_deref(), &out)?;
        if !args.quiet {
            eprintln!("cprof: wrote {} ({}); show it with: cprof report {0}", out.display(), size(bytes));
        }
        return Ok(());
    }
    let recording = which::recorded(args.pid)?;
    let profile = take::read(&recording)?.profile(Taken::Running)?;
    let out = out_path(&args.out, &profile.run);
    let bytes = file::write(&out, &profile)?;
    if args.quiet {
        // What there is to warn of is in the profile too.
        return Ok(());
    }
    let mut err = io::stderr().lock();
    let style = Style::of(&err);
    for warning in &profile.warnings {
        writeln!(err, "cprof: {}", style.warning(warning))?;
    }
    let (out, contexts) = (out.display(), thousands(profile.nodes.len() as u64));
    writeln!(err, "cprof: wrote {out} ({}, {contexts} contexts); show it with: cprof report {out}", size(bytes))?;
    Ok(())
}
