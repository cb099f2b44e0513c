//! By method.

use crate::cycles::Metrics;
use crate::measure::Measures;
use crate::model::{Profile, special};
use crate::natives::NativeCalls;
use crate::tree::{Active, Symbol, Symbols, Tree, Visit, What};

/// A method's metrics over all its contexts in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodRow {
    /// Index in [`Symbols::list`].
    pub symbol: u32,
    /// Calls.
    pub calls: u64,
    /// Calls that ended with an exception.
    pub exceptional_exits: u64,
    /// Own cost.
    pub own: u64,
    /// Cost of the method and all it called; a recursive method's inner calls are in the outer one's already.
    pub total: u64,
    /// On the processor that the tree is of.
    pub processor: Metrics,
    /// Cycles of the method and all it called, as for [`MethodRow::total`].
    pub cycles_total: u64,
}

/// Sums over a tree, or over nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Contexts of methods with bytecode; of nodes, those of each thread by themselves.
    pub contexts: u64,
    /// Methods with bytecode.
    pub methods: u64,
    /// Calls of methods with bytecode.
    pub calls: u64,
    /// Calls of native methods.
    pub native_calls: u64,
    /// Calls that ended with an exception.
    pub exceptional_exits: u64,
    /// Cost.
    pub own: u64,
    /// On the processor that the tree or the nodes are evaluated on.
    pub processor: Metrics,
}

impl Totals {
    /// Adds a context of a tree, of this symbol; `first`: of its method none was added yet.
    pub(super) fn add(&mut self, tree: &Tree, context: u32, symbol: &Symbol, first: bool) {
        let counts = tree.context(context);
        if symbol.native {
            self.native_calls = self.native_calls.saturating_add(counts.calls);
            return;
        }
        self.contexts += 1;
        self.methods += u64::from(first);
        self.calls = self.calls.saturating_add(counts.calls);
        self.exceptional_exits = self.exceptional_exits.saturating_add(counts.exceptional_exits);
        self.own = self.own.saturating_add(counts.own);
        self.processor.add(&tree.on_processor(context).own);
    }
}

/// One row per method in the tree, in order of symbol.
pub fn by_method(tree: &Tree, symbols: &Symbols) -> Vec<MethodRow> {
    let mut rows: Vec<Option<MethodRow>> = vec![None; symbols.list.len()];
    let mut active = Active::new(symbols.list.len());
    let symbol_of = |context: u32| match tree.what(context) {
        What::Method(symbol) => Some(symbol),
        What::Root | What::Folded => None,
    };
    let visit = |visit| {
        let (context, enter) = match visit {
            Visit::Enter { context, .. } => (context, true),
            Visit::Leave { context } => (context, false),
        };
        let Some(symbol) = symbol_of(context) else { return true };
        if !enter {
            active.leave(symbol);
            return true;
        }
        let metrics = tree.context(context);
        let row = rows[symbol as usize].get_or_insert(MethodRow {
            symbol,
            calls: 0,
            exceptional_exits: 0,
            own: 0,
            total: 0,
            processor: Metrics::default(),
            cycles_total: 0,
        });
        row.calls = row.calls.saturating_add(metrics.calls);
        row.exceptional_exits = row.exceptional_exits.saturating_add(metrics.exceptional_exits);
        row.own = row.own.saturating_add(metrics.own);
        let processor = tree.on_processor(context);
        row.processor.add(&processor.own);
        if active.enter(symbol) {
            row.cycles_total = row.cycles_total.saturating_add(processor.cycles_total);
            row.total = row.total.saturating_add(metrics.total);
        }
        true
    };
    tree.walk(|_| {}, visit);
    rows.into_iter().flatten().collect()
}

/// Sums over the tree.
pub fn totals(tree: &Tree, symbols: &Symbols) -> Totals {
    let mut totals = Totals::default();
    let mut seen = vec![false; symbols.list.len()];
    for (i, context) in tree.contexts().enumerate() {
        if let What::Method(symbol) = context.what {
            let first = !std::mem::replace(&mut seen[symbol as usize], true);
            totals.add(tree, i as u32, &symbols.list[symbol as usize], first);
        }
    }
    totals
}

/// Sums over the `chosen` nodes of a profile, and these calls of native methods; what [`totals`] says of their tree.
pub fn totals_of_nodes<'a>(
    profile: &Profile,
    symbols: &Symbols,
    measures: &Measures,
    chosen: &[bool],
    natives: impl Iterator<Item = &'a NativeCalls>,
) -> Totals {
    let mut totals = Totals::default();
    let mut seen = vec![false; symbols.list.len()];
    for (node, &method) in profile.nodes.method.iter().enumerate() {
        if !chosen[node] || method >= special::FIRST {
            continue;
        }
        totals.contexts += 1;
        totals.methods += u64::from(!std::mem::replace(&mut seen[symbols.of_method(method) as usize], true));
        totals.calls = totals.calls.saturating_add(measures.calls.get(node));
        totals.exceptional_exits = totals.exceptional_exits.saturating_add(measures.exceptional_exits.get(node));
        totals.own = totals.own.saturating_add(measures.own.get(node));
        if !measures.processor.is_empty() {
            totals.processor.add(&measures.processor.get(node));
        }
    }
    for native in natives {
        totals.native_calls = totals.native_calls.saturating_add(native.calls);
    }
    totals
}
