//! The calling context tree by name: threads merged, running numbers of hidden classes gone.
//!
//! [`symbols`](Symbols) are the names, `build` grows trees, and here is how they are read.

mod build;
mod columns;
mod symbols;

use crate::amounts::Amounts;
use crate::cycles::Metrics;
use columns::Contexts;
pub use symbols::{Symbol, Symbols, twins};

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

/// What contexts folded for want of room are called.
pub const FOLDED: &str = "(contexts folded for want of room)";

impl What {
    /// Its name: of a method what `method` answers.
    pub fn name(self, method: impl FnOnce(u32) -> String) -> String {
        match self {
            What::Method(symbol) => method(symbol),
            What::Root | What::Folded => FOLDED.to_owned(),
        }
    }
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

/// The calling context tree.
#[derive(Debug, Clone)]
pub struct Tree {
    contexts: Contexts,
    total: Amounts,
    cycles_total: Amounts,
    /// Per node of the profile, the context it is part of; 0 for nodes that are in none. (Contexts of native methods are no
    /// nodes.)
    pub of_node: Vec<u32>,
    /// In a tree with threads apart, the context that stands for the threads of a label, in order of contexts, and the label.
    pub threads: Vec<(u32, String)>,
    starts: Vec<u32>,
    children: Vec<u32>,
}

/// Adds to the number of each context those of the contexts below it. Callers stand before callees; a root is its own.
pub fn with_callees(mut numbers: Amounts, parent_of: impl Fn(usize) -> u32) -> Amounts {
    for i in (1..numbers.len()).rev() {
        numbers.add(parent_of(i) as usize, numbers.get(i));
    }
    numbers
}

impl Tree {
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

    /// Per context, the position of its thread in [`Tree::threads`]; nothing in a tree that has threads merged. The root's means
    /// nothing.
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
        // Stacks of our own: contexts may be a hundred thousand deep. A context that is open has its callees that were not
        // visited yet from a place on.
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

/// Which methods are active on a [`Tree::walk`]: what a recursive method's inner calls cost is in the outer one's already.
pub struct Active(Vec<u32>);

impl Active {
    /// None of so many methods, or whatever is numbered from 0, is.
    pub fn new(methods: usize) -> Active {
        Active(vec![0; methods])
    }

    /// A call begins. Answers whether it is an outermost one.
    pub fn enter(&mut self, method: u32) -> bool {
        let calls = &mut self.0[method as usize];
        *calls += 1;
        *calls == 1
    }

    /// The last call of it that has begun ends. Answers whether it was an outermost one.
    pub fn leave(&mut self, method: u32) -> bool {
        let calls = &mut self.0[method as usize];
        *calls -= 1;
        *calls == 0
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
