//! What the oracle saw, event by event.

use crate::run::{Bench, SAME, end_of_oracle};
use crate::tree::stable;
use crate::{OrFail, build};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// A context of the oracle's. Number 0 stands for what is outside of the roots.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// From the root to the method, by name.
    pub path: String,
    /// The method by name.
    pub name: String,
    /// The caller's context.
    pub parent: usize,
    /// Number of its method.
    pub method: usize,
    /// Bytes of its original code.
    pub code_length: u32,
    /// Executed bytecodes.
    pub bytecodes: u64,
    /// Executions by opcode; a widened instruction's under `wide` and under what it widens.
    pub opcodes: Vec<(u8, u64)>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A method was entered; by which opcode, 0 when native code or the JVM itself called, or the thread begins there.
    Entered(u8),
    /// It returned by this opcode.
    Returned(u8),
    /// An exception left it; the opcode executed last.
    Thrown(u8),
    /// A handler of its own goes on; the opcode executed last.
    Caught(u8),
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Number of the thread.
    pub thread: usize,
    /// What happened.
    pub what: What,
    /// Where.
    pub context: usize,
    /// Whether a profile has it. Caches change in any case.
    pub counted: bool,
}

/// A run under the oracle.
#[derive(Debug, Clone)]
pub struct Trace {
    /// Callers before callees.
    pub contexts: Vec<Context>,
    /// In order.
    pub events: Vec<Event>,
}

impl Trace {
    /// Runs a program, interpreted, under the oracle, and answers the files with its tree and its events. That takes long and gives
    /// the same for the same classes, so they are kept. `more`: options of the oracle's, each with a comma before it.
    pub fn files(bench: &Bench, class_path: &str, main: &str, root: &str, more: &str) -> [PathBuf; 2] {
        let mut key = DefaultHasher::new();
        (bench.built.key, SAME, class_path, main, root, more).hash(&mut key);
        let files = |directory: &Path| ["tree.csv", "trace"].map(|name| directory.join(name));
        files(&build::cached(&format!("trace-{main}-{}", bench.jdk.feature), key.finish(), |directory| {
            let [out, trace] = files(directory);
            let mut java = bench.java(&["-Xint"]);
            let options = format!("root={root},trace={}{more}", trace.display());
            java.arg(build::library_option(&bench.built.oracle, &options, &out)).args(["-cp", class_path, main]);
            let ending = end_of_oracle(java);
            assert_eq!(ending.code, 0, "{main} under the oracle on JDK {}: {}", bench.jdk.feature, ending.stderr);
        }))
    }

    /// What [`Trace::files`] without more options say.
    pub fn record(bench: &Bench, class_path: &str, main: &str, root: &str) -> Trace {
        let [out, trace] = Trace::files(bench, class_path, main, root, "");
        let read = |path: &Path| std::fs::read_to_string(path).or_fail(path.display());
        let (tree, trace) = (read(&out), read(&trace));
        assert!(tree.ends_with("mismatches,0\n"), "the oracle's events contradict each other, or {} is cut off", out.display());
        let mut contexts = vec![Context::default()];
        let mut methods = HashMap::new();
        for line in tree.lines().skip(1).filter(|l| !l.starts_with("mismatches")) {
            let fields: Vec<&str> = line.split(',').collect();
            let parent = fields[1].parse::<usize>().or_fail(line);
            let name = format!("{}.{}{}", stable(fields[2]), fields[3], fields[4]);
            let count = methods.len();
            let method = *methods.entry((fields[2], fields[3], fields[4])).or_insert(count);
            let executions = |pair: &str| {
                let (opcode, count) = pair.split_once(':').unwrap_or_else(|| panic!("OPCODE:EXECUTIONS in {line}"));
                (opcode.parse().or_fail(line), count.parse().or_fail(line))
            };
            contexts.push(Context {
                path: format!("{} > {name}", contexts[parent].path),
                name,
                parent,
                method,
                code_length: fields[8].parse().or_fail(line),
                bytecodes: fields[7].parse().or_fail(line),
                opcodes: fields[9].split_whitespace().map(executions).collect(),
            });
        }
        Trace { contexts, events: trace.lines().map(event).collect() }
    }

    /// Takes the calls of a method out, as if they were no calls. It must call nobody.
    pub fn cut(&mut self, method: &str) {
        let (contexts, before) = (&self.contexts, self.events.len());
        self.events.retain(|event| contexts[event.context].name != method);
        assert!(self.events.len() < before, "{method} was not called");
        for context in self.contexts.iter_mut().filter(|c| c.name == method) {
            (context.bytecodes, context.opcodes) = (0, Vec::new());
        }
    }

    /// Leaves what happened there out of profiles, with all bytecodes of the contexts that were entered and left only there. Of
    /// others that were active there [`Trace::forget`] takes the bytecodes.
    pub fn leave_out(&mut self, events: std::ops::Range<usize>) {
        let mut inside = vec![false; self.contexts.len()];
        let mut outside = inside.clone();
        for (at, event) in self.events.iter_mut().enumerate() {
            let within = events.contains(&at);
            event.counted &= !within;
            let seen = if within { &mut inside } else { &mut outside };
            seen[event.context] = true;
        }
        for (at, context) in self.contexts.iter_mut().enumerate() {
            if inside[at] && !outside[at] {
                (context.bytecodes, context.opcodes) = (0, Vec::new());
            }
        }
    }

    /// Leaves bytecodes of a method's only context out of profiles.
    pub fn forget(&mut self, method: &str, opcodes: &[u8]) {
        let mut contexts = self.contexts.iter_mut().filter(|c| c.name == method);
        let context = contexts.next().unwrap_or_else(|| panic!("{method} did not run"));
        assert!(contexts.next().is_none(), "{method} has several contexts");
        context.bytecodes -= opcodes.len() as u64;
        for opcode in opcodes {
            let executed = context.opcodes.iter_mut().find(|(o, n)| o == opcode && *n > 0);
            executed.unwrap_or_else(|| panic!("{method} did not execute {opcode}")).1 -= 1;
        }
    }

    /// How many calls it has.
    pub fn calls(&self) -> usize {
        self.events.iter().filter(|e| matches!(e.what, What::Entered(_))).count()
    }
}

/// `THREAD WHAT CONTEXT OPCODE`.
fn event(line: &str) -> Event {
    let fields: Vec<&str> = line.split(' ').collect();
    let opcode = fields[3].parse().or_fail(line);
    let what = match fields[1] {
        "E" => What::Entered(opcode),
        "R" => What::Returned(opcode),
        "X" => What::Thrown(opcode),
        "C" => What::Caught(opcode),
        other => panic!("the oracle says {other:?}"),
    };
    Event { thread: fields[0].parse().or_fail(line), what, context: fields[2].parse().or_fail(line), counted: true }
}
