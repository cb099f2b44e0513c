//! Removing what dead processes have left.

use super::open::private_directory;
use super::{Found, OpenError, Shelf, State};
use crate::process::{own_user, user_name};
use cprof_profile::recording::files::{ARENA, CLASS_LOG};
use rustix::fs::{AtFlags, Mode, OFlags, open, unlinkat};
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A directory that was not removed.
#[derive(Debug, Error)]
pub enum CleanError {
    /// Its process lives.
    #[error("{0} is in use by process {1}; end the process, or cprof detach {1}")]
    InUse(PathBuf, u32),
    /// Not a recording of this user's.
    #[error("{0}")]
    Foreign(String),
    /// It cannot be removed.
    #[error("cannot remove {path}: {error}")]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Removes a dead process's recording. Everything is named relative to directories that are open, so that a link put in the way
/// meanwhile is not followed; files that cprof did not make keep the directory from being removed.
pub fn remove(shelf: &Shelf, found: &Found) -> Result<(), CleanError> {
    let path = found.path.clone();
    if let State::Foreign(error) = &found.state {
        return Err(CleanError::Foreign(error.to_string()));
    }
    if found.may_be_beginning() {
        return Err(CleanError::InUse(path, found.name.pid));
    }
    let (directory, owner) = match private_directory(&path) {
        Ok(private) => private,
        // Somebody else has removed it, or its process at its end.
        Err(OpenError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CleanError::Foreign(error.to_string())),
    };
    if owner != own_user() {
        let (path, owner) = (path.display(), user_name(owner));
        return Err(CleanError::Foreign(format!("{path} belongs to {owner}, who may remove it")));
    }
    let fail = |path: PathBuf| move |e: Errno| CleanError::Io { path, error: e.into() };
    for name in [ARENA, CLASS_LOG] {
        match unlinkat(&directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(e) => return Err(fail(path.join(name))(e)),
        }
    }
    let above = open(shelf.path(), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let above = above.map_err(fail(shelf.path().to_owned()))?;
    match unlinkat(&above, found.name.to_string(), AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(fail(path)(error)),
    }
}
