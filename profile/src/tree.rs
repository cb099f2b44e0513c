//! The calling context tree by name: threads merged, running numbers of hidden classes gone.

use crate::cycles::Metrics;
use crate::measure::Measures;
use crate::model::{Profile, special};
use crate::names::{dotted, stable};
use crate::natives::NativeCalls;
use rustc_hash::FxHashMap;

/// A method as reports name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    /// Dotted, without running numbers.
    pub class: String,
    /// Simple name.
    pub method: String,
    /// Descriptor.
    pub descriptor: String,
    /// It has no bytecode.
    pub native: bool,
}

/// All methods of a profile by name; several of its methods may share one.
#[derive(Debug, Clone, Default)]
pub struct Symbols {
    /// Each once.
    pub list: Vec<Symbol>,
    of_method: Vec<u32>,
    of_native: Vec<u32>,
}

impl Symbols {
    /// Names of a profile's methods and natives.
    pub fn new(profile: &Profile) -> Symbols {
        let mut numbers: FxHashMap<Symbol, u32> = FxHashMap::default();
        let mut list = Vec::new();
        let mut number = |symbol: Symbol| {
            *numbers.entry(symbol).or_insert_with_key(|symbol| {
                list.push(symbol.clone());
                list.len() as u32 - 1
            })
        };
        let classes: Vec<String> = profile.classes.iter().map(|c| stable(&c.name, c.hidden)).collect();
        let methods = profile.methods.iter().map(|m| Symbol {
            class: classes[m.class as usize].clone(),
            method: m.name.clone(),
            descriptor: m.descriptor.clone(),
            native: false,
        });
        let of_method = methods.map(&mut number).collect();
        let natives = profile.natives.iter().map(|n| Symbol {
            class: dotted(&n.class),
            method: n.name.clone(),
            descriptor: n.descriptor.clone(),
            native: true,
        });
        let of_native = natives.map(&mut number).collect();
        Symbols { list, of_method, of_native }
    }

    /// Index in [`Symbols::list`] of a method of the profile's.
    pub fn of_method(&self, method: u32) -> u32 {
        self.of_method[method as usize]
    }
}

/// What a context stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// The parent of the threads' first methods; in a tree with threads apart also that of each, below the first.
    Root,
    /// The parent of contexts folded for want of room.
    Folded,
    /// Index in [`Symbols::list`].
    Method(u32),
}

/// A context.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// What runs.
    pub what: What,
    /// Index of the caller's context; the root's is itself.
    pub parent: u32,
    /// Call site in the caller: bci + 1, 0 unknown or merged.
    pub site: u32,
    /// A method of the profile's (not a symbol) that is this context's, for its code; `u32::MAX` for others.
    pub method: u32,
    /// Calls.
    pub calls: u64,
    /// Calls that ended with an exception.
    pub exceptional_exits: u64,
    /// Own cost.
    pub own: u64,
    /// Own cost and that of all contexts below.
    pub total: u64,
    /// On the processor that the measures are of; zeros without one.
    pub processor: Metrics,
    /// Own cycles and those of all contexts below.
    pub cycles_total: u64,
}

impl Context {
    /// The context with nothing counted.
    fn empty(what: What, parent: u32, site: u32, method: u32) -> Context {
        let processor = Metrics::default();
        Context { what, parent, site, method, calls: 0, exceptional_exits: 0, own: 0, total: 0, processor, cycles_total: 0 }
    }
}

/// Contexts, callers before callees; the first is the root.
#[derive(Debug, Clone)]
pub struct Tree {
    /// All contexts.
    pub contexts: Vec<Context>,
    /// Per node of the profile, the context it is part of; 0 for nodes that are in none. (Contexts of native methods are no nodes.)
    pub of_node: Vec<u32>,
    /// In a tree with threads apart, the context that stands for the threads of a label, in order of contexts, and the label.
    pub threads: Vec<(u32, String)>,
    starts: Vec<u32>,
    children: Vec<u32>,
}

/// Merges contexts that have caller, method and site in common.
struct Builder {
    contexts: Vec<Context>,
    index: FxHashMap<(u32, What, u32), u32>,
    threads: Vec<(u32, String)>,
}

impl Builder {
    fn new(capacity: usize) -> Builder {
        let root = Context::empty(What::Root, 0, 0, u32::MAX);
        let mut index = FxHashMap::default();
        index.reserve(capacity);
        let mut contexts = Vec::with_capacity(capacity + 1);
        contexts.push(root);
        Builder { contexts, index, threads: Vec::new() }
    }

    fn add(&mut self, from: Context, parent: u32) -> u32 {
        let at = *self.index.entry((parent, from.what, from.site)).or_insert_with(|| {
            self.contexts.push(Context::empty(from.what, parent, from.site, from.method));
            self.contexts.len() as u32 - 1
        });
        let context = &mut self.contexts[at as usize];
        context.calls = context.calls.saturating_add(from.calls);
        context.exceptional_exits = context.exceptional_exits.saturating_add(from.exceptional_exits);
        context.own = context.own.saturating_add(from.own);
        context.processor.add(&from.processor);
        at
    }

    /// The context of the threads of a label.
    fn thread(&mut self, label: &str) -> u32 {
        if let Some((context, _)) = self.threads.iter().find(|(_, l)| l == label) {
            return *context;
        }
        let context = self.contexts.len() as u32;
        self.contexts.push(Context::empty(What::Root, 0, 0, u32::MAX));
        self.threads.push((context, label.to_owned()));
        context
    }

    fn finish(mut self, of_node: Vec<u32>) -> Tree {
        let n = self.contexts.len();
        let mut starts = vec![0u32; n + 1];
        for i in (1..n).rev() {
            let context = self.contexts[i];
            self.contexts[i].total = context.total.saturating_add(context.own);
            let parent = context.parent as usize;
            self.contexts[parent].total = self.contexts[parent].total.saturating_add(self.contexts[i].total);
            self.contexts[i].cycles_total = context.cycles_total.saturating_add(context.processor.cycles);
            let cycles = self.contexts[i].cycles_total;
            self.contexts[parent].cycles_total = self.contexts[parent].cycles_total.saturating_add(cycles);
            starts[parent + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut fill = starts.clone();
        let mut children = vec![0u32; n - 1];
        for (i, context) in self.contexts.iter().enumerate().skip(1) {
            let at = &mut fill[context.parent as usize];
            children[*at as usize] = i as u32;
            *at += 1;
        }
        Tree { contexts: self.contexts, of_node, threads: self.threads, starts, children }
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
        let mut builder = Builder::new(0);
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
                let what = match method {
                    special::ROOT => {
                        of_node[node] = root;
                        continue;
                    }
                    special::FOLDED => What::Folded,
                    method => What::Method(symbols.of_method[method as usize]),
                };
                let method = if matches!(what, What::Folded) { u32::MAX } else { method };
                let context = Context {
                    calls: measures.calls[node],
                    exceptional_exits: measures.exceptional_exits[node],
                    own: measures.own[node],
                    processor: measures.processor.get(node).copied().unwrap_or_default(),
                    ..Context::empty(what, 0, nodes.site_of(node), method)
                };
                let at = builder.add(context, of_node[nodes.parent[node] as usize]);
                of_node[node] = at;
                for native in below {
                    let what = What::Method(symbols.of_native[native.native as usize]);
                    let native = Context { calls: native.calls, ..Context::empty(what, 0, native.site, u32::MAX) };
                    builder.add(native, at);
                }
            }
        }
        builder.finish(of_node)
    }

    /// The contexts at and below the outermost calls of some methods, merged below one root.
    pub fn at_and_below(&self, methods: impl Fn(u32) -> bool) -> Tree {
        let mut builder = Builder::new(0);
        let mut new_index: Vec<Option<u32>> = vec![None; self.contexts.len()];
        let threads = self.thread_of();
        for (i, context) in self.contexts.iter().enumerate().skip(1) {
            new_index[i] = match (new_index[context.parent as usize], context.what) {
                (Some(parent), _) => Some(builder.add(*context, parent)),
                (None, What::Method(m)) if methods(m) => {
                    let root = threads.get(i).map_or(0, |&t| builder.thread(&self.threads[t as usize].1));
                    Some(builder.add(Context { site: 0, ..*context }, root))
                }
                _ => None,
            };
        }
        let of_node = self.of_node.iter().map(|&context| new_index[context as usize].unwrap_or(0)).collect();
        builder.finish(of_node)
    }

    /// Sums a column beside the profile's nodes by context; nodes that are in no context are left out.
    pub fn sums(&self, nodes: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut sums = vec![0u64; self.contexts.len()];
        for (&context, value) in self.of_node.iter().zip(nodes) {
            let sum = &mut sums[context as usize];
            *sum = sum.saturating_add(value);
        }
        // Roots are no contexts that cost anything: what is left out was added up there.
        sums[0] = 0;
        for (thread, _) in &self.threads {
            sums[*thread as usize] = 0;
        }
        sums
    }

    /// Per context, the position of its thread in [`Tree::threads`]; nothing in a tree that has threads merged. The root's means nothing.
    pub fn thread_of(&self) -> Vec<u32> {
        if self.threads.is_empty() {
            return Vec::new();
        }
        let mut of = vec![0; self.contexts.len()];
        for (t, (context, _)) in self.threads.iter().enumerate() {
            of[*context as usize] = t as u32;
        }
        for (i, context) in self.contexts.iter().enumerate().skip(1) {
            if context.what != What::Root {
                of[i] = of[context.parent as usize];
            }
        }
        of
    }

    /// The callees of a context, in the order they were first met.
    pub fn children(&self, context: u32) -> &[u32] {
        let c = context as usize;
        &self.children[self.starts[c] as usize..self.starts[c + 1] as usize]
    }

    /// Visits contexts below the root depth first; `order` arranges the callees of each, `visit` sees each context before
    /// and after those below it, and answers before whether to go there.
    pub fn walk(&self, mut order: impl FnMut(&mut Vec<u32>), mut visit: impl FnMut(Visit) -> bool) {
        let arranged = |context: u32, order: &mut dyn FnMut(&mut Vec<u32>)| {
            let mut children = self.children(context).to_vec();
            order(&mut children);
            children.reverse();
            children
        };
        // A stack of our own: contexts may be a hundred thousand deep.
        let mut open: Vec<(u32, Vec<u32>)> = vec![(0, arranged(0, &mut order))];
        while let Some((context, rest)) = open.last_mut() {
            match rest.pop() {
                Some(child) => {
                    let below = visit(Visit::Enter { context: child, depth: open.len() });
                    let children = if below { arranged(child, &mut order) } else { Vec::new() };
                    open.push((child, children));
                }
                None => {
                    let context = *context;
                    open.pop();
                    if !open.is_empty() {
                        visit(Visit::Leave { context });
                    }
                }
            }
        }
    }
}

/// A step of [`Tree::walk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// Before the contexts below.
    Enter {
        /// The context.
        context: u32,
        /// 1 for the root's callees.
        depth: usize,
    },
    /// After them.
    Leave {
        /// The context.
        context: u32,
    },
}
