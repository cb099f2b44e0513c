//! What is woven and what stays as it is: the user's patterns, and what the JVM forbids.

use crate::intrinsics;
use cprof_instrument::classfile::{ClassFile, Method};
use cprof_instrument::weave::Treatment;
use cprof_profile::names::{Pattern, dotted, selects};
use cprof_profile::options::Options;
use cprof_profile::recording::log::NOT_SELECTED;

const SPECIAL_ENTRY: &str = "the interpreter of this JVM runs code of its own instead of the bytecode";
const SWITCHES_THREADS: &str = "changes the current thread, whose context would be mixed with the other's";

/// Methods (class, name; the name may be `*`) that are left as they are on every JVM.
const NEVER: &[(&str, &str, &str)] = &[
    // Thread.currentThread() changes in the middle of these (VirtualThread.java, @ChangesCurrentThread), or they run where
    // there is no Java thread to speak of.
    ("java/lang/VirtualThread", "mount", SWITCHES_THREADS),
    ("java/lang/VirtualThread", "unmount", SWITCHES_THREADS),
    ("java/lang/VirtualThread", "runContinuation", SWITCHES_THREADS),
    ("java/lang/VirtualThread", "yieldContinuation", SWITCHES_THREADS),
    ("java/lang/VirtualThread", "switchToCarrierThread", SWITCHES_THREADS),
    ("java/lang/VirtualThread", "switchToVirtualThread", SWITCHES_THREADS),
    ("jdk/internal/vm/Continuation", "*", SWITCHES_THREADS),
    // A plain read of `referent` in the body would miss the collector's barrier for weak references.
    ("java/lang/ref/Reference", "get", SPECIAL_ENTRY),
];

const EVENT_METHODS: &str =
    "its methods begin, end, commit, isEnabled and shouldCommit are added by the JVM's flight recorder, unseen by agents";

/// HotSpot looks for JFR's classes when an event class is retransformed, to bytes of whatever kind, and tells on standard output that
/// there are none (JDK 25, jfrUpcalls.cpp, jfrEventClassTransformer.cpp).
const NO_RECORDER: &str =
    "an event: the JVM, which has no flight recorder (module jdk.jfr), would print an error on the program's output";

const BARE_FINALIZER: &str = "an empty finalize(), which the JVM must see to be empty";

const BLACKHOLE: &str = "an empty method that the compilers are told to treat as a blackhole, which the JVM must see to be empty";

/// Where a thread's context is given back: class, name, descriptor. A virtual thread's outermost method with bytecode (JDK 21 to 25) goes
/// on after `VirtualThread.run` has returned, or thrown what the handler of uncaught exceptions threw.
const ENDS_THREAD: [(&str, &str, &str); 2] =
    [("java/lang/Thread", "exit", "()V"), ("java/lang/VirtualThread$VThreadContinuation$1", "run", "()V")];

/// When the agent came into the JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// It was started with it: no class is retransformed.
    AtLaunch,
    /// It runs already: counting is switched on by the agent. `lacks_recorder`: it has no flight recorder.
    Later { lacks_recorder: bool },
}

/// What to do with methods, for one run.
pub struct Policy {
    roots: Vec<Pattern>,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    feature: u32,
    came: Came,
    tells_numbers: bool,
    /// Over `Class.method`: what the compilers treat as blackholes.
    blackholes: Vec<Pattern>,
}

impl Policy {
    /// The policy of these options on a JVM of this feature release.
    pub fn new(options: &Options, feature: u32, came: Came, blackholes: Vec<Pattern>) -> Policy {
        let [roots, include, exclude] = [&options.roots, &options.include, &options.exclude]
            .map(|patterns| patterns.iter().map(|pattern| Pattern::new(pattern)).collect());
        let mut patterns = options.roots.iter().chain(&options.include).chain(&options.exclude);
        let tells_numbers = patterns.any(|pattern| pattern.contains(|c: char| c.is_ascii_digit()));
        Policy { roots, include, exclude, feature, came, tells_numbers, blackholes }
    }

    /// Whether the user's patterns may tell classes apart whose names differ in numbers only.
    pub fn tells_numbers(&self) -> bool {
        self.tells_numbers
    }

    /// Whether the user's patterns select a class, given by its internal name.
    pub fn selects(&self, class: &str) -> bool {
        if self.include.is_empty() && self.exclude.is_empty() {
            return true;
        }
        // A hidden class's name has a suffix of the VM's behind a point, in which no pattern is to look for it.
        let class = dotted(class.split('.').next().unwrap_or(class));
        selects(&self.include, &self.exclude, &class)
    }

    /// Whether any method of a class that is loaded, given by its internal name, is woven.
    pub fn weaves(&self, class: &str) -> bool {
        self.selects(class) || ENDS_THREAD.iter().any(|(ends, ..)| *ends == class)
    }

    /// Whether the JVM adds methods to a class after its agents have seen it: HotSpot 17 and 25 give JFR's event classes bodies
    /// for what they inherit (jfrEventClassTransformer.cpp).
    pub fn adds_methods(&self, class: &ClassFile<'_>) -> Option<&'static str> {
        (class.super_name() == Some(b"jdk/internal/event/Event")).then_some(EVENT_METHODS)
    }

    /// Why a class, given by its internal name, must never be retransformed.
    pub fn must_stay(&self, class: &str) -> Option<&'static str> {
        let is_event =
            || class.strip_prefix("jdk/internal/event/").is_some_and(|name| name.ends_with("Event") && name != "Event");
        (self.came == Came::Later { lacks_recorder: true } && is_event()).then_some(NO_RECORDER)
    }

    /// What the policy says of one class.
    pub fn class<'a>(&'a self, class: &ClassFile<'_>) -> ClassPolicy<'a> {
        let name = class.name();
        let is = |c: &str| c.as_bytes() == name;
        let has_entry = |&&(c, _, since): &&(&str, &str, u32)| self.feature >= since && is(c);
        ClassPolicy {
            selected: self.selects(&class.name_str()),
            bare: NEVER
                .iter()
                .filter(|(c, ..)| is(c))
                .map(|&(_, m, reason)| (m, reason))
                .chain(self.must_stay(&class.name_str()).map(|reason| ("*", reason)))
                .collect(),
            entries: intrinsics::INTERPRETER_ENTRIES.iter().filter(has_entry).map(|&(_, m, _)| m).collect(),
            blackholes: self.blackholes.iter().filter(|pattern| pattern.may_match_in(&dotted(&class.name_str()))).collect(),
            roots: self.roots.iter().filter(|pattern| pattern.may_match_in(&dotted(&class.name_str()))).collect(),
            starts_counting: self.came == Came::AtLaunch && is("java/lang/System"),
            ends_thread: ENDS_THREAD.into_iter().find_map(|(c, m, d)| is(c).then_some((m, d))),
        }
    }
}

/// What to do with the methods of one class: the lists cut down to it, as most classes are in none.
#[derive(Default)]
pub struct ClassPolicy<'a> {
    selected: bool,
    bare: Vec<(&'static str, &'static str)>,
    entries: Vec<&'static str>,
    roots: Vec<&'a Pattern>,
    blackholes: Vec<&'a Pattern>,
    starts_counting: bool,
    ends_thread: Option<(&'static str, &'static str)>,
}

impl ClassPolicy<'_> {
    /// The user's patterns select the class, from here on.
    pub fn select(&mut self) {
        self.selected = true;
    }

    /// What to do with a method, or why it must stay as it is.
    pub fn treat(&self, class: &ClassFile<'_>, method: &Method<'_>) -> Result<Treatment, &'static str> {
        let is = |m: &str| m.as_bytes() == method.name || m == "*";
        let treatment = Treatment {
            root: any(&self.roots, class, method),
            starts_counting: self.starts_counting && is("initPhase1"),
            ends_thread: self.ends_thread.is_some_and(|(m, d)| is(m) && method.descriptor == d.as_bytes()),
        };
        // First, as what the user left out is no gap, whatever else is to be said of it.
        if !(self.selected || treatment.starts_counting || treatment.ends_thread) {
            return Err(NOT_SELECTED);
        }
        if let Some((_, reason)) = self.bare.iter().find(|(m, _)| is(m)) {
            return Err(reason);
        }
        let has_entry = |m: &&str| match m.split_once('(') {
            Some((m, d)) => is(m) && method.descriptor.get(1..) == Some(d.as_bytes()),
            None => is(m),
        };
        if self.entries.iter().any(has_entry) {
            return Err(SPECIAL_ENTRY);
        }
        // If Object.finalize stops being a bare return, every class becomes finalizable (classFileParser.cpp), and the VM
        // crashes while it boots.
        let empty = || class.code(method).is_ok_and(|c| c.is_some_and(|c| c.bytes.len() == 1));
        if is("finalize") && method.descriptor == b"()V" && empty() {
            return Err(BARE_FINALIZER);
        }
        if any(&self.blackholes, class, method) && empty() {
            return Err(BLACKHOLE);
        }
        Ok(treatment)
    }
}

/// Whether a method fits one of the patterns.
fn any(patterns: &[&Pattern], class: &ClassFile<'_>, method: &Method<'_>) -> bool {
    // Most classes have none, and this is asked of every method.
    if patterns.is_empty() {
        return false;
    }
    let (name, descriptor) = (method.name_str(), method.descriptor_str());
    patterns.iter().any(|pattern| pattern.matches_method(&dotted(&class.name_str()), &name, &descriptor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclude_wins_over_include() {
        let policy = Policy::new(&Options::parse("include=a.*,exclude=a.b.*").unwrap(), 17, Came::AtLaunch, Vec::new());
        assert!(policy.selects("a/C") && !policy.selects("a/b/C") && !policy.selects("java/lang/String"));
    }
}
