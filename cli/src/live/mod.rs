//! Commands for running JVMs, and for what dead ones have left.

mod attach;
mod clean;
mod list;
mod recover;
mod snapshot;
mod top;
mod which;

pub use attach::{attach, detach};
pub use clean::clean;
pub use list::list;
pub use recover::recover;
pub use snapshot::snapshot;
pub use top::top;

use cprof_profile::model::RunFacts;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The file to write: `%p` is the process, `%t` the start of its recording in seconds since 1970, `%%` a percent sign.
fn out_path(pattern: &str, run: &RunFacts) -> PathBuf {
    let mut path = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('%', Some('p')) => path.push_str(&run.pid.to_string()),
            ('%', Some('t')) => path.push_str(&(run.started_ms / 1000).to_string()),
            ('%', Some('%')) => path.push('%'),
            _ => {
                path.push(c);
                continue;
            }
        }
        chars.next();
    }
    PathBuf::from(path)
}

/// What a process that has ended has left here, if it could not write its profile.
pub fn left_by(pid: u32) -> Option<PathBuf> {
    which::left(&pid.to_string()).ok().map(|recording| recording.path().to_owned())
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

/// A size in bytes for people.
pub fn size(bytes: u64) -> String {
    const MB: f64 = (1 << 20) as f64;
    if bytes < 1 << 20 { format!("{} KB", bytes.div_ceil(1024)) } else { format!("{:.1} MB", bytes as f64 / MB) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_in_file_names() {
        let run = RunFacts { pid: 7, started_ms: 11_999, ..RunFacts::default() };
        assert_eq!(out_path("a-%p-%t-%%p-%x%", &run), PathBuf::from("a-7-11-%p-%x%"));
    }
}
