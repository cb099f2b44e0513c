//! A capture and the class log joined to a profile.

use super::capture::{Capture, CapturedTree};
use super::log::{Log, NOT_SELECTED};
use super::resolve::Hierarchy;
use crate::code::text;
use crate::file::{self, WriteError};
use crate::flow::{Block, Edge, Flow};
use crate::leb128;
use crate::measure::ByNode;
use crate::model::{Class, Counters, Departure, DepartureKind, Gap, Method, Nodes, Profile, RunFacts, Taken, special};
use crate::names::{Pattern, counted, dotted, selects};
use crate::options::values;
use cprof_instrument::Planner;
use cprof_instrument::abi::{flags, kind};
use cprof_instrument::classfile::ClassFile;
use rustc_hash::{FxHashMap, FxHashSet};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::vec;

/// What was written, for the line at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Contexts in it, those of each thread by themselves.
    pub contexts: usize,
    /// Threads, or groups of them with one tree.
    pub threads: usize,
    /// Methods that ran.
    pub methods: usize,
    /// Methods that are not covered.
    pub methods_not_covered: usize,
    /// Classes that are not covered.
    pub classes_not_covered: usize,
}

/// Writes the profile of a capture. The file appears under its name when it is whole, and not before.
pub fn write(out: &Path, capture: Capture, log: &Log<'_>, run: RunFacts) -> Result<Summary, WriteError> {
    let profile = assemble(capture, log, run);
    let bytes = file::write(out, &profile)?;
    let whole_classes = profile.gaps.iter().filter(|g| g.method.is_none()).count();
    Ok(Summary {
        path: out.to_owned(),
        bytes,
        contexts: profile.contexts(),
        threads: profile.threads.len(),
        methods: profile.methods.len(),
        methods_not_covered: profile.gaps.len() - whole_classes,
        classes_not_covered: whole_classes,
    })
}

/// Joins a capture with the classes it refers to. What does not fit together is left out and named in the warnings.
pub fn assemble(mut capture: Capture, log: &Log<'_>, mut run: RunFacts) -> Profile {
    run.lost_calls = capture.lost_calls;
    run.sites = capture.flags & flags::SITES != 0;
    run.bounded = capture.flags & flags::FOLD != 0 || capture.depth != 0;
    run.folded = capture.flags & flags::OVERFLOW != 0;
    let mut assembly = Assembly {
        log,
        hierarchy: Hierarchy::new(log),
        planner: Planner::default(),
        profile: Profile { run, ..Profile::default() },
        classes: FxHashMap::default(),
        methods: FxHashMap::default(),
        misfits: FxHashMap::default(),
        misplaced: 0,
    };
    assembly.nodes(&mut capture);
    // In a capture of running threads, some may be folded since its flags were read.
    assembly.profile.run.folded |= assembly.profile.nodes.method.contains(&special::FOLDED);
    assembly.gaps();
    let Assembly { mut profile, hierarchy, misfits, misplaced, .. } = assembly;
    let dynamic: FxHashSet<u32> = profile.native_sites.iter().filter(|s| s.dynamic).map(|s| s.native).collect();
    let uncounted =
        dynamic.iter().map(|&native| &hierarchy.found[native as usize]).filter(|native| hierarchy.is_uncounted(native));
    profile.run.uncounted = uncounted.map(|native| native.name.clone() + &native.descriptor).collect();
    profile.run.uncounted.sort();
    profile.run.uncounted.dedup();
    profile.natives = hierarchy.found;
    profile.native_sites.sort_by_key(|s| (s.method, s.bci));
    profile.warnings = log.warnings.iter().map(|w| (*w).to_owned()).collect();
    profile.warnings.extend(capture.warnings);
    profile.warnings.extend(torn(log, profile.run.taken));
    profile.warnings.extend(without_classes(log, &profile.run));
    profile.warnings.extend(left_out(log, &profile.run.options, &profile.run.roots));
    if misplaced > 0 {
        let places = counted(misplaced, "place", "places");
        profile.warnings.push(format!("{places} of exceptions lie in no block of their methods; those blocks count whole"));
    }
    let mut misfits: Vec<_> = misfits.into_iter().collect();
    misfits.sort();
    let left_out = |nodes| counted(nodes, "context was left out", "contexts were left out");
    profile.warnings.extend(misfits.into_iter().map(|(what, nodes)| format!("{}: {what}", left_out(nodes))));
    profile
}

/// Patterns of `include=` that left everything out.
fn without_classes(log: &Log<'_>, run: &RunFacts) -> Option<String> {
    let fits = |pattern: &Pattern| log.classes.iter().any(|class| pattern.matches(&dotted(class.name)));
    let without: Vec<&str> = values(&run.options, "include").filter(|include| !fits(&Pattern::new(include))).collect();
    let without = without.join(", ");
    let so_far = if run.taken == Taken::Running { " so far" } else { "" };
    (!without.is_empty()).then(|| {
        format!(
            "include={without} fits no class{so_far}: it takes whole names, as com.acme.Main, or with * for any characters, as com.acme.*"
        )
    })
}

/// Roots whose class `include=` and `exclude=` leave out; of those that name one method. (Some are woven all the same.)
fn left_out(log: &Log<'_>, options: &str, roots: &[String]) -> Option<String> {
    let patterns = |name: &str| -> Vec<Pattern> { values(options, name).map(Pattern::new).collect() };
    let [include, exclude] = ["include", "exclude"].map(patterns);
    let is_left_out = |root: &&String| {
        let root = dotted(root);
        let method = root.split('(').next().filter(|method| !method.contains('*'));
        let Some((class, _)) = method.and_then(|method| method.rsplit_once('.')) else { return false };
        let is_woven = log.classes.iter().any(|c| !c.methods.is_empty() && dotted(c.name) == class);
        !selects(&include, &exclude, class) && !is_woven
    };
    let without: Vec<&str> = roots.iter().filter(is_left_out).map(String::as_str).collect();
    (!without.is_empty())
        .then(|| format!("no calls of root={} are counted: include= and exclude= leave its class out", without.join(", root=")))
}

/// What is to be said of a log's end. A record that is being written is of a class that has not run.
fn torn(log: &Log<'_>, taken: Taken) -> Option<String> {
    let bytes = log.torn;
    match (bytes, log.unfinished, taken) {
        (0, ..) | (_, true, Taken::Running) => None,
        (_, true, _) => {
            Some(format!("the class log ends with {bytes} bytes of a record that was not finished; they were ignored"))
        }
        (_, false, _) => Some(format!("the last {bytes} bytes of the class log are damaged and were ignored")),
    }
}

/// In place of a node's new number: left out, as it ran outside of the roots or during a pause.
const OUTSIDE: u32 = u32::MAX;
/// Left out, as it does not fit together with the class log.
const MISFIT: u32 = u32::MAX - 1;

/// Nodes that were taken over.
struct Moved {
    kept: usize,
    /// By the old number; empty where all stay.
    new_index: Vec<u32>,
}

type Trees = Peekable<vec::IntoIter<CapturedTree>>;

struct Assembly<'l, 'a> {
    log: &'l Log<'a>,
    hierarchy: Hierarchy<'a>,
    planner: Planner,
    profile: Profile,
    /// Position in the profile by position in the log.
    classes: FxHashMap<usize, u32>,
    /// Position in the profile by id, or why its nodes cannot be used.
    methods: FxHashMap<u32, Result<u32, String>>,
    misfits: FxHashMap<String, u64>,
    /// Departures from bytecodes that their methods do not have.
    misplaced: u64,
}

impl<'a> Assembly<'_, 'a> {
    /// Takes over the nodes, but for what ran outside the root= methods, or only while counting was paused. In place, as there may
    /// be millions.
    fn nodes(&mut self, capture: &mut Capture) {
        let mut trees = std::mem::take(&mut capture.trees).into_iter().peekable();
        // Mostly all of them.
        let unmoved = if capture.less_pauses { 0 } else { self.unmoved(capture, &mut trees) };
        let Moved { kept, new_index } = self.moved(capture, &mut trees, unmoved);
        let mut departures = Vec::with_capacity(capture.departures.len());
        for &(node, place, count) in &capture.departures {
            let node = new_index.get(node as usize).copied().unwrap_or(node);
            if node >= MISFIT {
                continue;
            }
            // What is in no method is measured by nobody, but has to fit into the file.
            let method = self.profile.methods.get(capture.what[node as usize] as usize);
            if method.map_or(place.bci > u16::MAX.into(), |method| method.flow.block_at(place.bci).is_none()) {
                self.misplaced += 1;
            } else {
                departures.push(Departure { node, bci: place.bci, kind: place.kind, count });
            }
        }
        self.profile.departures = departures;
        let mut method = std::mem::take(&mut capture.what);
        let mut parent = std::mem::take(&mut capture.parent);
        let mut site = std::mem::take(&mut capture.site);
        method.truncate(kept);
        parent.truncate(kept);
        site.truncate(kept);
        let counters = Counters::packed(std::mem::take(&mut capture.rows.bytes), &self.profile.methods);
        self.profile.nodes = Nodes { method, parent, site, counters };
        self.profile.caches = std::mem::take(&mut capture.caches);
        self.profile.misses = std::mem::take(&mut capture.misses);
        for misses in &mut self.profile.misses {
            misses.entry.truncate(kept);
            misses.returns.truncate(kept);
        }
        self.unreturned();
    }

    /// Takes over nodes as they are, up to the first that is not to be kept; answers how many.
    fn unmoved(&mut self, capture: &mut Capture, trees: &mut Trees) -> usize {
        const NOT_MET: u32 = u32::MAX;
        let mut numbers = Vec::new();
        for node in 0..capture.nodes() {
            self.thread_of(trees, node, node);
            capture.what[node] = match capture.what[node] {
                kind::ROOT => special::ROOT,
                kind::OVERFLOW => special::FOLDED,
                kind::OUTSIDE => return node,
                id => match numbers.get(id as usize) {
                    Some(&number) if number != NOT_MET => number,
                    _ => {
                        let Ok(number) = *self.number(id, capture.rows.length(id)) else { return node };
                        if numbers.len() <= id as usize {
                            numbers.resize(id as usize + 1, NOT_MET);
                        }
                        numbers[id as usize] = number;
                        number
                    }
                },
            };
        }
        capture.nodes()
    }

    /// Takes over the nodes behind the unmoved ones: each moves towards the beginning, or stays.
    fn moved(&mut self, capture: &mut Capture, trees: &mut Trees, unmoved: usize) -> Moved {
        let count = capture.nodes();
        if unmoved == count {
            return Moved { kept: count, new_index: Vec::new() };
        }
        let used = capture.less_pauses.then(|| capture.used());
        let mut bytes = std::mem::take(&mut capture.rows.bytes);
        let methods = &self.profile.methods;
        let counters = |number: &u32| methods.get(*number as usize).map_or(0, |method| usize::from(method.flow.counters));
        let mut at = leb128::length(&bytes, capture.what[..unmoved].iter().map(counters).sum());
        let (mut kept, mut kept_bytes) = (unmoved, at);
        let mut new_index: Vec<u32> = (0..unmoved as u32).collect();
        new_index.resize(count, OUTSIDE);
        for old in unmoved..count {
            let counters = capture.rows.length(capture.what[old]);
            let row = at..at + leb128::length(&bytes[at..], counters);
            at = row.end;
            self.thread_of(trees, old, kept);
            let (method, parent) = match capture.what[old] {
                kind::ROOT => (special::ROOT, kept as u32),
                kind::OUTSIDE => continue,
                _ if used.as_ref().is_some_and(|used| !used[old]) => continue,
                what => {
                    let parent = new_index[capture.parent[old] as usize];
                    if parent == OUTSIDE {
                        continue;
                    }
                    if parent == MISFIT {
                        new_index[old] = MISFIT;
                        *self.misfits.entry("their callers were left out".into()).or_insert(0) += 1;
                        continue;
                    }
                    if what == kind::OVERFLOW {
                        (special::FOLDED, parent)
                    } else {
                        match self.method(what, counters) {
                            Some(method) => (method, parent),
                            None => {
                                new_index[old] = MISFIT;
                                continue;
                            }
                        }
                    }
                }
            };
            new_index[old] = kept as u32;
            capture.what[kept] = method;
            capture.parent[kept] = parent;
            if let Some(&site) = capture.site.get(old) {
                capture.site[kept] = site;
            }
            for misses in &mut capture.misses {
                for column in [&mut misses.entry, &mut misses.returns] {
                    column.set(kept, column.get(old));
                }
            }
            let size = row.len();
            if row.start != kept_bytes {
                bytes.copy_within(row, kept_bytes);
            }
            kept += 1;
            kept_bytes += size;
        }
        bytes.truncate(kept_bytes);
        capture.rows.bytes = bytes;
        Moved { kept, new_index }
    }

    /// The tree that begins with a node, if one does, as of the threads that grew it; the node's number is the new one.
    fn thread_of(&mut self, trees: &mut Trees, node: usize, number: usize) {
        if let Some(tree) = trees.next_if(|tree| tree.first_node as usize == node) {
            self.profile.threads.push(tree.into_thread(number as u32));
        }
    }

    /// Leaves out lookups of callers to which nobody has returned yet: those of leaves are made when they are entered.
    fn unreturned(&mut self) {
        let Profile { nodes, departures, misses, .. } = &mut self.profile;
        // Nor need rows be walked through then.
        if misses.is_empty() {
            return;
        }
        let mut rows = nodes.rows();
        let mut by_node = ByNode::new(departures);
        let mut at = 0;
        while let Some(node) = departures.get(at).map(|d| d.node) {
            let range = by_node.of(node as usize);
            at = range.end;
            let of_node = &departures[range];
            if of_node.iter().all(|d| d.kind != DepartureKind::Active) {
                continue;
            }
            let calls = rows.of(node as usize).first().copied().unwrap_or(0);
            let left = of_node.iter().filter(|d| d.kind != DepartureKind::Caught);
            // What was active when counting went on after a pause has returned without a call.
            let returned = left.fold(calls as i64, |returned, d| returned.wrapping_sub(d.count)).max(0) as u64;
            for misses in misses.iter_mut() {
                misses.returns.set(node as usize, misses.returns.get(node as usize).min(returned));
            }
        }
    }

    /// The profile's method for an id; a node without one is counted.
    fn method(&mut self, id: u32, counters: usize) -> Option<u32> {
        match self.number(id, counters) {
            Ok(number) => Some(*number),
            Err(why) => {
                let why = why.clone();
                *self.misfits.entry(why).or_insert(0) += 1;
                None
            }
        }
    }

    /// The profile's method for an id, taken over from the log when first met.
    fn number(&mut self, id: u32, counters: usize) -> &Result<u32, String> {
        if !self.methods.contains_key(&id) {
            let taken = self.take_over(id, counters);
            self.methods.insert(id, taken);
        }
        &self.methods[&id]
    }

    /// The method's flow as the weaver planned it, or why the node cannot be used.
    fn describe(&mut self, id: u32, counters: usize) -> Result<(usize, usize, Flow), String> {
        let (at, m) = self
            .log
            .method(id)
            .ok_or("their methods are not in the class log, as of code of an earlier recording, or where the log ends early")?;
        let class = &self.log.classes[at];
        let parsed = self.hierarchy.parsed[at].as_ref();
        let flow =
            parsed.and_then(|parsed| flow(&mut self.planner, parsed, class.methods[m].0)).ok_or_else(|| damaged(class.name))?;
        if usize::from(flow.counters) != counters {
            let planned = flow.counters;
            return Err(format!("{} has a method with {counters} counters where {planned} were planned", class.name));
        }
        Ok((at, m, flow))
    }

    fn parsed(&self, at: usize) -> Result<&ClassFile<'a>, String> {
        self.hierarchy.parsed[at].as_ref().ok_or_else(|| damaged(self.log.classes[at].name))
    }

    fn take_over(&mut self, id: u32, counters: usize) -> Result<u32, String> {
        let (at, m, flow) = self.describe(id, counters)?;
        let entry = &self.log.classes[at];
        let (index, _, level) = entry.methods[m];
        let parsed = self.parsed(at)?;
        let (method, source_file) = (parsed.methods[index as usize].clone(), parsed.source_file());
        let classes = &mut self.profile.classes;
        let class = *self.classes.entry(at).or_insert_with(|| {
            classes.push(Class {
                name: entry.name.to_owned(),
                loader: entry.loader.to_owned(),
                hidden: entry.hidden,
                source_file: source_file.unwrap_or_default().into_owned(),
                bytes: entry.bytes.to_vec(),
            });
            classes.len() as u32 - 1
        });
        let number = self.profile.methods.len() as u32;
        self.profile.methods.push(Method {
            class,
            index,
            name: text(method.name),
            descriptor: text(method.descriptor),
            access: method.access,
            level,
            flow,
        });
        let apart = self.profile.run.sites;
        self.hierarchy.sites(self.log, at, &method, number, apart, &mut self.profile.native_sites);
        Ok(number)
    }

    /// What the log says was not covered.
    fn gaps(&mut self) {
        let gaps = &mut self.profile.gaps;
        for &(name, reason) in self.log.not_covered.iter().filter(|(_, reason)| *reason != NOT_SELECTED) {
            gaps.push(Gap { class: name.to_owned(), method: None, reason: reason.to_owned() });
        }
        for (class, parsed) in self.log.classes.iter().zip(&self.hierarchy.parsed) {
            for (index, reason) in &class.skipped {
                let method = parsed.as_ref().and_then(|p| p.methods.get(*index as usize));
                let method = method.map_or_else(|| format!("#{index}"), |m| text(m.name) + &text(m.descriptor));
                gaps.push(Gap { class: class.name.to_owned(), method: Some(method), reason: reason.clone() });
            }
        }
        gaps.sort_by(|a, b| (&a.class, &a.method, &a.reason).cmp(&(&b.class, &b.method, &b.reason)));
        gaps.dedup();
    }
}

fn damaged(class: &str) -> String {
    format!("the class log's copy of {class} cannot be read")
}

/// The flow of a method as the weaver planned it.
pub(super) fn flow(planner: &mut Planner, class: &ClassFile<'_>, index: u16) -> Option<Flow> {
    if !planner.outline(class, class.methods.get(index as usize)?).ok()? {
        return None;
    }
    let edge = |e: &cprof_instrument::Edge| Edge { from: e.from, to: e.to, kind: e.kind, counter: e.counter };
    Some(Flow {
        blocks: planner.graph.blocks.iter().map(|b| Block { start: b.start, end: b.end }).collect(),
        edges: planner.edges.iter().map(edge).collect(),
        counters: planner.counters,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::log::{Entry, encode};

    #[test]
    fn roots_that_are_left_out_are_named() {
        let roots = ["a.B.c", "a/B$D.<init>(Ljava/lang/String;)V", "*.run", "a.*", "a.B.*c"].map(str::to_owned);
        let said = |options: &str| left_out(&Log::read(&[]), options, &roots).unwrap_or_default();
        assert_eq!((said("sites=on,out=x"), said("include=a.*")), (String::new(), String::new()));
        assert_eq!(left_out(&Log::read(&[]), "exclude=a.B", &roots[2..]), None, "they may be of other classes");
        assert!(said("exclude=a.B").starts_with("no calls of root=a.B.c are counted"));
        let both = "no calls of root=a.B.c, root=a/B$D.<init>(Ljava/lang/String;)V are counted: include= and exclude= leave its class out";
        assert_eq!([said("include=b.*"), said("include=a.*,exclude=a.*")], [both, both]);
    }

    #[test]
    fn a_log_that_ends_in_a_record_is_damaged_only_where_nobody_could_be_writing_it() {
        let mut bytes = Vec::new();
        encode(&Entry::Warning("beware"), &mut bytes);
        let says = |bytes: &[u8], taken| torn(&Log::read(bytes), taken).unwrap_or_default();
        for taken in [Taken::Agent, Taken::Running, Taken::Killed] {
            assert_eq!(says(&bytes, taken), "");
        }
        for cut in 1..bytes.len() {
            assert_eq!(says(&bytes[..cut], Taken::Running), "", "the writer goes on");
            let ends = format!("the class log ends with {cut} bytes of a record that was not finished; they were ignored");
            assert_eq!(says(&bytes[..cut], Taken::Killed), ends);
        }
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        for taken in [Taken::Running, Taken::Killed] {
            let damaged = format!("the last {} bytes of the class log are damaged and were ignored", bytes.len());
            assert_eq!(says(&bytes, taken), damaged);
        }
    }
}
