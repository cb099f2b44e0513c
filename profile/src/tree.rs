//! The calling context tree by name: threads merged, running numbers of hidden classes gone.

use crate::cycles::Metrics;
use crate::measure::Measures;
use crate::model::{Profile, special};
use crate::names::{dotted, stable};
use crate::natives::NativeCalls;
use crate::siblings::{Place, Siblings, callees};
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
}

impl Context {
    /// The context with nothing counted.
    fn empty(what: What, parent: u32, site: u32, method: u32) -> Context {
        Context { what, parent, site, method, calls: 0, exceptional_exits: 0, own: 0, total: 0 }
    }
}

/// A context on the processor that the measures are of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OnProcessor {
    /// Its own.
    pub own: Metrics,
    /// Own cycles and those of all contexts below.
    pub cycles_total: u64,
}

/// Contexts, callers before callees; the first is the root.
#[derive(Debug, Clone)]
pub struct Tree {
    /// All contexts.
    pub contexts: Vec<Context>,
    /// Beside the contexts; empty when the measures are of no processor.
    processor: Vec<OnProcessor>,
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
    processor: Option<Vec<OnProcessor>>,
    siblings: Siblings<(What, u32)>,
    threads: Vec<(u32, String)>,
}

impl Builder {
    fn new(on_processor: bool) -> Builder {
        let mut builder = Builder {
            contexts: Vec::new(),
            processor: on_processor.then(Vec::new),
            siblings: Siblings::default(),
            threads: Vec::new(),
        };
        builder.root();
        builder
    }

    fn root(&mut self) -> u32 {
        self.push(Context::empty(What::Root, 0, 0, u32::MAX));
        self.siblings.root()
    }

    fn push(&mut self, context: Context) {
        self.contexts.push(context);
        self.processor.iter_mut().for_each(|p| p.push(OnProcessor::default()));
    }

    /// The context with this caller, method and site, made if need be.
    fn place(&mut self, of: &Context, parent: u32) -> u32 {
        let key = |c: &Context| (c.what, c.site);
        match self.siblings.place(parent, key(of), |at| key(&self.contexts[at as usize])) {
            Place::Known(at) => at,
            Place::New(at) => {
                self.push(Context::empty(of.what, parent, of.site, of.method));
                at
            }
        }
    }

    fn add(&mut self, from: Context, processor: Option<&Metrics>, parent: u32) -> u32 {
        let at = self.place(&from, parent);
        let context = &mut self.contexts[at as usize];
        context.calls = context.calls.saturating_add(from.calls);
        context.exceptional_exits = context.exceptional_exits.saturating_add(from.exceptional_exits);
        context.own = context.own.saturating_add(from.own);
        if let (Some(all), Some(metrics)) = (&mut self.processor, processor) {
            all[at as usize].own.add(metrics);
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
        let Builder { mut contexts, processor, siblings, threads } = self;
        // Room for what follows.
        drop(siblings);
        let mut processor = processor.unwrap_or_default();
        // Callers stand before callees.
        for i in (1..contexts.len()).rev() {
            let parent = contexts[i].parent as usize;
            let total = contexts[i].total.saturating_add(contexts[i].own);
            contexts[i].total = total;
            contexts[parent].total = contexts[parent].total.saturating_add(total);
            if let Some(OnProcessor { own, cycles_total }) = processor.get_mut(i) {
                *cycles_total = cycles_total.saturating_add(own.cycles);
                let cycles = *cycles_total;
                processor[parent].cycles_total = processor[parent].cycles_total.saturating_add(cycles);
            }
        }
        let (starts, children) = callees(&contexts, |c| c.parent);
        Tree { contexts, processor, of_node, threads, starts, children }
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
        let mut builder = Builder::new(!measures.processor.is_empty());
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
                    ..Context::empty(what, 0, nodes.site_of(node), method)
                };
                let at = builder.add(context, measures.processor.get(node), of_node[nodes.parent[node] as usize]);
                of_node[node] = at;
                for native in below {
                    let what = What::Method(symbols.of_native[native.native as usize]);
                    let native = Context { calls: native.calls, ..Context::empty(what, 0, native.site, u32::MAX) };
                    builder.add(native, None, at);
                }
            }
        }
        builder.finish(of_node)
    }

    /// The contexts at and below the outermost calls of some methods, merged below one root.
    pub fn at_and_below(&self, methods: impl Fn(u32) -> bool) -> Tree {
        let mut builder = Builder::new(!self.processor.is_empty());
        let mut new_index: Vec<Option<u32>> = vec![None; self.contexts.len()];
        let threads = self.thread_of();
        for (i, context) in self.contexts.iter().enumerate().skip(1) {
            let processor = self.processor.get(i).map(|p| &p.own);
            new_index[i] = match (new_index[context.parent as usize], context.what) {
                (Some(parent), _) => Some(builder.add(*context, processor, parent)),
                (None, What::Method(m)) if methods(m) => {
                    let root = threads.get(i).map_or(0, |&t| builder.thread(&self.threads[t as usize].1));
                    Some(builder.add(Context { site: 0, ..*context }, processor, root))
                }
                _ => None,
            };
        }
        let of_node = self.of_node.iter().map(|&context| new_index[context as usize].unwrap_or(0)).collect();
        builder.finish(of_node)
    }

    /// A context on the processor that the measures are of; zeros without one.
    pub fn on_processor(&self, context: u32) -> OnProcessor {
        self.processor.get(context as usize).copied().unwrap_or_default()
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
