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

use crate::output::{self, tell};
use crate::style::Style;
use cprof_profile::model::Profile;
use cprof_profile::{names, options};
use std::io;
use std::path::{Path, PathBuf};

/// The file to write: `-` is standard output; in others `%p` is the process, `%t` the start of its recording.
fn out_path(pattern: &str, pid: u32, started_ms: u64) -> PathBuf {
    options::out_path(Path::new(pattern), pid, started_ms / 1000)
}

/// `wrote app.cprof (3.1 MB); show it with: cprof report app.cprof`, with what there is to say of the size.
fn wrote(out: &Path, size: &str) -> String {
    match output::is_standard(out) {
        true => format!("wrote it to standard output ({size})"),
        false => format!("wrote {} ({size}){}", out.display(), output::shown_with(out)),
    }
}

/// How many contexts a profile has, tree by tree.
pub fn contexts(profile: &Profile) -> String {
    names::contexts(profile.contexts() as u64, profile.threads.len())
}

/// Says what a profile warns of.
fn warn(warnings: &[String]) {
    let style = Style::of(&io::stderr());
    warnings.iter().for_each(|warning| tell(format_args!("{}", style.warning(warning))));
}

/// What a process that has ended has counted and left here, if it could not write its profile.
pub fn left_by(pid: u32) -> Option<PathBuf> {
    if !which::left_counts(pid) {
        return None;
    }
    which::left(&pid.to_string()).ok().map(|recording| recording.path().to_owned())
}
