//! By thread.

use super::{Totals, totals};
use crate::model::Profile;
use crate::tree::{Symbols, Tree};
use std::collections::BTreeMap;

/// Threads of one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRow {
    /// The threads' name; see [`crate::model::Thread::label`].
    pub label: String,
    /// How many threads.
    pub threads: u64,
    /// Sums over their contexts.
    pub totals: Totals,
}

/// The positions of the threads chosen, label by label.
pub fn labels(profile: &Profile, chosen: impl Fn(usize) -> bool) -> BTreeMap<String, Vec<usize>> {
    let mut labels: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (t, thread) in profile.threads.iter().enumerate().filter(|&(t, _)| chosen(t)) {
        labels.entry(thread.label()).or_default().push(t);
    }
    labels
}

/// One row per label of the threads chosen, in order of label. `tree` makes the tree of some threads, given by a test of their
/// positions.
pub fn by_thread(
    profile: &Profile,
    symbols: &Symbols,
    chosen: impl Fn(usize) -> bool,
    tree: impl Fn(&dyn Fn(usize) -> bool) -> Tree,
) -> Vec<ThreadRow> {
    let row = |(label, members): (String, Vec<usize>)| ThreadRow {
        label,
        threads: members.iter().map(|&t| u64::from(profile.threads[t].leases)).sum(),
        totals: totals(&tree(&|t| members.binary_search(&t).is_ok()), symbols),
    };
    labels(profile, chosen).into_iter().map(row).collect()
}
