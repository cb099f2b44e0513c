//! The calling context tree by name: threads merged, running numbers of hidden classes gone.

use crate::amounts::Amounts;
use crate::cycles::{Columns, Metrics};
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

/// A context on the processor that the measures are of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OnProcessor {
    /// Its own.
    pub own: Metrics,
    /// Own cycles and those of all contexts below.
    pub cycles_total: u64,
}

/// What contexts are, a number for each: a method of the profile, a native method's symbol above these, or [`special`].
#[derive(Debug, Clone)]
struct Meanings {
    /// Symbols of the profile's methods.
    of_method: Vec<u32>,
}

impl Meanings {
    fn native(&self, symbol: u32) -> u32 {
        self.of_method.len() as u32 + symbol
    }

    fn what(&self, number: u32) -> What {
        match number {
            special::ROOT => What::Root,
            special::FOLDED => What::Folded,
            number => What::Method(match self.of_method.get(number as usize) {
                Some(symbol) => *symbol,
                None => number - self.of_method.len() as u32,
            }),
        }
    }

    fn method(&self, number: u32) -> u32 {
        if (number as usize) < self.of_method.len() { number } else { u32::MAX }
    }
}

/// Contexts as columns, callers before callees; the first is the root.
#[derive(Debug, Clone)]
struct Contexts {
    meanings: Meanings,
    is: Vec<u32>,
    parent: Vec<u32>,
    /// Empty while all are 0.
    site: Vec<u32>,
    calls: Amounts,
    exceptional_exits: Amounts,
    own: Amounts,
    /// Empty when the measures are of no processor.
    processor: Option<Columns>,
}

impl Contexts {
    fn push(&mut self, is: u32, parent: u32, site: u32) {
        if site != 0 && self.site.is_empty() {
            self.site.resize(self.is.len(), 0);
        }
        if site != 0 || !self.site.is_empty() {
            self.site.push(site);
        }
        self.is.push(is);
        self.parent.push(parent);
        for column in [&mut self.calls, &mut self.exceptional_exits, &mut self.own] {
            column.push(0);
        }
        self.processor.iter_mut().for_each(Columns::push);
    }

    fn site(&self, at: usize) -> u32 {
        self.site.get(at).copied().unwrap_or(0)
    }

    /// What is met again as the same context.
    fn key(&self, at: u32) -> (What, u32) {
        (self.meanings.what(self.is[at as usize]), self.site(at as usize))
    }
}

/// The calling context tree.
#[derive(Debug, Clone)]
pub struct Tree {
    contexts: Contexts,
    total: Amounts,
    cycles_total: Amounts,
    /// Per node of the profile, the context it is part of; 0 for nodes that are in none. (Contexts of native methods are no nodes.)
    pub of_node: Vec<u32>,
    /// In a tree with threads apart, the context that stands for the threads of a label, in order of contexts, and the label.
    pub threads: Vec<(u32, String)>,
    starts: Vec<u32>,
    children: Vec<u32>,
}

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

/// Adds to the number of each context those of the contexts below it. Callers stand before callees; a root is its own.
pub fn with_callees(mut numbers: Amounts, parent_of: impl Fn(usize) -> u32) -> Amounts {
    for i in (1..numbers.len()).rev() {
        numbers.add(parent_of(i) as usize, numbers.get(i));
    }
    numbers
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

    /// Adds to the number of each context those of the contexts below.
    pub fn with_callees(&self, numbers: Amounts) -> Amounts {
        with_callees(numbers, |i| self.contexts.parent[i])
    }

    /// How many contexts there are, with the root.
    pub fn len(&self) -> usize {
        self.contexts.is.len()
    }

    /// Whether there is none but the root.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// A context.
    pub fn context(&self, at: u32) -> Context {
        let i = at as usize;
        Context {
            what: self.what(at),
            parent: self.parent(at),
            site: self.contexts.site(i),
            method: self.contexts.meanings.method(self.contexts.is[i]),
            calls: self.contexts.calls.get(i),
            exceptional_exits: self.contexts.exceptional_exits.get(i),
            own: self.contexts.own.get(i),
            total: self.total.get(i),
        }
    }

    /// All contexts.
    pub fn contexts(&self) -> impl ExactSizeIterator<Item = Context> + '_ {
        (0..self.len() as u32).map(|at| self.context(at))
    }

    /// Calls, exceptional exits and own cost of all contexts.
    pub fn counts(&self) -> [&Amounts; 3] {
        [&self.contexts.calls, &self.contexts.exceptional_exits, &self.contexts.own]
    }

    /// As [`Context::what`].
    pub fn what(&self, context: u32) -> What {
        self.contexts.meanings.what(self.contexts.is[context as usize])
    }

    /// As [`Context::parent`].
    pub fn parent(&self, context: u32) -> u32 {
        self.contexts.parent[context as usize]
    }

    /// A context on the processor that the measures are of; zeros without one.
    pub fn on_processor(&self, context: u32) -> OnProcessor {
        self.contexts.processor.as_ref().map_or_else(OnProcessor::default, |columns| OnProcessor {
            own: columns.get(context as usize),
            cycles_total: self.cycles_total.get(context as usize),
        })
    }

    /// Sums a column beside the profile's nodes by context; nodes that are in no context are left out.
    pub fn sums(&self, nodes: impl Iterator<Item = u64>) -> Amounts {
        let mut sums = Amounts::zeros(self.len());
        for (&context, value) in self.of_node.iter().zip(nodes) {
            sums.add(context as usize, value);
        }
        // Roots are no contexts that cost anything: what is left out was added up there.
        sums.set(0, 0);
        for (thread, _) in &self.threads {
            sums.set(*thread as usize, 0);
        }
        sums
    }

    /// Per context, the position of its thread in [`Tree::threads`]; nothing in a tree that has threads merged. The root's means nothing.
    pub fn thread_of(&self) -> Vec<u32> {
        if self.threads.is_empty() {
            return Vec::new();
        }
        let mut of = vec![0; self.len()];
        for (t, (context, _)) in self.threads.iter().enumerate() {
            of[*context as usize] = t as u32;
        }
        for i in 1..self.len() as u32 {
            if self.what(i) != What::Root {
                of[i as usize] = of[self.parent(i) as usize];
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
        // Stacks of our own: contexts may be a hundred thousand deep. A context that is open has its callees that were not visited yet from a place on.
        let mut rest: Vec<u32> = Vec::new();
        let mut open: Vec<(u32, usize)> = Vec::new();
        let mut callees: Vec<u32> = Vec::new();
        let mut enter = |context: u32, rest: &mut Vec<u32>| {
            callees.clear();
            callees.extend_from_slice(self.children(context));
            order(&mut callees);
            rest.extend(callees.iter().rev());
        };
        open.push((0, 0));
        enter(0, &mut rest);
        while let Some(&(context, from)) = open.last() {
            let unvisited = rest.len() > from;
            if let Some(child) = rest.pop_if(|_| unvisited) {
                let below = visit(Visit::Enter { context: child, depth: open.len() });
                open.push((child, rest.len()));
                if below {
                    enter(child, &mut rest);
                }
            } else {
                open.pop();
                if !open.is_empty() {
                    visit(Visit::Leave { context });
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
