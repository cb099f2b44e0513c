//! A profile of a recording, without the process's help.

use crate::recordings::Recording;
use cprof_instrument::abi::{self, flags};
use cprof_profile::model::{Profile, RunFacts, Taken, now_ms};
use cprof_profile::options::simulation;
use cprof_profile::recording::{self, Capture, CaptureError, Log, Origin, OriginError};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A recording that cannot be read.
#[derive(Debug, Error)]
pub enum TakeError {
    /// Its files cannot be read.
    #[error("cannot read the recording {path}: {error}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The process has made its files and not filled them yet.
    #[error("the recording {path} is just beginning, and nothing is counted yet; try again in a moment")]
    Beginning {
        /// The directory.
        path: PathBuf,
    },
    /// Its arena cannot be used.
    #[error("cannot use the recording {path}: {error}{}", written_by.as_ref().map(|by| format!(", cprof {by}")).unwrap_or_default())]
    Arena {
        /// The directory.
        path: PathBuf,
        /// Why.
        error: CaptureError,
        /// If another version of cprof wrote it: which, as its class log says.
        written_by: Option<String>,
    },
    /// Its class log cannot be used.
    #[error("cannot use the recording {path}: {error}")]
    ClassLog {
        /// The directory.
        path: PathBuf,
        /// Why.
        error: OriginError,
    },
}

/// The counts of a recording at one moment, and the class log that names what they are of.
#[derive(Debug)]
pub struct Reading {
    path: PathBuf,
    capture: Capture,
    log: Vec<u8>,
    recorded: bool,
}

/// Reads the counts and then the class log, in this order: a class is in the log before its code can run.
pub fn read(recording: &Recording) -> Result<Reading, TakeError> {
    let path = recording.path().to_owned();
    let fail = |error| TakeError::Io { path: path.clone(), error };
    let arena = recording.arena().map_err(fail)?;
    let recorded = recording.is_recorded();
    // Nobody outside the process knows its stacks.
    let mut capture = recording::capture(&arena, &[]).map_err(|error| match error {
        // Its first word is written last.
        CaptureError::Magic { found: 0 } | CaptureError::Short { len: 0 } if recorded => {
            TakeError::Beginning { path: path.clone() }
        }
        error => {
            let log = matches!(error, CaptureError::Version { .. }).then(|| recording.beginning().ok()).flatten();
            let written_by = log.and_then(|log| Origin::written_by(&Log::read(&log)));
            TakeError::Arena { path: path.clone(), error, written_by }
        }
    })?;
    let log = recording.log().map_err(fail)?;
    let kept_back = recording.kept_back().map_err(fail)?;
    for (bit, missing) in [
        (flags::LOG_PRIVATE, "classes that the JVM kept in memory of its own are missing, with their contexts"),
        (flags::PRIVATE, "contexts that the JVM kept in memory of its own are missing"),
    ] {
        if kept_back & bit != 0 {
            // Before what follows from it.
            capture.warnings.insert(0, format!("shared memory was full: {missing}"));
        }
    }
    Ok(Reading { path, capture, log, recorded })
}

/// Who records, without the counts.
pub fn origin(recording: &Recording) -> Result<Origin, TakeError> {
    let path = recording.path();
    let log = recording.beginning().map_err(|error| TakeError::Io { path: path.to_owned(), error })?;
    origin_in(&log, path, recording.is_recorded())
}

/// Who recorded, by the beginning of the class log.
fn origin_in(log: &[u8], path: &Path, recorded: bool) -> Result<Origin, TakeError> {
    let path = || path.to_owned();
    Origin::of(&Log::read(log)).map_err(|error| match error {
        OriginError::Missing if recorded && log.is_empty() => TakeError::Beginning { path: path() },
        error => TakeError::ClassLog { path: path(), error },
    })
}

impl Reading {
    /// Whether anything was counted.
    pub fn has_counts(&self) -> bool {
        !self.capture.trees.is_empty() || self.capture.lost_calls > 0
    }

    /// The counts, and the class log's bytes.
    pub fn into_parts(self) -> (Capture, Vec<u8>) {
        (self.capture, self.log)
    }

    /// Who recorded.
    pub fn origin(&self) -> Result<Origin, TakeError> {
        origin_in(&self.log, &self.path, self.recorded)
    }

    /// The profile.
    pub fn profile(self, taken: Taken) -> Result<Profile, TakeError> {
        let origin = self.origin()?;
        let log = Log::read(&self.log);
        // Nobody knows when a killed process died.
        let ended_ms = if taken == Taken::Killed { 0 } else { now_ms() };
        let run = RunFacts { taken, ended_ms, ..origin.run };
        let logged = simulation(&self.capture.caches) == abi::caches::LOGGED;
        let mut profile = recording::assemble(self.capture, &log, run);
        profile.warnings.extend(log.unattended.iter().map(|w| (*w).to_owned()));
        if logged {
            profile.warnings.push(format!(
                "misses of method caches are too few by those among the last {} lookups of each thread, which only the JVM could simulate",
                abi::event::LOG_SIZE / 8
            ));
        }
        Ok(profile)
    }
}
