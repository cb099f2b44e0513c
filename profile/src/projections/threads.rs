//! By thread.

use crate::measure::Measures;
use crate::model::{Profile, special};
use std::collections::BTreeMap;

/// Threads of one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRow {
    /// The threads' name; see [`crate::model::Thread::label`].
    pub label: String,
    /// How many threads.
    pub threads: u64,
    /// Contexts in their trees.
    pub contexts: u64,
    /// Calls.
    pub calls: u64,
    /// Calls that ended with an exception.
    pub exceptional_exits: u64,
    /// Cost.
    pub own: u64,
}

/// One row per label, in order of label.
pub fn by_thread(profile: &Profile, measures: &Measures) -> Vec<ThreadRow> {
    let mut rows = BTreeMap::new();
    for (t, thread) in profile.threads.iter().enumerate() {
        let end = profile.threads.get(t + 1).map_or(profile.nodes.len(), |t| t.first_node as usize);
        let nodes = thread.first_node as usize..end;
        let label = thread.label();
        let empty = ThreadRow { label: label.clone(), threads: 0, contexts: 0, calls: 0, exceptional_exits: 0, own: 0 };
        let row = rows.entry(label).or_insert(empty);
        let sum = |column: &[u64]| column[nodes.clone()].iter().fold(0u64, |sum, &v| sum.saturating_add(v));
        row.threads += u64::from(thread.leases);
        row.contexts += profile.nodes.method[nodes.clone()].iter().filter(|&&m| m < special::FIRST).count() as u64;
        row.calls = row.calls.saturating_add(sum(&measures.calls));
        row.exceptional_exits = row.exceptional_exits.saturating_add(sum(&measures.exceptional_exits));
        row.own = row.own.saturating_add(sum(&measures.own));
    }
    rows.into_values().collect()
}
