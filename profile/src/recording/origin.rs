//! Who made a recording: the first record of its class log.
//!
//! What only the recording process could tell must be in the recording from the beginning, as the process may be killed.

use super::log::Log;
use crate::model::RunFacts;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Version of the class log: of its records and of what they mean, which edges of a method have counters
/// (`cprof_instrument::plan`) included. (The arena has `abi::LAYOUT_VERSION`.)
pub const LOG_VERSION: u32 = 2;

/// Who made a recording.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// [`LOG_VERSION`] of the writer.
    pub log_version: u32,
    /// When the process began ([`proc::start`](crate::proc::start); 0: unknown): with the process id, it tells the process from later ones of the
    /// same id.
    pub process_start: u64,
    /// The run, but for its end.
    pub run: RunFacts,
}

/// A class log that cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum OriginError {
    /// Its first record is missing or damaged.
    #[error("its class log has no beginning: the JVM ended before it counted anything, or the log is damaged")]
    Missing,
    /// Written by another version of cprof.
    #[error("its class log has version {found}, this cprof reads {LOG_VERSION}; use cprof {written_by}, which recorded it")]
    Version {
        /// The version found.
        found: u32,
        /// Version of the cprof that wrote it.
        written_by: String,
    },
}

impl Origin {
    /// As the text of a record.
    pub fn to_json(&self) -> String {
        // Maps with other keys than texts and failing writers are all that serde_json can fail on; here are neither.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The origin of a log of this version.
    pub fn of(log: &Log<'_>) -> Result<Origin, OriginError> {
        let origin = Origin::of_any_version(log).ok_or(OriginError::Missing)?;
        if origin.log_version != LOG_VERSION {
            return Err(OriginError::Version { found: origin.log_version, written_by: origin.run.cprof_version });
        }
        Ok(origin)
    }

    /// Which version of cprof wrote a log, as far as it can be read.
    pub fn written_by(log: &Log<'_>) -> Option<String> {
        Some(Origin::of_any_version(log)?.run.cprof_version)
    }

    fn of_any_version(log: &Log<'_>) -> Option<Origin> {
        serde_json::from_str(log.origin?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::log::{Entry, encode};

    fn read(json: &str) -> Result<Origin, OriginError> {
        let mut bytes = Vec::new();
        encode(&Entry::Origin(json), &mut bytes);
        Origin::of(&Log::read(&bytes))
    }

    #[test]
    fn what_was_written_is_read_and_other_versions_are_refused() {
        let run = RunFacts { pid: 7, cprof_version: "9.9".into(), ..RunFacts::default() };
        let origin = Origin { log_version: LOG_VERSION, process_start: 11, run };
        assert_eq!(read(&origin.to_json()), Ok(origin.clone()));
        let later = Origin { log_version: LOG_VERSION + 1, ..origin };
        let mut bytes = Vec::new();
        encode(&Entry::Origin(&later.to_json()), &mut bytes);
        assert_eq!(Origin::written_by(&Log::read(&bytes)), Some("9.9".into()));
        assert_eq!(read(&later.to_json()), Err(OriginError::Version { found: LOG_VERSION + 1, written_by: "9.9".into() }));
        assert_eq!(read("7"), Err(OriginError::Missing));
        assert_eq!(Origin::of(&Log::read(&[])), Err(OriginError::Missing));
    }
}
