//! What happens from one capture of a running program to the next: by method, by context, by thread.

use super::assemble::flow;
use super::capture::Capture;
use super::log::Log;
use super::rows::Reading;
use crate::flow::Flow;
use crate::measure::Rule;
use crate::model::Level;
use crate::names::{signature, stable};
use cprof_instrument::Planner;
use cprof_instrument::abi::{self, kind};
use cprof_instrument::classfile::{ClassFile, Method, mutf8};
use rustc_hash::FxHashMap;

/// Knows the methods that ran, and what their counters mean. A method's is found out when it is met first.
#[derive(Default)]
pub struct Meter {
    /// Position in `methods` by method id; none for methods that the class log has damaged.
    ids: FxHashMap<u32, Option<u32>>,
    methods: Vec<Metered>,
}

struct Metered {
    name: MethodName,
    flow: Flow,
    level: Level,
    rule: Rule,
}

/// A method's name in its parts, so that a narrow column can leave some out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodName {
    /// Dotted class, without running numbers.
    pub class: String,
    /// Simple name.
    pub method: String,
    /// `(int, String[])`; with its result, `(int): Object`, where its class has another of that name and these.
    pub parameters: String,
}

/// A capture with the cost of every context.
pub struct Look {
    capture: Capture,
    /// Per node: calls and own bytecodes.
    costs: Vec<(u64, u64)>,
    /// Per node: position of its method in the meter; none for roots and the like.
    method: Vec<Option<u32>>,
}

/// What was counted between two looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// Calls.
    pub calls: u64,
    /// Bytecodes of the method itself.
    pub own: u64,
    /// The same with those of everything below; for methods, whose contexts may be below each other, the same as `own`.
    pub total: u64,
}

/// What happened between two looks.
#[derive(Debug, Default)]
pub struct Rates {
    /// In all.
    pub all: Change,
    /// By method: position in the meter.
    pub methods: Vec<(u32, Change)>,
    /// By context that changed, itself or below: node of the later look.
    pub contexts: Vec<(u32, Change)>,
    /// By tree of the later look.
    pub threads: Vec<(u32, Change)>,
}

impl Meter {
    /// Measures a capture. `log` is the class log as it was after the capture.
    pub fn look(&mut self, capture: Capture, log: &Log<'_>) -> Look {
        let mut costs = Vec::with_capacity(capture.nodes());
        let mut method = Vec::with_capacity(capture.nodes());
        let mut departures = capture.departures.iter().peekable();
        let mut rows = Reading::new(&capture);
        for (node, &what) in capture.what.iter().enumerate() {
            let known = if what >= abi::FIRST_METHOD { self.method(what, log) } else { None };
            let counters = rows.next();
            let mut gone = Vec::new();
            while let Some((_, place, count)) = departures.next_if(|d| d.0 as usize <= node) {
                gone.push((place.bci, place.kind, *count));
            }
            let own = known.and_then(|m| {
                let m = &self.methods[m as usize];
                // A method of another shape than planned is damage; reports of whole profiles name it.
                let fits = counters.len() == usize::from(m.flow.counters);
                fits.then(|| m.rule.apply(&m.flow, m.level, counters, gone.into_iter()).ok())?
            });
            let calls = counters.first().copied().unwrap_or(0);
            costs.push((calls, own.map_or(0, |o| o.own.max(0) as u64)));
            method.push(known);
        }
        Look { capture, costs, method }
    }

    /// A method's name.
    pub fn name(&self, method: u32) -> &MethodName {
        &self.methods[method as usize].name
    }

    fn method(&mut self, id: u32, log: &Log<'_>) -> Option<u32> {
        if let Some(known) = self.ids.get(&id) {
            return *known;
        }
        // Not in the log yet: it may be next time.
        log.method(id)?;
        let found = metered(id, log);
        let position = found.map(|metered| {
            self.methods.push(metered);
            self.methods.len() as u32 - 1
        });
        self.ids.insert(id, position);
        position
    }
}

/// What two methods have in common that differ in their results alone.
fn but_result<'a>(method: &Method<'a>) -> (&'a [u8], Option<&'a [u8]>) {
    (method.name, method.descriptor.split(|&b| b == b')').next())
}

fn metered(id: u32, log: &Log<'_>) -> Option<Metered> {
    let (class, method) = log.method(id)?;
    let entry = &log.classes[class];
    let &(index, _, level) = entry.methods.get(method)?;
    let parsed = ClassFile::parse(entry.bytes).ok()?;
    let flow = flow(&mut Planner::default(), &parsed, index)?;
    let method = parsed.methods.get(index as usize)?;
    let code = parsed.code(method).ok()??;
    let rule = Rule::new(&flow, code.bytes, code.at).ok()?;
    let alike = parsed.methods.iter().filter(|other| but_result(other) == but_result(method)).count();
    let name = MethodName {
        class: stable(entry.name, entry.hidden),
        method: mutf8::decode(method.name).into_owned(),
        parameters: signature(&mutf8::decode(method.descriptor), alike > 1),
    };
    Some(Metered { name, flow, level, rule })
}

impl Look {
    /// Contexts of methods.
    pub fn contexts(&self) -> usize {
        self.method.iter().flatten().count()
    }

    /// Trees.
    pub fn threads(&self) -> usize {
        self.capture.trees.len()
    }

    /// What was wrong with the recording.
    pub fn warnings(&self) -> &[String] {
        &self.capture.warnings
    }

    /// A tree's name, as in reports.
    pub fn thread(&self, tree: u32) -> String {
        let tree = &self.capture.trees[tree as usize];
        tree.clone().into_thread(tree.first_node).label()
    }

    /// How many threads have used a tree.
    pub fn leases(&self, tree: u32) -> u32 {
        self.capture.trees[tree as usize].leases
    }

    /// The methods of a context from the context itself up to the thread's first.
    pub fn path(&self, node: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = node as usize;
        while self.capture.what[at] != kind::ROOT {
            path.extend(self.method[at]);
            at = self.capture.parent[at] as usize;
        }
        path
    }

    /// What happened since an earlier look at the same recording.
    pub fn since(&self, earlier: &Look) -> Rates {
        let mut changes: Vec<Change> = Vec::with_capacity(self.costs.len());
        for (&(calls, own), reference) in self.costs.iter().zip(self.capture.references()) {
            let before = earlier.capture.node_at(reference).map_or((0, 0), |b| earlier.costs[b as usize]);
            let own = own.saturating_sub(before.1);
            changes.push(Change { calls: calls.saturating_sub(before.0), own, total: own });
        }
        // Parents come first, so that backwards every context is whole before it is added to its parent's.
        for node in (0..changes.len()).rev() {
            let parent = self.capture.parent[node] as usize;
            if parent != node {
                changes[parent].total = changes[parent].total.saturating_add(changes[node].total);
            }
        }
        let mut rates = Rates::default();
        let mut by_method: FxHashMap<u32, Change> = FxHashMap::default();
        let mut trees = self.capture.trees.iter().enumerate().peekable();
        let mut tree = 0;
        let mut by_tree = vec![Change::default(); self.capture.trees.len()];
        for (node, change) in changes.iter().enumerate() {
            while let Some((at, _)) = trees.next_if(|(_, t)| t.first_node as usize <= node) {
                tree = at;
            }
            let Some(method) = self.method[node] else { continue };
            if change.calls > 0 || change.total > 0 {
                rates.contexts.push((node as u32, *change));
            }
            if change.calls > 0 || change.own > 0 {
                let own = Change { total: change.own, ..*change };
                rates.all.add(&own);
                by_method.entry(method).or_default().add(&own);
                by_tree[tree].add(&own);
            }
        }
        rates.methods = by_method.into_iter().collect();
        rates.threads = by_tree.into_iter().enumerate().map(|(tree, change)| (tree as u32, change)).collect();
        rates
    }
}

impl Change {
    fn add(&mut self, other: &Change) {
        self.calls = self.calls.saturating_add(other.calls);
        self.own = self.own.saturating_add(other.own);
        self.total = self.total.saturating_add(other.total);
    }
}
