//! Metrics as columns beside the contexts of a tree: what tools want that know several kinds of events.

use crate::amounts::Amounts;
use crate::cache::CacheSpec;
use crate::cycles::Columns;
use crate::model::Profile;
use crate::target::Model;
use crate::tree::{Symbols, Tree};
use std::borrow::Cow;

/// One number per context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// `calls`, `exceptional_exits`, `bytecodes`, `cycles[jop,4k/16]`, `allocations`, `entry_misses[4k/16]`,
    /// `return_misses[4k/16]`; each once in a sheet.
    pub name: String,
    /// What is counted: `calls`, `exits`, `bytecodes`, `cycles`, `misses`, or a model's unit.
    pub unit: Cow<'static, str>,
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
    let column = |name: &str, unit: &'static str, own: &Amounts| Metric {
        name: name.to_owned(),
        unit: Cow::Borrowed(unit),
        own: own.clone(),
    };
    vec![column("calls", "calls", calls), column("exceptional_exits", "exits", exits), column("bytecodes", "bytecodes", own)]
}

/// `cycles[named,cache]`, where `named` is the model's name with what options change of it. Of a model that counts something else,
/// which has no cache, `unit[named]`, or the unit alone if the model is called so.
pub fn name_on(model: &Model, named: &str, cache: CacheSpec) -> String {
    let unit = &model.unit;
    match model.counts_cycles() {
        true => format!("{unit}[{named},{cache}]"),
        false if named == unit => unit.clone(),
        false => format!("{unit}[{named}]"),
    }
}

/// The metric of that name, of an evaluation of the tree's profile.
pub fn on_model(tree: &Tree, model: &Model, named: &str, cache: CacheSpec, nodes: &Columns) -> Metric {
    let own = tree.sums(nodes.cycles.iter());
    Metric { name: name_on(model, named, cache), unit: Cow::Owned(model.unit.clone()), own }
}

/// `entry_misses` and `return_misses` of every method cache that was simulated.
pub fn misses(profile: &Profile, tree: &Tree) -> Vec<Metric> {
    let caches = profile.caches.iter().zip(&profile.misses);
    let column = |kind: &str, cache: &CacheSpec, column: &Amounts| Metric {
        name: format!("{kind}[{cache}]"),
        unit: Cow::Borrowed("misses"),
        own: tree.sums(column.iter()),
    };
    caches
        .flat_map(|(cache, misses)| {
            [column("entry_misses", cache, &misses.entry), column("return_misses", cache, &misses.returns)]
        })
        .collect()
}
