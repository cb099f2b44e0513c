//! Messages that name the file, what was found, and the way out.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A profile that cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It cannot be opened or read.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is something else.
    #[error("{path} is not a cprof profile: {found}. A profile is what `cprof run` or the agent's out= wrote")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        found: String,
    },
    /// Its end is missing.
    #[error(
        "{path} is cut short: it begins as a profile, but after {bytes} bytes its directory is missing. Copy it again, or record again"
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// Another version of the format.
    #[error(
        "{path} is a profile of format version {found}, this cprof reads version {reads}. Use cprof {written_by}, which wrote it"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        reads: u32,
        /// The version of cprof that wrote it.
        written_by: String,
    },
    /// It uses something that this version does not know.
    #[error("{path} needs a cprof that understands: {}. Use cprof {written_by}, which wrote it, or a later one", needs.join(", "))]
    Needs {
        /// The file.
        path: PathBuf,
        /// What is not understood.
        needs: Vec<String>,
        /// The version of cprof that wrote it.
        written_by: String,
    },
    /// Its parts contradict each other.
    #[error("{path} is damaged: {what}. Copy it again, or record again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        what: String,
    },
}

/// A profile that cannot be written.
#[derive(Debug, Error)]
#[error("cannot write the profile {path}: {error}; {way_out}")]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
    /// What to do.
    pub way_out: &'static str,
}

impl WriteError {
    pub(super) fn new(path: PathBuf, error: io::Error) -> WriteError {
        let way_out = way_out(&error);
        WriteError { path, error, way_out }
    }
}

/// What to do about a file that cannot be written.
pub fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space, or name a file on another disk",
        io::ErrorKind::NotFound => "create the directory, or name another file",
        io::ErrorKind::FileTooLarge => "let the process have larger files (ulimit -f)",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "name a file in a writable directory",
        _ => "name another file",
    }
}
