//! Growing a tree.

use super::columns::{Contexts, Meanings, Row};
use super::{Symbols, Tree, What, with_callees};
use crate::cycles::Columns;
use crate::measure::Measures;
use crate::model::{Nodes, Profile, special};
use crate::natives::NativeCalls;
use crate::siblings::{Place, Siblings, callees};
use rustc_hash::FxHashMap;
use std::mem;
use std::ops::Range;

/// Merges contexts that have caller, method and site in common.
struct Builder {
    /// The contexts, and behind them, where a tree is made of nodes in their place, what was not read yet.
    contexts: Contexts,
    siblings: Siblings<(What, u32)>,
    threads: Vec<(u32, String)>,
    /// The contexts of the threads of a label.
    of_label: FxHashMap<String, u32>,
}

impl Builder {
    fn new(contexts: Contexts) -> Builder {
        Builder { contexts, siblings: Siblings::default(), threads: Vec::new(), of_label: FxHashMap::default() }
    }

    fn root(&mut self) -> u32 {
        let at = self.siblings.root();
        self.contexts.put(at as usize, Row { is: special::ROOT, ..Row::default() });
        at
    }

    /// Adds a row's counts to the context with its caller, method and site, which is made if need be.
    fn add(&mut self, row: Row) -> u32 {
        let contexts = &mut self.contexts;
        let key = (contexts.meanings.what(row.is), row.site);
        match self.siblings.place(row.parent, key, |at| contexts.key(at)) {
            Place::Known(at) => {
                contexts.add(at as usize, &row);
                at
            }
            Place::New(at) => {
                contexts.put(at as usize, row);
                at
            }
        }
    }

    /// The context of the threads of a label.
    fn thread(&mut self, label: &str) -> u32 {
        if let Some(&context) = self.of_label.get(label) {
            return context;
        }
        let context = self.root();
        self.threads.push((context, label.to_owned()));
        self.of_label.insert(label.to_owned(), context);
        context
    }

    /// How many contexts were made.
    fn len(&self) -> usize {
        self.siblings.len()
    }

    fn finish(self, of_node: Vec<u32>) -> Tree {
        let Builder { contexts, siblings, threads, .. } = self;
        // Room for what follows.
        drop(siblings);
        let total = with_callees(contexts.own.clone(), |i| contexts.parent[i]);
        let cycles = contexts.processor.as_ref().map(|columns| columns.cycles.clone()).unwrap_or_default();
        let cycles_total = with_callees(cycles, |i| contexts.parent[i]);
        let (starts, children) = callees(&contexts.parent, |&parent| parent);
        Tree { contexts, total, cycles_total, of_node, threads, starts, children }
    }
}

/// The nodes of a thread, which a tree is made of.
struct Part {
    thread: usize,
    nodes: Range<usize>,
    /// Where the row of the first is.
    at: usize,
}

/// What a tree is made of beside its nodes.
struct Source<'s> {
    profile: &'s Profile,
    symbols: &'s Symbols,
    natives: &'s [NativeCalls],
    parts: Vec<Part>,
    /// Of all nodes, those that are in no part, too.
    nodes: usize,
    /// Threads of different labels are apart.
    apart: bool,
}

impl Source<'_> {
    /// Makes the tree in the place of its rows: there are never more contexts than rows that were read, if one is read ahead.
    fn grow(&self, rows: Contexts) -> Tree {
        let mut builder = Builder::new(rows);
        let mut of_node = vec![0; self.nodes];
        let mut steps =
            self.parts.iter().flat_map(|part| part.nodes.clone().zip(part.at..).map(|(node, at)| (part.thread, node, at)));
        let mut read = |contexts: &Contexts| steps.next().map(|(thread, node, at)| (thread, node, contexts.row(at)));
        let mut ahead = read(&builder.contexts);
        builder.root();
        let mut root = 0;
        while let Some((thread, node, row)) = ahead {
            ahead = read(&builder.contexts);
            if row.is == special::ROOT {
                root = if self.apart { builder.thread(&self.profile.threads[thread].label()) } else { root };
                of_node[node] = root;
                continue;
            }
            of_node[node] = builder.add(Row { parent: of_node[row.parent as usize], ..row });
        }
        builder.contexts.truncate(builder.len());
        for part in &self.parts {
            let first = self.natives.partition_point(|n| (n.node as usize) < part.nodes.start);
            for native in self.natives[first..].iter().take_while(|n| (n.node as usize) < part.nodes.end) {
                let is = builder.contexts.meanings.native(self.symbols.of_native[native.native as usize]);
                let parent = of_node[native.node as usize];
                builder.add(Row { is, parent, site: native.site, calls: native.calls, ..Row::default() });
            }
        }
        builder.finish(of_node)
    }
}

/// The chosen threads' nodes; their rows are those of all nodes, or `gathered` one after the other.
fn parts(profile: &Profile, threads: impl Fn(usize) -> bool, gathered: bool) -> Vec<Part> {
    let mut next = 0;
    let chosen = (0..profile.threads.len()).filter(|&t| threads(t));
    let part = |thread| {
        let nodes = profile.nodes_of_thread(thread);
        let at = if gathered { next } else { nodes.start };
        next = at + nodes.len();
        Part { thread, nodes, at }
    };
    chosen.map(part).collect()
}

impl Tree {
    /// The contexts of the threads chosen (by position in [`Profile::threads`]), merged.
    pub fn new(
        profile: &Profile,
        symbols: &Symbols,
        measures: &Measures,
        natives: &[NativeCalls],
        threads: impl Fn(usize) -> bool,
    ) -> Tree {
        Tree::copied(profile, symbols, measures, natives, threads, false)
    }

    /// As [`Tree::new`], with threads of different labels apart.
    pub fn by_thread(
        profile: &Profile,
        symbols: &Symbols,
        measures: &Measures,
        natives: &[NativeCalls],
        threads: impl Fn(usize) -> bool,
    ) -> Tree {
        Tree::copied(profile, symbols, measures, natives, threads, true)
    }

    fn copied(
        profile: &Profile,
        symbols: &Symbols,
        measures: &Measures,
        natives: &[NativeCalls],
        threads: impl Fn(usize) -> bool,
        apart: bool,
    ) -> Tree {
        let nodes = &profile.nodes;
        let parts = parts(profile, threads, true);
        let each = || parts.iter().flat_map(|part| part.nodes.clone());
        let rows = Contexts {
            meanings: Meanings { of_method: symbols.of_method.clone() },
            is: each().map(|node| nodes.method[node]).collect(),
            parent: each().map(|node| nodes.parent[node]).collect(),
            site: if nodes.site.is_empty() { Vec::new() } else { each().map(|node| nodes.site[node]).collect() },
            calls: each().map(|node| measures.calls.get(node)).collect(),
            exceptional_exits: each().map(|node| measures.exceptional_exits.get(node)).collect(),
            own: each().map(|node| measures.own.get(node)).collect(),
            processor: (!measures.processor.is_empty()).then(|| measures.processor.gathered(each())),
        };
        Source { profile, symbols, natives, parts, nodes: nodes.len(), apart }.grow(rows)
    }

    /// As [`Tree::new`], or [`Tree::by_thread`] if they are to be `apart`, in the place of the profile's nodes and of what was
    /// measured of them, which are gone afterwards: it takes half the memory.
    pub fn in_place(
        profile: &mut Profile,
        symbols: &Symbols,
        measures: &mut Measures,
        natives: &[NativeCalls],
        threads: impl Fn(usize) -> bool,
        apart: bool,
    ) -> Tree {
        let parts = parts(profile, threads, false);
        let Nodes { method, parent, site, counters } = mem::take(&mut profile.nodes);
        drop(counters);
        let nodes = method.len();
        let inconsistent = measures.inconsistent;
        let measures = mem::replace(measures, Measures { inconsistent, ..Measures::default() });
        let rows = Contexts {
            meanings: Meanings { of_method: symbols.of_method.clone() },
            is: method,
            parent,
            site,
            calls: measures.calls,
            exceptional_exits: measures.exceptional_exits,
            own: measures.own,
            processor: (!measures.processor.is_empty()).then_some(measures.processor),
        };
        Source { profile, symbols, natives, parts, nodes, apart }.grow(rows)
    }

    /// The contexts at and below the outermost calls of some methods, merged below one root.
    pub fn at_and_below(&self, methods: impl Fn(u32) -> bool) -> Tree {
        let mut builder = Builder::new(Contexts {
            meanings: self.contexts.meanings.clone(),
            processor: self.contexts.processor.as_ref().map(|_| Columns::default()),
            ..Contexts::default()
        });
        builder.root();
        let mut new_index: Vec<Option<u32>> = vec![None; self.len()];
        let threads = self.thread_of();
        for i in 1..self.len() {
            let row = self.contexts.row(i);
            new_index[i] = match (new_index[row.parent as usize], self.what(i as u32)) {
                (Some(parent), _) => Some(builder.add(Row { parent, ..row })),
                (None, What::Method(m)) if methods(m) => {
                    let parent = threads.get(i).map_or(0, |&t| builder.thread(&self.threads[t as usize].1));
                    Some(builder.add(Row { parent, site: 0, ..row }))
                }
                _ => None,
            };
        }
        let of_node = self.of_node.iter().map(|&context| new_index[context as usize].unwrap_or(0)).collect();
        builder.finish(of_node)
    }
}
