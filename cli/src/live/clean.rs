//! `cprof clean`: what dead JVMs have left goes.

use super::which;
use crate::args::Clean;
use crate::output;
use anyhow::{Result, ensure};
use cprof_live::hotspot::exchange::sweep;
use cprof_live::process::own_user;
use cprof_live::recordings::{Found, Shelf, State, remove};
use cprof_profile::names::size;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// Removes what was asked for; without anything named, all that is left of this user's.
pub fn clean(args: &Clean) -> Result<()> {
    // All of them before any is removed.
    let named = args.what.iter().map(|what| which::found(what)).collect::<Result<Vec<_>>>()?;
    let mut done = Done::default();
    if args.what.is_empty() {
        let shelf = Shelf::here();
        // Unasked, what is alive or others' is passed over.
        for found in which::recordings(&shelf)? {
            if found.owner == own_user() && !matches!(found.state, State::Foreign(_)) && !found.may_be_beginning() {
                done.remove(&shelf, &found);
            }
        }
        match sweep(Path::new("/tmp")) {
            Ok(swept) => done.removed.extend(swept.iter().map(|directory| directory.display().to_string())),
            Err(error) => done.fail(format_args!("/tmp cannot be looked through for what attaching has left: {error}")),
        }
    }
    // One may be named twice.
    let mut seen = HashSet::new();
    for (what, (shelf, founds)) in args.what.iter().zip(&named) {
        let is_there = |path: &Path| path.exists() || path.is_symlink() || seen.contains(path);
        let there: Vec<&Found> = founds.iter().filter(|f| is_there(&f.path)).collect();
        if there.is_empty() {
            done.fail(format_args!("{}", which::no_recording(&what.to_string_lossy(), shelf)));
        }
        for found in there {
            if seen.insert(&*found.path) {
                done.remove(shelf, found);
            }
        }
    }
    done.tell()
}

/// What was removed, and what was not.
#[derive(Default)]
struct Done {
    removed: Vec<String>,
    failed: usize,
}

impl Done {
    /// Removes one.
    fn remove(&mut self, shelf: &Shelf, found: &Found) {
        let bytes = if let State::Left(recording) = &found.state { recording.size() } else { 0 };
        match remove(shelf, found) {
            Ok(()) => self.removed.push(format!("{} ({})", found.path.display(), size(bytes))),
            Err(error) => self.fail(format_args!("{error}")),
        }
    }

    fn fail(&mut self, why: fmt::Arguments<'_>) {
        output::tell(why);
        self.failed += 1;
    }

    /// Prints it, now that nothing is left to do: whoever reads it may have gone.
    fn tell(self) -> Result<()> {
        let mut out = io::stdout().lock();
        let printed = self.removed.iter().try_for_each(|one| writeln!(out, "removed {one}"));
        ensure!(self.failed == 0, "{} could not be removed", self.failed);
        Ok(printed?)
    }
}
