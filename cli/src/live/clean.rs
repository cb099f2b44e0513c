//! `cprof clean`: what dead JVMs have left goes.

use super::{size, which};
use crate::args::Clean;
use crate::output;
use anyhow::{Result, bail};
use cprof_live::hotspot::exchange::sweep;
use cprof_live::recordings::{Found, Shelf, State, remove};
use std::io::{self, Write};
use std::path::Path;

/// Removes what was asked for; without anything named, all that is left.
pub fn clean(args: &Clean) -> Result<()> {
    // All of them before any is removed.
    let named = args.what.iter().map(|what| which::found(what)).collect::<Result<Vec<_>>>()?;
    let mut failed = 0;
    let mut out = io::stdout().lock();
    if args.what.is_empty() {
        let shelf = Shelf::here();
        // Unasked, what is alive or foreign is passed over.
        for found in which::recordings(&shelf)? {
            if !matches!(found.state, State::Foreign(_)) && !found.may_be_beginning() {
                failed += u32::from(!one(&shelf, &found, &mut out)?);
            }
        }
        for directory in sweep(Path::new("/tmp"))? {
            writeln!(out, "removed {}", directory.display())?;
        }
    }
    for (what, (shelf, founds)) in args.what.iter().zip(named) {
        if founds.is_empty() || founds.iter().all(|f| !f.path.exists() && !f.path.is_symlink()) {
            output::tell(format_args!("{} has left no recording; cprof list --stale shows what there is", what.display()));
            failed += 1;
            continue;
        }
        for found in founds {
            failed += u32::from(!one(&shelf, &found, &mut out)?);
        }
    }
    if failed > 0 {
        bail!("{failed} could not be removed");
    }
    Ok(())
}

/// Removes one; false, with a message, when that cannot be.
fn one(shelf: &Shelf, found: &Found, out: &mut dyn Write) -> Result<bool> {
    let bytes = if let State::Left(recording) = &found.state { recording.size() } else { 0 };
    match remove(shelf, found) {
        Ok(()) => writeln!(out, "removed {} ({})", found.path.display(), size(bytes))?,
        Err(error) => {
            output::tell(format_args!("{error}"));
            return Ok(false);
        }
    }
    Ok(true)
}
