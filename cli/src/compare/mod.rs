//! `cprof diff` and `cprof overlap`: two profiles beside each other.

mod diff;
mod notes;
mod overlap;
mod page;
mod rows;

pub use diff::diff;
pub use notes::{MODELS_DIFFER, all_doubts, cautions, cautions_of_contexts, doubts, doubts_of_two, recorded_differently};
pub use overlap::overlap;

use crate::args::{Processors, Two};
use crate::loaded::view::{Shape, View};
use crate::metrics::{self, Notes, TARGET_ADDS, columns, telling};
use crate::progress::Progress;
use anyhow::{Context, Result};
use cprof_compare::diff::{Comparison, Pair};
use cprof_compare::metric::{NoMetric, find};
use cprof_profile::metrics::{Metric, Sheet};
use cprof_profile::target::ModelFile;
use std::path::Path;

/// Two profiles, measured.
struct Loaded {
    views: [View; 2],
    metrics: [Vec<Metric>; 2],
    notes: [Notes; 2],
    /// Each is evaluated on the model it was recorded with, and these differ.
    models_differ: bool,
    /// Metrics that the second may be shown by, the one that says most first.
    telling: Vec<String>,
}

/// Whether two profiles are evaluated on two models, each on its own, as none was asked for: one of them a file, or both.
pub fn models_differ(before: &View, after: &View, on: &Processors) -> bool {
    let [before, after] = [before, after].map(|view| &view.profile.run);
    // A shipped model's text is in no profile.
    let one_is_shipped =
        || before.model.is_empty() != after.model.is_empty() && !before.target.is_empty() && !after.target.is_empty();
    let of_two_files = || !before.model.is_empty() && !after.model.is_empty() && !ModelFile::same(&before.model, &after.model);
    on.target.is_empty() && (one_is_shipped() || of_two_files())
}

impl Loaded {
    fn new(two: &Two, on: &Processors) -> Result<Loaded> {
        let [before, after] = two.parts();
        let load = |part| -> Result<(View, Vec<Metric>, Notes, Vec<String>)> {
            let (view, processors) = metrics::load(part, on, Path::new("-"), Shape::Tree { apart: false })?;
            let columns = columns(&view, &view.tree, &processors);
            Ok((view, columns, Notes::of(&processors), telling(&processors)))
        };
        let [(first, of_first, about_first, _), (second, of_second, about_second, telling)] = [load(&before)?, load(&after)?];
        let models_differ = models_differ(&first, &second, on);
        let (views, metrics, notes) = ([first, second], [of_first, of_second], [about_first, about_second]);
        Ok(Loaded { views, metrics, notes, models_differ, telling })
    }

    fn compare(&self) -> Comparison<'_> {
        let _progress = Progress::start(format!("comparing {} with {}", self.views[0].file, self.views[1].file));
        let sheet = |i: usize| {
            let view = &self.views[i];
            Sheet { profile: &view.profile, symbols: &view.symbols, tree: &view.tree, metrics: &self.metrics[i] }
        };
        Comparison::new(sheet(0), sheet(1))
    }

    /// The metric that `--metric` names; of all that both profiles have.
    fn named<'a>(&self, comparison: &Comparison<'a>, name: &str) -> Result<Pair<'a>> {
        let pairs = comparison.metrics();
        let found = find(pairs.iter().map(|p| p.before), name, TARGET_ADDS);
        let is_ambiguous = found.as_ref().is_err_and(NoMetric::is_ambiguous);
        let at = found.with_context(|| {
            if is_ambiguous {
                return format!("--metric {name}");
            }
            let only = comparison.other_metrics();
            let [before, after] = &self.views;
            let missing = |names: &[&str], view: &View| match names {
                [] => String::new(),
                names => format!("; only {} has {}", view.file, names.join(", ")),
            };
            format!("--metric {name} is none of both profiles{}{}", missing(&only[0], before), missing(&only[1], after))
        })?;
        Ok(pairs[at])
    }
}

/// A change with its sign.
fn signed(change: i128) -> String {
    let digits = cprof_profile::names::thousands(u64::try_from(change.unsigned_abs()).unwrap_or(u64::MAX));
    match change.signum() {
        1 => format!("+{digits}"),
        -1 => format!("-{digits}"),
        _ => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_for_people() {
        assert_eq!([12_500, -3, 0].map(signed), ["+12,500", "-3", "0"]);
    }
}
