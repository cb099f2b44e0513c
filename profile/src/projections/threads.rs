//! By thread.

use super::Totals;
use crate::model::Profile;
use crate::tree::{Symbols, Tree, What};
use rustc_hash::FxHashSet;
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

/// One row per label of the threads chosen, in order of label. `tree`: their contexts, threads of different labels apart.
///
/// # Panics
/// The tree is of other threads.
pub fn by_thread(profile: &Profile, symbols: &Symbols, chosen: impl Fn(usize) -> bool, tree: &Tree) -> Vec<ThreadRow> {
    let leases = |members: Vec<usize>| members.iter().map(|&t| u64::from(profile.threads[t].leases)).sum();
    let row = |(label, members)| ThreadRow { label, threads: leases(members), totals: Totals::default() };
    let mut rows: Vec<ThreadRow> = labels(profile, chosen).into_iter().map(row).collect();
    let row_of = |label: &String| rows.binary_search_by(|row| row.label.cmp(label)).expect("a label of theirs");
    let row_of: Vec<usize> = tree.threads.iter().map(|(_, label)| row_of(label)).collect();
    let thread_of = tree.thread_of();
    // The last thread that was seen in a method, and all of them: they mostly come one after the other.
    let mut last = vec![usize::MAX; symbols.list.len()];
    let mut seen = FxHashSet::default();
    for (i, context) in tree.contexts().enumerate() {
        let What::Method(symbol) = context.what else { continue };
        let row = row_of[thread_of[i] as usize];
        let first = std::mem::replace(&mut last[symbol as usize], row) != row && seen.insert((row, symbol));
        rows[row].totals.add(tree, i as u32, &symbols.list[symbol as usize], first);
    }
    rows
}
