//! `cprof snapshot`: a profile of a running JVM, which does not notice.

use super::attach::{exact_snapshot, started};
use super::{contexts, out_path, warn, which, wrote};
use crate::args::Snapshot;
use crate::output::{self, tell};
use anyhow::Result;
use cprof_live::take;
use cprof_profile::model::Taken;
use cprof_profile::names::size;
use std::path::Path;

/// Writes it.
pub fn snapshot(args: &Snapshot) -> Result<()> {
    output::spares_terminal(Path::new(&args.out), "a profile", "now.cprof")?;
    if args.exact {
        let out = out_path(&args.out, args.pid, started(args.pid));
        let taken = exact_snapshot(args.pid, args.agent.as_deref(), &out)?;
        if !args.quiet {
            tell(format_args!("{taken}"));
        }
        return Ok(());
    }
    let recording = which::recorded(args.pid)?;
    let profile = take::read(&recording)?.profile(Taken::Running)?;
    // As the agent names it, but for the process, which has another id in a container.
    let started_ms = recording.started_ms().unwrap_or(profile.run.started_ms);
    let out = out_path(&args.out, args.pid, started_ms);
    let bytes = output::write_profile(&out, &profile)?;
    if args.quiet {
        // What there is to warn of is in the profile too.
        return Ok(());
    }
    warn(&profile.warnings);
    tell(format_args!("{}", wrote(&out, &format!("{}, {}", size(bytes), contexts(&profile)))));
    Ok(())
}
