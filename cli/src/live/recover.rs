//! `cprof recover`: the profile of a JVM that could not write it.

use super::{out_path, warn, which, wrote};
use crate::args::Recover;
use crate::output::{self, tell};
use anyhow::{Context, Result, ensure};
use cprof_live::process::own_user;
use cprof_live::take;
use cprof_profile::integrity::{self, Integrity};
use cprof_profile::model::Taken;
use cprof_profile::names::{argument, contexts, size, thousands};
use cprof_profile::{file, model};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// More frames than the largest stacks have, of some GB: each may put its context's counts off by one.
const MOST_ACTIVE: u64 = 1 << 31;

/// Writes it, checks it, and says what it is worth.
pub fn recover(args: &Recover) -> Result<()> {
    output::spares_terminal(Path::new(&args.out), "a profile", "app.cprof")?;
    let recording = which::left(&args.what)?;
    let profile = take::read(&recording)?.profile(Taken::Killed)?;
    // As the agent names it.
    let started_ms = recording.started_ms().unwrap_or(profile.run.started_ms);
    let out = out_path(&args.out, profile.run.pid, started_ms);
    // Before anything takes the place of what may be a good profile.
    let kept =
        || if output::is_standard(&out) { "nothing was written".into() } else { format!("{} was not written", out.display()) };
    let found = integrity::check(&profile)
        .with_context(|| format!("what is in {} cannot be evaluated; {}", recording.path().display(), kept()))?;
    warn(&profile.warnings);
    ensure!(
        found.contexts > 0,
        "nothing could be recovered from {}: the JVM ended before it counted anything, or the recording is damaged; {}",
        recording.path().display(),
        kept()
    );
    let bytes = output::write_profile(&out, &profile)?;
    // What was written is read as any reader will; from a pipe or a device it is not to be had back.
    let read = (!output::is_standard(&out) && out.is_file()).then(|| file::read(&out)).transpose()?;
    ensure!(
        read.is_none_or(|read| read == profile),
        "{} does not read back as it was written; is the disk in order?",
        out.display()
    );
    if !args.quiet {
        let directory = recording.path().display();
        tell(format_args!("{}", wrote(&out, &size(bytes))));
        tell(format_args!("{}", verdict(&found, &profile)));
        // Removing another's is refused, root included: it may be in use where this command does not see it.
        match recording.path().metadata().map(|of| of.uid()) {
            Ok(owner) if owner != own_user() => {
                tell(format_args!("the recording stays in {directory}; it is its owner's to remove"))
            }
            _ => tell(format_args!(
                "the recording stays in {directory}; remove it with: cprof clean {}",
                argument(&directory.to_string())
            )),
        }
    }
    Ok(())
}

/// The check's result for people.
fn verdict(found: &Integrity, profile: &model::Profile) -> String {
    let contexts = contexts(found.contexts as u64, profile.threads.len());
    if found.contradictory == 0 {
        return format!("checked: the counts of {contexts} agree with each other");
    }
    let (contradictory, worst) = (thousands(found.contradictory as u64), thousands(found.worst.unsigned_abs()));
    if found.worst.unsigned_abs() > MOST_ACTIVE {
        return format!(
            "checked: the counts of {contexts} agree with each other, but for {contradictory} whose counts contradict each other by {worst} at most, \
             as no method that was active explains: the recording is damaged, and numbers with those in them are wrong"
        );
    }
    format!(
        "checked: the counts of {contexts} agree with each other, but for {contradictory} that were active when the JVM died (off by {worst} at \
         most)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_active_method_explains_is_damage() {
        let said =
            |contradictory, worst| verdict(&Integrity { contexts: 2000, contradictory, worst }, &model::Profile::default());
        assert!(said(0, 0).ends_with("agree with each other"));
        assert!(said(3, -2).ends_with("but for 3 that were active when the JVM died (off by 2 at most)"));
        assert!(said(3, -68_961_369_294_110_698).ends_with("the recording is damaged, and numbers with those in them are wrong"));
    }
}
