//! Growing a tree.

use super::columns::{Contexts, Meanings};
use super::{Context, Symbols, Tree, What, with_callees};
use crate::amounts::Amounts;
use crate::cycles::{Columns, Metrics};
use crate::measure::Measures;
use crate::model::{Profile, special};
use crate::natives::NativeCalls;
use crate::siblings::{Place, Siblings, callees};

/// Merges contexts that have caller, method and site in common.
struct Builder {
    contexts: Contexts,
    siblings: Siblings<(What, u32)>,
    threads: Vec<(u32, String)>,
}

/// What is counted in a context.
struct Counts<'m> {
    calls: u64,
    exceptional_exits: u64,
    own: u64,
    processor: Option<&'m Metrics>,
}

impl Builder {
    fn new(meanings: Meanings, on_processor: bool) -> Builder {
        let contexts = Contexts {
            meanings,
            is: Vec::new(),
            parent: Vec::new(),
            site: Vec::new(),
            calls: Amounts::default(),
            exceptional_exits: Amounts::default(),
            own: Amounts::default(),
            processor: on_processor.then(Columns::default),
        };
        let mut builder = Builder { contexts, siblings: Siblings::default(), threads: Vec::new() };
        builder.root();
        builder
    }

    fn root(&mut self) -> u32 {
        self.contexts.push(special::ROOT, 0, 0);
        self.siblings.root()
    }

    /// Adds counts to the context with this caller, method and site, which is made if need be.
    fn add(&mut self, is: u32, parent: u32, site: u32, counts: &Counts<'_>) -> u32 {
        let contexts = &mut self.contexts;
        let key = (contexts.meanings.what(is), site);
        let at = match self.siblings.place(parent, key, |at| contexts.key(at)) {
            Place::Known(at) => at,
            Place::New(at) => {
                contexts.push(is, parent, site);
                at
            }
        };
        contexts.calls.add(at as usize, counts.calls);
        contexts.exceptional_exits.add(at as usize, counts.exceptional_exits);
        contexts.own.add(at as usize, counts.own);
        if let (Some(columns), Some(metrics)) = (&mut contexts.processor, counts.processor) {
            columns.add(at as usize, metrics);
        }
        at
    }

    /// The context of the threads of a label.
    fn thread(&mut self, label: &str) -> u32 {
        if let Some((context, _)) = self.threads.iter().find(|(_, l)| l == label) {
            return *context;
        }
        let context = self.root();
        self.threads.push((context, label.to_owned()));
        context
    }

    fn finish(self, of_node: Vec<u32>) -> Tree {
        let Builder { contexts, siblings, threads } = self;
        // Room for what follows.
        drop(siblings);
        let total = with_callees(contexts.own.clone(), |i| contexts.parent[i]);
        let cycles = contexts.processor.as_ref().map(|columns| columns.cycles.clone()).unwrap_or_default();
        let cycles_total = with_callees(cycles, |i| contexts.parent[i]);
        let (starts, children) = callees(&contexts.parent, |&parent| parent);
        Tree { contexts, total, cycles_total, of_node, threads, starts, children }
    }
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
        Tree::build(profile, symbols, measures, natives, threads, false)
    }

    /// As [`Tree::new`], with threads of different labels apart.
    pub fn by_thread(
        profile: &Profile,
        symbols: &Symbols,
        measures: &Measures,
        natives: &[NativeCalls],
        threads: impl Fn(usize) -> bool,
    ) -> Tree {
        Tree::build(profile, symbols, measures, natives, threads, true)
    }

    fn build(
        profile: &Profile,
        symbols: &Symbols,
        measures: &Measures,
        natives: &[NativeCalls],
        threads: impl Fn(usize) -> bool,
        apart: bool,
    ) -> Tree {
        let nodes = &profile.nodes;
        let meanings = Meanings { of_method: symbols.of_method.clone() };
        let mut builder = Builder::new(meanings, !measures.processor.is_empty());
        let mut of_node = vec![0; nodes.len()];
        for (t, thread) in profile.threads.iter().enumerate() {
            if !threads(t) {
                continue;
            }
            let of_thread = profile.nodes_of_thread(t);
            let root = if apart { builder.thread(&thread.label()) } else { 0 };
            let begin = natives.partition_point(|n| (n.node as usize) < of_thread.start);
            let mut natives = natives[begin..].iter().peekable();
            for node in of_thread {
                let below = std::iter::from_fn(|| natives.next_if(|n| n.node as usize == node));
                let method = nodes.method[node];
                if method == special::ROOT {
                    of_node[node] = root;
                    continue;
                }
                let processor = (!measures.processor.is_empty()).then(|| measures.processor.get(node));
                let counts = Counts {
                    calls: measures.calls.get(node),
                    exceptional_exits: measures.exceptional_exits.get(node),
                    own: measures.own.get(node),
                    processor: processor.as_ref(),
                };
                let at = builder.add(method, of_node[nodes.parent[node] as usize], nodes.site_of(node), &counts);
                of_node[node] = at;
                for native in below {
                    let is = builder.contexts.meanings.native(symbols.of_native[native.native as usize]);
                    let counts = Counts { calls: native.calls, exceptional_exits: 0, own: 0, processor: None };
                    builder.add(is, at, native.site, &counts);
                }
            }
        }
        builder.finish(of_node)
    }

    /// The contexts at and below the outermost calls of some methods, merged below one root.
    pub fn at_and_below(&self, methods: impl Fn(u32) -> bool) -> Tree {
        let mut builder = Builder::new(self.contexts.meanings.clone(), self.contexts.processor.is_some());
        let mut new_index: Vec<Option<u32>> = vec![None; self.len()];
        let threads = self.thread_of();
        for (i, context) in self.contexts().enumerate().skip(1) {
            let processor = self.contexts.processor.as_ref().map(|columns| columns.get(i));
            let Context { calls, exceptional_exits, own, .. } = context;
            let counts = Counts { calls, exceptional_exits, own, processor: processor.as_ref() };
            let is = self.contexts.is[i];
            new_index[i] = match (new_index[context.parent as usize], context.what) {
                (Some(parent), _) => Some(builder.add(is, parent, context.site, &counts)),
                (None, What::Method(m)) if methods(m) => {
                    let root = threads.get(i).map_or(0, |&t| builder.thread(&self.threads[t as usize].1));
                    Some(builder.add(is, root, 0, &counts))
                }
                _ => None,
            };
        }
        let of_node = self.of_node.iter().map(|&context| new_index[context as usize].unwrap_or(0)).collect();
        builder.finish(of_node)
    }
}
