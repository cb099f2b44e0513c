//! Metrics as columns beside the contexts of a tree: what tools want that know several kinds of events.

use crate::amounts::Amounts;
use crate::cache::CacheSpec;
use crate::cycles::Columns;
use crate::model::Profile;
use crate::tree::{Symbols, Tree};

/// One number per context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// `calls`, `exceptional_exits`, `bytecodes`, `cycles[jop,4k/16]`, `entry_misses[4k/16]`, `return_misses[4k/16]`; each once
    /// in a sheet.
    pub name: String,
    /// What is counted: `calls`, `exits`, `bytecodes`, `cycles`, `misses`.
    pub unit: &'static str,
    /// Per context of the tree, without the contexts below.
    pub own: Amounts,
}

impl Metric {
    /// The sum over all contexts.
    pub fn sum(&self) -> u64 {
        self.own.sum()
    }

    /// Per context of `tree`, which the metric is of: with the contexts below.
    pub fn totals(&self, tree: &Tree) -> Amounts {
        tree.with_callees(self.own.clone())
    }
}

/// A tree with its names and metrics: what exports, comparisons and pictures start from.
#[derive(Debug, Clone, Copy)]
pub struct Sheet<'a> {
    /// Where it is from.
    pub profile: &'a Profile,
    /// Names of the methods.
    pub symbols: &'a Symbols,
    /// The contexts chosen.
    pub tree: &'a Tree,
    /// Their numbers; `calls`, `exceptional_exits` and `bytecodes` are the first three.
    pub metrics: &'a [Metric],
}

/// `calls` (of native methods, too), `exceptional_exits` and `bytecodes`.
pub fn counted(tree: &Tree) -> Vec<Metric> {
    let [calls, exits, own] = tree.counts();
    let column = |name: &str, unit, own: &Amounts| Metric { name: name.to_owned(), unit, own: own.clone() };
    vec![column("calls", "calls", calls), column("exceptional_exits", "exits", exits), column("bytecodes", "bytecodes", own)]
}

/// `cycles[target,cache]`.
pub fn cycles_name(target: &str, cache: CacheSpec) -> String {
    format!("cycles[{target},{cache}]")
}

/// `cycles[target,cache]` of an evaluation of the tree's profile.
pub fn cycles(tree: &Tree, target: &str, cache: CacheSpec, nodes: &Columns) -> Metric {
    Metric { name: cycles_name(target, cache), unit: "cycles", own: tree.sums(nodes.cycles.iter()) }
}

/// `entry_misses` and `return_misses` of every method cache that was simulated.
pub fn misses(profile: &Profile, tree: &Tree) -> Vec<Metric> {
    let caches = profile.caches.iter().zip(&profile.misses);
    let column = |kind: &str, cache: &CacheSpec, column: &Amounts| Metric {
        name: format!("{kind}[{cache}]"),
        unit: "misses",
        own: tree.sums(column.iter()),
    };
    caches
        .flat_map(|(cache, misses)| {
            [column("entry_misses", cache, &misses.entry), column("return_misses", cache, &misses.returns)]
        })
        .collect()
}
