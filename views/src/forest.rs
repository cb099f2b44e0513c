//! Trees merged by name, in an order that depends on names only.

use cprof_profile::amounts::Amounts;
use cprof_profile::siblings::{Place, Siblings, callees};
use cprof_profile::tree::{FOLDED, Symbol, Symbols, Tree, What, twins, with_callees};
use rustc_hash::FxHashMap;

/// The name of the root's symbol.
const ROOT: &str = "all";

/// A symbol that is no method.
fn special(name: &str) -> Symbol {
    Symbol { class: String::new(), method: name.to_owned(), descriptor: String::new(), native: false }
}

/// Trees in the making: contexts that have their callers' names in common are one.
#[derive(Debug)]
pub struct Forest {
    sites: bool,
    symbols: Vec<Symbol>,
    numbers: FxHashMap<Symbol, u32>,
    contexts: Vec<Key>,
    siblings: Siblings<(u32, u32)>,
}

/// What makes a context: the caller's context, the symbol, the call site (bci + 1; 0 unknown or not told apart).
#[derive(Debug, Clone, Copy)]
struct Key {
    parent: u32,
    symbol: u32,
    site: u32,
}

/// Per context of a tree that was added: its context in the forest.
#[derive(Debug)]
pub struct Places(Vec<u32>);

impl Forest {
    /// Only a root. `sites`: contexts that differ in the call site are different.
    pub fn new(sites: bool) -> Forest {
        let mut forest = Forest {
            sites,
            symbols: Vec::new(),
            numbers: FxHashMap::default(),
            contexts: Vec::new(),
            siblings: Siblings::default(),
        };
        let root = Key { parent: 0, symbol: forest.number(&special(ROOT)), site: 0 };
        forest.contexts.push(root);
        forest.siblings.root();
        forest
    }

    /// Contexts that differ in the call site are different.
    pub fn tells_sites(&self) -> bool {
        self.sites
    }

    fn number(&mut self, symbol: &Symbol) -> u32 {
        if let Some(&number) = self.numbers.get(symbol) {
            return number;
        }
        let number = self.symbols.len() as u32;
        self.symbols.push(symbol.clone());
        self.numbers.insert(symbol.clone(), number);
        number
    }

    /// Merges a tree in.
    pub fn add(&mut self, symbols: &Symbols, tree: &Tree) -> Places {
        let numbers: Vec<u32> = symbols.list.iter().map(|s| self.number(s)).collect();
        let folded = self.number(&special(FOLDED));
        let mut places = vec![0; tree.len()];
        for (i, context) in tree.contexts().enumerate().skip(1) {
            let symbol = match context.what {
                What::Method(symbol) => numbers[symbol as usize],
                What::Folded | What::Root => folded,
            };
            let site = if self.sites { context.site } else { 0 };
            let parent = places[context.parent as usize];
            let of = |at: u32| (self.contexts[at as usize].symbol, self.contexts[at as usize].site);
            places[i] = match self.siblings.place(parent, (symbol, site), of) {
                Place::Known(at) => at,
                Place::New(at) => {
                    self.contexts.push(Key { parent, symbol, site });
                    at
                }
            };
        }
        Places(places)
    }

    /// Puts the contexts in order: each before its callees, these by name, with everything below one before the next.
    pub fn arrange(self) -> Arranged {
        let Forest { symbols, contexts, siblings, .. } = self;
        // Room for what follows.
        drop(siblings);
        let mut by_name: Vec<u32> = (1..symbols.len() as u32).collect();
        by_name.sort_by(|&a, &b| symbols[a as usize].cmp(&symbols[b as usize]));
        // The root's stays the first.
        by_name.insert(0, 0);
        let mut rank = vec![0; symbols.len()];
        by_name.iter().enumerate().for_each(|(r, &s)| rank[s as usize] = r as u32);

        let (starts, mut children) = callees(&contexts, |c| c.parent);
        for c in 0..contexts.len() {
            let key = |&c: &u32| (rank[contexts[c as usize].symbol as usize], contexts[c as usize].site);
            children[starts[c] as usize..starts[c + 1] as usize].sort_by_key(key);
        }

        let n = contexts.len();
        let symbols: Vec<Symbol> = by_name.iter().map(|&s| symbols[s as usize].clone()).collect();
        let mut arranged = Arranged {
            twins: twins(symbols.iter()),
            symbols,
            symbol: Vec::with_capacity(n),
            parent: Vec::with_capacity(n),
            site: Vec::with_capacity(n),
            end: vec![0; n],
            position: vec![0; n],
        };
        // A stack of our own: contexts may be a hundred thousand deep.
        let mut open = vec![0u32];
        while let Some(c) = open.pop() {
            let context = contexts[c as usize];
            arranged.position[c as usize] = arranged.symbol.len() as u32;
            arranged.symbol.push(rank[context.symbol as usize]);
            arranged.parent.push(arranged.position[context.parent as usize]);
            arranged.site.push(context.site);
            open.extend(children[starts[c as usize] as usize..starts[c as usize + 1] as usize].iter().rev());
        }
        for i in (0..n).rev() {
            arranged.end[i] = arranged.end[i].max(i as u32 + 1);
            let parent = arranged.parent[i] as usize;
            arranged.end[parent] = arranged.end[parent].max(arranged.end[i]);
        }
        arranged
    }
}

/// The contexts of a forest in order; the first is the root.
#[derive(Debug)]
pub struct Arranged {
    /// In order of name, after the root's.
    pub symbols: Vec<Symbol>,
    /// Of each symbol: as of [`twins`].
    pub twins: Vec<bool>,
    /// Per context: index in the symbols.
    pub symbol: Vec<u32>,
    /// Per context: the caller's; the root's is itself.
    pub parent: Vec<u32>,
    /// Per context: the call site, bci + 1; 0 unknown or not told apart.
    pub site: Vec<u32>,
    /// Per context: where the contexts below it end.
    pub end: Vec<u32>,
    position: Vec<u32>,
}

impl Arranged {
    /// Number of contexts, with the root.
    pub fn len(&self) -> usize {
        self.symbol.len()
    }

    /// Never: there is a root.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Where the contexts of a tree are that was added.
    pub fn positions(&self, places: &Places) -> Vec<u32> {
        places.0.iter().map(|&p| self.position[p as usize]).collect()
    }

    /// A column beside the contexts of a tree that was added, as one beside these.
    pub fn column(&self, positions: &[u32], own: &Amounts) -> Amounts {
        let mut column = Amounts::zeros(self.len());
        for (&at, value) in positions.iter().zip(own.iter()) {
            column.add(at as usize, value);
        }
        column
    }

    /// What those contexts cost in which another profile has `counted` nothing, nor below them.
    pub fn apart(&self, own: &Amounts, counted: &Amounts) -> u64 {
        let counted = self.totals(counted);
        own.iter().zip(counted.iter()).filter(|(_, counted)| *counted == 0).fold(0u64, |sum, (own, _)| sum.saturating_add(own))
    }

    /// With the contexts below.
    pub fn totals(&self, own: &Amounts) -> Amounts {
        with_callees(own.clone(), |i| self.parent[i])
    }
}
