//! The profile in memory: what one run counted, and everything needed to interpret it.

use crate::amounts::Amounts;
use crate::cache::CacheSpec;
use crate::flow::Flow;
use crate::names::{Pattern, numbers_starred, stable};
pub use crate::nodes::{Counters, Nodes, NotPacked, Rows, special};
use crate::options::values;
use crate::target::ModelFile;
pub use cprof_instrument::Level;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

/// One run's counts with the classes they belong to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    /// What ran, where and how.
    pub run: RunFacts,
    /// The runs that a merged profile is of; empty for a single run's.
    pub runs: Vec<Run>,
    /// The classes that have executed methods.
    pub classes: Vec<Class>,
    /// The methods that occur in the tree.
    pub methods: Vec<Method>,
    /// Native methods that call sites of [`Profile::methods`] name.
    pub natives: Vec<Native>,
    /// Where they are called, ordered by method.
    pub native_sites: Vec<NativeSite>,
    /// One calling context tree each.
    pub threads: Vec<Thread>,
    /// The contexts of all trees, tree after tree.
    pub nodes: Nodes,
    /// Where control left blocks abnormally, ordered by node.
    pub departures: Vec<Departure>,
    /// Method caches that were simulated in the run.
    pub caches: Vec<CacheSpec>,
    /// Their outcomes, beside [`Profile::caches`].
    pub misses: Vec<Misses>,
    /// What could not be counted.
    pub gaps: Vec<Gap>,
    /// What a reader of the numbers must know besides.
    pub warnings: Vec<String>,
}

impl Profile {
    /// How many contexts it has, tree by tree. Threads' roots are none, nor are the parents of folded ones.
    pub fn contexts(&self) -> usize {
        self.nodes.method.iter().filter(|&&method| method < special::FIRST).count()
    }

    /// The nodes of a thread's tree, its root first.
    pub fn nodes_of_thread(&self, thread: usize) -> Range<usize> {
        let end = self.threads.get(thread + 1).map_or(self.nodes.len(), |next| next.first_node as usize);
        self.threads[thread].first_node as usize..end
    }

    /// Where a method calls native methods.
    pub fn native_sites_of(&self, method: u32) -> &[NativeSite] {
        let sites = &self.native_sites[self.native_sites.partition_point(|s| s.method < method)..];
        &sites[..sites.partition_point(|s| s.method == method)]
    }

    /// Those of them at a call site: bytecode index + 1, or 0 for all.
    pub fn native_sites_at(&self, method: u32, site: u32) -> &[NativeSite] {
        let sites = self.native_sites_of(method);
        if site == 0 {
            return sites;
        }
        let sites = &sites[sites.partition_point(|s| s.bci + 1 < site)..];
        &sites[..sites.partition_point(|s| s.bci + 1 == site)]
    }
}

/// Facts about the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// Version of cprof that recorded.
    pub cprof_version: String,
    /// `java.vm.version` and the like.
    pub jvm_version: String,
    /// Who made the JVM, and its name.
    pub jvm_vendor: String,
    /// The JVM's command line, one argument each.
    pub command_line: Vec<String>,
    /// What `java` was told to run: a class, `module/class` or a jar; empty when unknown.
    pub main_class: String,
    /// The agent's options as given.
    pub options: String,
    /// The processor to show unless another is asked for; empty: none was named.
    pub target: String,
    /// The files of that processor's model that do not come with cprof, as they were: the model's own, that of its base, and so on.
    /// Of merged profiles only the whole has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<ModelFile>,
    /// Process id.
    pub pid: u32,
    /// When counting began: at the JVM's start, or when cprof had attached; milliseconds since 1970 UTC.
    pub started_ms: u64,
    /// When the profile was taken, milliseconds since 1970 UTC.
    pub ended_ms: u64,
    /// Methods named by `root=`, when only their extent was counted.
    pub roots: Vec<String>,
    /// Calls that found no room in memory (not those below them, which are missing as well), exceptions and lookups in caches
    /// that found none at a stack's end; above 0 the totals are incomplete.
    pub lost_calls: u64,
    /// Contexts were folded because of `max-nodes=` or `max-memory=`; sums are exact all the same, but for calls of some native
    /// methods ([`crate::natives::NotTold`]).
    pub folded: bool,
    /// `depth=` or `recursion=fold` put calls into other contexts than their caller's.
    pub bounded: bool,
    /// Contexts distinguish call sites (`sites=on`).
    pub sites: bool,
    /// Names and descriptors of native methods for which Java methods that were not counted may have been called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncounted: Vec<String>,
    /// How the counts were read.
    #[serde(skip_serializing_if = "Taken::is_default")]
    pub taken: Taken,
}

impl Profile {
    /// What ran, for a title.
    pub fn main(&self) -> &str {
        match &*self.run.main_class {
            "" if self.runs.is_empty() => "(unknown main class)",
            "" => "(several main classes)",
            main => main,
        }
    }

    /// [`RunFacts::counted`] of its runs, if that is the same for all.
    pub fn counted(&self) -> Option<Vec<String>> {
        let Some((first, others)) = self.runs.split_first() else { return Some(self.run.counted()) };
        let counted = first.facts.counted();
        others.iter().all(|other| other.facts.counted() == counted).then_some(counted)
    }

    /// How contexts were folded, as options: `depth=`, `recursion=fold`. Its runs, if there are several, are alike in that.
    pub fn bounds(&self) -> Vec<String> {
        let run = self.runs.first().map_or(&self.run, |run| &run.facts);
        let depth = values(&run.options, "depth").map(|depth| format!("depth={depth}"));
        let folds = values(&run.options, "recursion").filter(|value| *value == "fold").map(|fold| format!("recursion={fold}"));
        let mut bounds: Vec<String> = depth.chain(folds).collect();
        if self.run.bounded && bounds.is_empty() {
            bounds.push("depth= or recursion=fold".to_owned());
        }
        bounds.sort_unstable();
        bounds
    }

    /// [`RunFacts::fixed_cache`] of its runs, if that is the same for all.
    pub fn fixed_cache(&self) -> Option<CacheSpec> {
        let Some((first, others)) = self.runs.split_first() else { return self.run.fixed_cache() };
        let fixed = first.facts.fixed_cache();
        fixed.filter(|_| others.iter().all(|other| other.facts.fixed_cache() == fixed))
    }
}

impl RunFacts {
    /// The first cache of `cache=` whose outcomes need no simulation: ideal, none. A recording for which only such were wished
    /// lists no caches.
    pub fn fixed_cache(&self) -> Option<CacheSpec> {
        values(&self.options, "cache").filter_map(|list| CacheSpec::list(list).ok()).flatten().find(CacheSpec::is_fixed)
    }

    /// What decides which bytecodes are counted, as options: `root=`, `include=`, `exclude=`, and `bba=` unless it says what holds
    /// anyway. Empty: everything, to the bytecode.
    pub fn counted(&self) -> Vec<String> {
        let mut given: Vec<String> = self.roots.iter().map(|root| format!("root={root}")).collect();
        for name in ["include", "exclude", "bba"] {
            let decides = values(&self.options, name).filter(|value| (name, *value) != ("bba", "precise"));
            given.extend(decides.map(|value| format!("{name}={value}")));
        }
        given.sort_unstable();
        given.dedup();
        given
    }
}

/// One of the runs that a profile was merged from ([`crate::merge`]).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The profile it was in, as the command named it.
    #[serde(default)]
    pub file: String,
    /// What ran, where and how.
    #[serde(flatten)]
    pub facts: RunFacts,
}

/// Milliseconds since 1970 UTC, as runs are dated.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

/// How the counts of a profile were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Taken {
    /// By the agent, with the program's threads stopped and their stacks known: exact.
    #[default]
    Agent,
    /// From the recording of a program that ran on meanwhile.
    Running,
    /// From the recording of a program that was killed.
    Killed,
}

impl Taken {
    /// As most profiles are.
    fn is_default(&self) -> bool {
        *self == Taken::Agent
    }

    /// What a reader of the numbers must know; none for exact profiles.
    pub fn caution(self) -> Option<&'static str> {
        match self {
            Taken::Agent => None,
            Taken::Running => {
                Some("read while the program ran: each context at a moment of its own, methods active then within one execution")
            }
            Taken::Killed => Some("recovered after the program was killed: methods active then are within one execution"),
        }
    }
}

/// A class with its original bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Internal name, e.g. `java/lang/String`, as the JVM had it.
    pub name: String,
    /// The defining loader as text; empty for the boot loader.
    pub loader: String,
    /// Defined as a hidden class.
    pub hidden: bool,
    /// The `SourceFile` attribute; empty when there is none.
    pub source_file: String,
    /// The class file before weaving.
    pub bytes: Vec<u8>,
}

/// The number of a level in files and logs.
pub fn level_number(level: Level) -> u8 {
    match level {
        Level::Precise => 0,
        Level::Block => 1,
    }
}

/// The level of a number in a file or log.
pub fn level_from_number(number: u8) -> Option<Level> {
    match number {
        0 => Some(Level::Precise),
        1 => Some(Level::Block),
        _ => None,
    }
}

/// A method that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// Index in [`Profile::classes`].
    pub class: u32,
    /// Position in the class file's method table.
    pub index: u16,
    /// Simple name.
    pub name: String,
    /// Descriptor.
    pub descriptor: String,
    /// Access flags.
    pub access: u16,
    /// How it was counted.
    pub level: Level,
    /// Blocks and edges, and which edges have counters.
    pub flow: Flow,
}

/// A native method.
#[derive(Debug, Clone, PartialEq)]
pub struct Native {
    /// Internal name of the class that declares it.
    pub class: String,
    /// Simple name.
    pub name: String,
    /// Descriptor.
    pub descriptor: String,
}

/// A call whose statically resolved method is native.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeSite {
    /// Calling method, index in [`Profile::methods`].
    pub method: u32,
    /// Bytecode index of the call.
    pub bci: u32,
    /// Index in [`Profile::natives`].
    pub native: u32,
    /// The receiver's class may select a Java method instead.
    pub dynamic: bool,
}

/// A calling context tree and the thread, or threads one after the other, that grew it.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// Name of the first thread.
    pub name: String,
    /// Others had names that differ in digits only.
    pub similar_names: bool,
    /// Others had other names.
    pub other_names: bool,
    /// Grown by virtual threads.
    pub virtual_threads: bool,
    /// How many threads.
    pub leases: u32,
    /// Its root: index in the nodes. The tree's nodes are this one up to the next thread's first.
    pub first_node: u32,
}

impl Thread {
    /// The name for reports: running numbers become `*` where several threads shared the tree.
    pub fn label(&self) -> String {
        let mut label = String::new();
        if self.name.is_empty() {
            label.push_str(if self.virtual_threads { "(virtual threads)" } else { "(unnamed)" });
        } else if self.similar_names {
            label.push_str(&numbers_starred(&self.name));
        } else {
            label.push_str(&self.name);
        }
        if self.other_names {
            label.push_str(" and others");
        }
        label
    }
}

/// A method cache's outcomes: per node, how often it missed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Misses {
    /// When the context was entered: its own method was not in the cache.
    pub entry: Amounts,
    /// When the context returned normally: its caller's method was not in the cache.
    pub returns: Amounts,
}

/// How control left a block other than along an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DepartureKind {
    /// An exception left the method.
    Thrown = 0,
    /// An exception went to a handler of the method.
    Caught = 1,
    /// The frame was still there when the profile was taken.
    Active = 2,
}

impl DepartureKind {
    /// The kind of a number in a file.
    pub fn from_number(number: u8) -> Option<DepartureKind> {
        match number {
            0 => Some(DepartureKind::Thrown),
            1 => Some(DepartureKind::Caught),
            2 => Some(DepartureKind::Active),
            _ => None,
        }
    }
}

impl Profile {
    /// Methods counted by blocks that were left in the midst of some, in the nodes that are `chosen`: what was executed in these
    /// blocks is not known to the bytecode.
    pub fn left_blocks(&self, chosen: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        let method = |d: &Departure| self.nodes.method[d.node as usize];
        let by_block = |m: &u32| self.methods.get(*m as usize).is_some_and(|method| method.level == Level::Block);
        self.departures.iter().filter(|d| chosen(d.node)).map(method).filter(by_block).collect()
    }
}

impl Method {
    /// Sets `left` to what left each block in its midst.
    pub fn left(&self, departures: &[Departure], left: &mut Vec<i64>) {
        left.clear();
        left.resize(self.flow.blocks.len(), 0);
        for d in departures {
            if let Some(block) = self.flow.block_at(d.bci) {
                left[block] = left[block].wrapping_add(d.count);
            }
        }
    }

    /// How often a bytecode was executed, by one who knows how often its block was `entered`.
    pub fn executions(&self, block: usize, bci: u32, entered: i64, departures: &[Departure]) -> i64 {
        let start = match self.level {
            Level::Precise => self.flow.blocks[block].start,
            Level::Block => bci,
        };
        let before = departures.iter().filter(|d| (start..bci).contains(&d.bci));
        before.fold(entered, |n, d| n.wrapping_sub(d.count))
    }

    /// Where the bytecode stands that threw in a [`Departure`] at `bci`. Counted by blocks, any of its block may have; that is
    /// charged whole, and of the block's last bytecode it is certain, if that always throws, whether it was reached or not.
    pub fn thrower(&self, bci: u32) -> Option<u32> {
        match self.level {
            Level::Precise => Some(bci),
            Level::Block => {
                let at = self.flow.block_at(bci)?;
                let leads_on = self.flow.edges.iter().any(|e| e.from as usize == at);
                // What leads nowhere ends with athrow, one byte long.
                (!leads_on).then(|| self.flow.blocks[at].end - 1)
            }
        }
    }
}

/// Departures from one bytecode in one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The context.
    pub node: u32,
    /// The last bytecode executed; for [`Level::Block`] any in the block.
    pub bci: u32,
    /// How.
    pub kind: DepartureKind,
    /// How often. Negative where counting was resumed in the middle of a frame.
    pub count: i64,
}

/// Something that was not counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Internal name of the class.
    pub class: String,
    /// Method name and descriptor; none: the whole class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Why, as a sentence.
    pub reason: String,
}

impl Gap {
    /// Whether it is a method's, or its class's (internal name).
    pub fn is_of(&self, class: &str, method: &str, descriptor: &str) -> bool {
        let is = |gap: &String| gap.strip_prefix(method) == Some(descriptor);
        self.class == class && self.method.as_ref().is_none_or(is)
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        let method = self.method.iter().map(|method| format!(".{method}")).collect::<String>();
        format!("{}{method}", stable(&self.class, false))
    }

    /// Whether a pattern names it, or its class, or methods of it if it is one.
    pub fn is_named_by(&self, pattern: &Pattern) -> bool {
        let class = stable(&self.class, false);
        let method = self.method.as_deref().map(|method| method.split_at(method.find('(').unwrap_or(method.len())));
        pattern.matches(&class)
            || method.map_or_else(
                || pattern.class().is_some_and(|of_class| of_class.matches(&class)),
                |(name, descriptor)| pattern.matches_method(&class, name, descriptor),
            )
    }
}
