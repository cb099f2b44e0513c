//! Trees grown together.

use super::executed::Sums;
use crate::amounts::Amounts;
use crate::cache::CacheSpec;
use crate::model::{Counters, Departure, DepartureKind, Method, Misses, Nodes, Profile, Thread, special};
use crate::siblings::{Place, Siblings};
use rustc_hash::{FxHashMap, FxHashSet};

/// Contexts in the order in which they were first met, callers before callees.
#[derive(Debug)]
pub(super) struct Contexts {
    /// Sites are 0 where they were not distinguished.
    method: Vec<u32>,
    parent: Vec<u32>,
    site: Vec<u32>,
    /// Those of all, one after the other.
    counters: Amounts,
    /// Where each context's counters begin, and at the end their number.
    starts: Vec<usize>,
    misses: Vec<Misses>,
    /// By method and site.
    siblings: Siblings<(u32, u32)>,
    departures: FxHashMap<(u32, u32, DepartureKind), i64>,
    threads: Vec<Thread>,
    /// By label, and whether the threads are virtual.
    trees: FxHashMap<(String, bool), usize>,
}

/// What [`Contexts::finish`] answers.
pub(super) struct Columns {
    pub(super) threads: Vec<Thread>,
    pub(super) nodes: Nodes,
    pub(super) departures: Vec<Departure>,
    pub(super) misses: Vec<Misses>,
}

impl Default for Contexts {
    fn default() -> Contexts {
        Contexts {
            method: Vec::new(),
            parent: Vec::new(),
            site: Vec::new(),
            counters: Amounts::default(),
            starts: vec![0],
            misses: Vec::new(),
            siblings: Siblings::default(),
            departures: FxHashMap::default(),
            threads: Vec::new(),
            trees: FxHashMap::default(),
        }
    }
}

/// What the file cannot hold.
type TooMuch = &'static str;

/// Counters are numbers modulo 2⁶⁴ that are below 0 where a frame was caught between two of them.
fn add_counter(counters: &mut Amounts, at: usize, more: u64) -> Result<(), TooMuch> {
    let sum = (counters.get(at) as i64).checked_add(more as i64).ok_or("a count above 9,223,372,036,854,775,807")?;
    counters.set(at, sum as u64);
    Ok(())
}

fn add_misses(misses: &mut Amounts, at: u32, more: u64) -> Result<(), TooMuch> {
    let sum = misses.get(at as usize).checked_add(more).ok_or("more cache misses than 64 bits can count")?;
    misses.set(at as usize, sum);
    Ok(())
}

impl Contexts {
    /// How many caches the contexts have outcomes of. Before the first profile is added.
    pub(super) fn set_caches(&mut self, caches: usize) {
        self.misses = vec![Misses::default(); caches];
    }

    pub(super) fn remove_cache(&mut self, at: usize) {
        self.misses.remove(at);
    }

    /// Adds a profile's counts. `methods`: its methods' numbers in the merged profile; `caches`: those of the merged profile, all
    /// of which it has.
    pub(super) fn add(&mut self, profile: &Profile, methods: &[u32], caches: &[CacheSpec]) -> Result<(), TooMuch> {
        let positions = caches.iter().filter_map(|cache| profile.caches.iter().position(|c| c == cache));
        let misses: Vec<&Misses> = positions.map(|at| &profile.misses[at]).collect();
        let nodes = &profile.nodes;
        let mut place = vec![0u32; nodes.len()];
        let mut rows = nodes.rows();
        let mut threads = profile.threads.iter();
        // Runs of one program have their contexts in much the same order: what comes next is mostly what came next then.
        let mut likely = 0;
        for node in 0..nodes.len() {
            let counters = rows.of(node);
            let at = match nodes.method[node] {
                special::ROOT => match threads.next() {
                    Some(thread) => self.tree(thread)?,
                    None => return Err("more trees than threads"),
                },
                method => {
                    let method = if method < special::FIRST { methods[method as usize] } else { method };
                    let (parent, site) = (place[nodes.parent[node] as usize], nodes.site_of(node));
                    self.node(parent, method, site, counters.len(), likely)?
                }
            };
            place[node] = at;
            likely = at + 1;
            for (counter, more) in (self.starts[at as usize]..).zip(counters) {
                add_counter(&mut self.counters, counter, *more)?;
            }
            for (sum, more) in self.misses.iter_mut().zip(&misses) {
                add_misses(&mut sum.entry, at, more.entry.get(node))?;
                add_misses(&mut sum.returns, at, more.returns.get(node))?;
            }
        }
        for d in &profile.departures {
            let sum = self.departures.entry((place[d.node as usize], d.bci, d.kind)).or_insert(0);
            *sum = sum.checked_add(d.count).ok_or("more departures than 63 bits can count")?;
        }
        Ok(())
    }

    /// What was counted in some methods so far.
    pub(super) fn sums(&self, methods: &FxHashSet<u32>) -> Sums {
        let mut sums = Sums::default();
        for (node, method) in self.method.iter().enumerate().filter(|(_, method)| methods.contains(method)) {
            sums.add(*method, (self.starts[node]..self.starts[node + 1]).map(|at| self.counters.get(at)));
        }
        for (&(node, bci, kind), &count) in &self.departures {
            sums.leave(self.method[node as usize], Departure { node, bci, kind, count });
        }
        sums
    }

    /// The root of the tree for a thread: trees are one when reports show their threads under one label.
    fn tree(&mut self, thread: &Thread) -> Result<u32, TooMuch> {
        let key = (thread.label(), thread.virtual_threads);
        let Some(&known) = self.trees.get(&key) else {
            let root = self.siblings.root();
            self.push(root, special::ROOT, 0, 0)?;
            self.trees.insert(key, self.threads.len());
            self.threads.push(Thread { first_node: root, ..thread.clone() });
            return Ok(root);
        };
        let tree = &mut self.threads[known];
        tree.leases = tree.leases.checked_add(thread.leases).ok_or("more threads of one name than 32 bits can count")?;
        // Several names may have one label; which one stays must not depend on the order.
        let names = |t: &Thread| (t.name.clone(), t.similar_names, t.other_names);
        if names(thread) < names(tree) {
            *tree = Thread { leases: tree.leases, first_node: tree.first_node, ..thread.clone() };
        }
        Ok(tree.first_node)
    }

    fn node(&mut self, parent: u32, method: u32, site: u32, counters: usize, likely: u32) -> Result<u32, TooMuch> {
        let key_of = |at: u32| (self.method[at as usize], self.site[at as usize]);
        if self.parent.get(likely as usize) == Some(&parent) && key_of(likely) == (method, site) {
            return Ok(likely);
        }
        match self.siblings.place(parent, (method, site), key_of) {
            Place::Known(at) => Ok(at),
            Place::New(at) => {
                self.push(parent, method, site, counters)?;
                Ok(at)
            }
        }
    }

    fn push(&mut self, parent: u32, method: u32, site: u32, counters: usize) -> Result<(), TooMuch> {
        if self.method.len() >= special::FIRST as usize {
            return Err("more than 4,294,967,294 contexts");
        }
        self.parent.push(parent);
        self.method.push(method);
        self.site.push(site);
        (0..counters).for_each(|_| self.counters.push(0));
        self.starts.push(self.counters.len());
        for misses in &mut self.misses {
            misses.entry.push(0);
            misses.returns.push(0);
        }
        Ok(())
    }

    /// The columns of the merged profile, tree after tree. `methods` are the merged profile's.
    pub(super) fn finish(self, methods: &[Method], sites: bool) -> Columns {
        let Contexts { method, parent, site, counters, starts, misses, siblings, departures, mut threads, .. } = self;
        drop(siblings);
        // Trees were begun in the order of `threads`, and a caller's tree is its callees'.
        let mut tree_of = vec![0u32; method.len()];
        let mut first = vec![0u32; threads.len() + 1];
        let mut roots = 0;
        for node in 0..method.len() {
            let root = method[node] == special::ROOT;
            tree_of[node] = if root { roots } else { tree_of[parent[node] as usize] };
            roots += u32::from(root);
            first[tree_of[node] as usize + 1] += 1;
        }
        for tree in 0..threads.len() {
            first[tree + 1] += first[tree];
            threads[tree].first_node = first[tree];
        }
        let mut place = tree_of;
        for place in &mut place {
            let next = &mut first[*place as usize];
            *place = *next;
            *next += 1;
        }
        let mut order = vec![0u32; method.len()];
        for (old, new) in place.iter().enumerate() {
            order[*new as usize] = old as u32;
        }
        let mut departures: Vec<Departure> = departures
            .into_iter()
            .map(|((node, bci, kind), count)| Departure { node: place[node as usize], bci, kind, count })
            .collect();
        departures.sort_unstable_by_key(|d| (d.node, d.bci, d.kind));
        // Old columns go as new ones come.
        let pick = |column: Vec<u32>| -> Vec<u32> { order.iter().map(|&old| column[old as usize]).collect() };
        let pick_amounts = |column: Amounts| -> Amounts { order.iter().map(|&old| column.get(old as usize)).collect() };
        let misses =
            misses.into_iter().map(|m| Misses { entry: pick_amounts(m.entry), returns: pick_amounts(m.returns) }).collect();
        let parent = pick(parent).into_iter().map(|old| place[old as usize]).collect();
        drop(place);
        let row = |&old: &u32| (starts[old as usize]..starts[old as usize + 1]).map(|at| counters.get(at));
        let counters = Counters::in_rows(order.iter().flat_map(row), methods);
        let nodes = Nodes { method: pick(method), parent, site: if sites { pick(site) } else { Vec::new() }, counters };
        Columns { threads, nodes, departures, misses }
    }
}
