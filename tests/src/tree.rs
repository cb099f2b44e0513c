//! Calling context trees by name, and where two of them differ.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// What is counted of a context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls.
    pub calls: u64,
    /// Exceptional exits.
    pub thrown: u64,
    /// Executed bytecodes.
    pub bytecodes: u64,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.calls += other.calls;
        self.thrown += other.thrown;
        self.bytecodes += other.bytecodes;
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(all: I) -> Counts {
        let mut sum = Counts::default();
        all.for_each(|c| sum.add(c));
        sum
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls, {} exceptional exits, {} bytecodes", self.calls, self.thrown, self.bytecodes)
    }
}

/// A context; contexts of one name and caller are one.
#[derive(Debug)]
struct Node {
    name: usize,
    parent: usize,
    counts: Counts,
}

/// Which calls have a context of their own: the user's options, written here a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// All.
    None,
    /// Those down to this depth, below the first (`depth=`); a deeper one is as if its caller so far down had called it.
    Depth(usize),
    /// Those of methods that are not active yet (`recursion=fold`); another is as if it were the active one going on.
    Recursion,
}

/// A tree; node 0 is its root.
#[derive(Debug)]
pub struct Tree {
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
    nodes: Vec<Node>,
    children: BTreeMap<(usize, usize), usize>,
}

impl Default for Tree {
    fn default() -> Tree {
        let root = Node { name: usize::MAX, parent: 0, counts: Counts::default() };
        Tree { names: Vec::new(), numbers: BTreeMap::new(), nodes: vec![root], children: BTreeMap::new() }
    }
}

impl Tree {
    /// Adds counts to the context of a method (`Class.method(descriptor)`) below a context; answers it.
    pub fn add(&mut self, parent: usize, method: &str, counts: Counts) -> usize {
        let name = match self.numbers.get(method) {
            Some(&name) => name,
            None => {
                self.names.push(method.to_owned());
                self.numbers.insert(method.to_owned(), self.names.len() - 1);
                self.names.len() - 1
            }
        };
        let at = *self.children.entry((parent, name)).or_insert_with(|| {
            self.nodes.push(Node { name, parent, counts: Counts::default() });
            self.nodes.len() - 1
        });
        self.nodes[at].counts.add(counts);
        at
    }

    /// Number of contexts.
    pub fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sum over all contexts of a method.
    pub fn of_method(&self, method: &str) -> Counts {
        let name = self.numbers.get(method);
        self.nodes.iter().filter(|n| Some(&n.name) == name).map(|n| n.counts).sum()
    }

    /// The sum over all contexts.
    pub fn total(&self) -> Counts {
        self.nodes.iter().map(|n| n.counts).sum()
    }

    /// The contexts at and below the outermost calls of some methods (`Class.method`, any descriptor), without those of methods
    /// that `transparent` names, whose callees stand below their callers.
    pub fn below(&self, roots: &[String], transparent: impl Fn(&str) -> bool) -> Tree {
        let mut out = Tree::default();
        let mut place = vec![None; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().skip(1) {
            let method = &self.names[node.name];
            place[i] = match place[node.parent] {
                Some(parent) if transparent(method) => Some(parent),
                Some(parent) => Some(out.add(parent, method, node.counts)),
                None if roots.iter().any(|r| method.strip_prefix(r.as_str()).is_some_and(|rest| rest.starts_with('('))) => {
                    Some(out.add(0, method, node.counts))
                }
                None => None,
            };
        }
        out
    }

    /// With the contexts that there are when some are folded.
    pub fn bounded(&self, bound: Bound) -> Tree {
        let mut out = Tree::default();
        let mut place = vec![0; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().skip(1) {
            let mut parent = place[node.parent];
            match bound {
                Bound::None => {}
                Bound::Depth(depth) if out.depth(parent) <= depth => {}
                Bound::Depth(_) => parent = out.nodes[parent].parent,
                Bound::Recursion => {
                    let same = |&at: &usize| out.names[out.nodes[at].name] == self.names[node.name];
                    let active = out.ancestors(parent).find(same);
                    if let Some(active) = active {
                        out.nodes[active].counts.add(node.counts);
                        place[i] = active;
                        continue;
                    }
                }
            }
            place[i] = out.add(parent, &self.names[node.name], node.counts);
        }
        out
    }

    /// The methods that are called, but for those that are called anywhere below some.
    pub fn called(&self, outside: impl Fn(&str) -> bool) -> HashSet<&str> {
        let name = |node: usize| self.names[self.nodes[node].name].as_str();
        let mut below = vec![false; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().skip(1).filter(|(_, node)| node.parent != 0) {
            below[i] = below[node.parent] || outside(name(node.parent));
        }
        let mut names: HashSet<&str> = (1..self.nodes.len()).map(name).collect();
        (1..self.nodes.len()).filter(|&i| below[i]).for_each(|i| _ = names.remove(name(i)));
        names
    }

    /// Without some methods and what is below them.
    pub fn without(&self, at: impl Fn(&str) -> bool) -> Tree {
        let mut out = Tree::default();
        let mut place = vec![Some(0); self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().skip(1) {
            let method = &self.names[node.name];
            place[i] = place[node.parent].filter(|_| !at(method)).map(|parent| out.add(parent, method, node.counts));
        }
        out
    }

    /// What was counted since an earlier tree of the same run. Contexts in which nothing was are left out, unless one below them
    /// counts.
    pub fn since(&self, earlier: &Tree) -> Tree {
        let before = self.counterpart(earlier);
        let more = |i: usize| {
            let (now, then) = (self.nodes[i].counts, before[i].map_or(Counts::default(), |at| earlier.nodes[at].counts));
            Counts { calls: now.calls - then.calls, thrown: now.thrown - then.thrown, bytecodes: now.bytecodes - then.bytecodes }
        };
        let mut counts = vec![false; self.nodes.len()];
        for i in (1..self.nodes.len()).rev() {
            counts[i] |= more(i) != Counts::default();
            counts[self.nodes[i].parent] |= counts[i];
        }
        let mut out = Tree::default();
        let mut place = vec![0; self.nodes.len()];
        for i in (1..self.nodes.len()).filter(|&i| counts[i]) {
            place[i] = out.add(place[self.nodes[i].parent], &self.names[self.nodes[i].name], more(i));
        }
        out
    }

    /// Without what is below some methods, and without those methods' bytecodes.
    pub fn cut(&self, at: impl Fn(&str) -> bool) -> Tree {
        let mut out = Tree::default();
        let mut place = vec![Some(0); self.nodes.len()];
        let mut leaf = vec![false; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().skip(1) {
            let method = &self.names[node.name];
            leaf[i] = at(method);
            place[i] = match place[node.parent] {
                Some(_) if leaf[node.parent] => None,
                Some(parent) if leaf[i] => Some(out.add(parent, method, Counts { bytecodes: 0, ..node.counts })),
                Some(parent) => Some(out.add(parent, method, node.counts)),
                None => None,
            };
        }
        out
    }

    /// From the root to a context, the last few.
    fn path(&self, node: usize) -> String {
        const SHOWN: usize = 5;
        let mut names = Vec::new();
        let mut at = node;
        while at != 0 && names.len() < SHOWN {
            names.push(self.names[self.nodes[at].name].as_str());
            at = self.nodes[at].parent;
        }
        if at != 0 {
            names.push("…");
        }
        names.reverse();
        names.join("\n        > ")
    }

    /// The same context in another tree.
    fn counterpart(&self, other: &Tree) -> Vec<Option<usize>> {
        let mut same = vec![None; self.nodes.len()];
        same[0] = Some(0);
        for (i, node) in self.nodes.iter().enumerate().skip(1) {
            same[i] = same[node.parent].and_then(|parent| {
                let name = other.numbers.get(&self.names[node.name])?;
                other.children.get(&(parent, *name)).copied()
            });
        }
        same
    }

    /// Where the trees differ: the outermost contexts first, at most a few, and how many in all. `None`: they are equal.
    pub fn difference(&self, mine: &str, other: &Tree, theirs: &str) -> Option<String> {
        const SHOWN: usize = 6;
        let mut lines = Vec::new();
        let mut count = 0;
        let here = self.counterpart(other);
        for (i, node) in self.nodes.iter().enumerate().skip(1) {
            let text = match here[i] {
                Some(there) if other.nodes[there].counts == node.counts => continue,
                Some(there) => format!("{mine}: {}\n      {theirs}: {}", node.counts, other.nodes[there].counts),
                None if here[node.parent].is_none() => continue, // the caller was told
                None => format!("{mine}: {}\n      {theirs}: no such context", node.counts),
            };
            count += 1;
            lines.push((self.depth(i), format!("    {}\n      {text}", self.path(i))));
        }
        let there = other.counterpart(self);
        for (i, node) in other.nodes.iter().enumerate().skip(1) {
            if there[i].is_none() && there[node.parent].is_some() {
                count += 1;
                let text = format!("    {}\n      {mine}: no such context\n      {theirs}: {}", other.path(i), node.counts);
                lines.push((other.depth(i), text));
            }
        }
        if count == 0 {
            return None;
        }
        lines.sort_by_key(|(depth, _)| *depth);
        let shown: Vec<String> = lines.into_iter().take(SHOWN).map(|(_, text)| text).collect();
        let sizes = format!(
            "  {mine}: {} contexts, {}\n  {theirs}: {} contexts, {}",
            self.len(),
            self.total(),
            other.len(),
            other.total()
        );
        Some(format!("{count} contexts differ\n{sizes}\n{}", shown.join("\n")))
    }

    fn depth(&self, node: usize) -> usize {
        self.ancestors(node).count()
    }

    /// A context and its callers, without the root.
    fn ancestors(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(node), |&at| Some(self.nodes[at].parent)).take_while(|&at| at != 0)
    }
}

/// A class name without what the JVM numbers as it goes (addresses and counters of hidden classes, accessors of reflection):
/// written here a second time, so that cprof's own rule is tested, too.
pub fn stable(class: &str) -> String {
    let mut name = class;
    if let Some(at) = [".0x", "/0x", "+0x"].iter().find_map(|mark| name.rfind(mark))
        && name[at + 3..].bytes().all(|b| b.is_ascii_hexdigit())
    {
        name = &name[..at];
    }
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbered = ["$$Lambda$", "MethodAccessor", "ConstructorAccessor"];
    if bare.len() < name.len()
        && numbered.iter().any(|n| bare.ends_with(n))
        && (bare.ends_with('$') || bare.contains("Generated"))
    {
        name = bare.trim_end_matches('$');
    }
    // Of a lambda in a hidden class.
    let mut parts = name.split("_0x");
    let host = parts.next().unwrap_or_default().to_owned();
    parts.fold(host, |name, part| if part.find("$$Lambda") == Some(16) { name + &part[16..] } else { name + "_0x" + part })
}
