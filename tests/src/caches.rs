//! Method caches simulated from the oracle's trace, in the plainest way, to compare cprof's with.

use crate::run::{Bench, contexts};
use crate::tree::stable;
use crate::{OrFail, build};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

/// The geometries compared, as on the command line.
pub const CACHES: [&str; 5] = ["512/4", "1k/4", "2k/8", "4k/16", "16k/64"];

/// Misses by context: on entry, on return. Contexts without misses are left out.
pub type Misses = BTreeMap<String, [u64; 2]>;

/// A cache as published: each block has a name, a lookup reads them all, a method's blocks go behind those loaded last.
struct Cache {
    block_size: u32,
    names: Vec<Option<usize>>,
    next: usize,
}

impl Cache {
    fn new(geometry: &str) -> Cache {
        let (size, blocks) = geometry.split_once('/').expect("SIZE/BLOCKS");
        let size = match size.strip_suffix('k') {
            Some(kilobytes) => 1024 * kilobytes.parse::<u32>().or_fail(geometry),
            None => size.parse().or_fail(geometry),
        };
        let blocks: u32 = blocks.parse().or_fail(geometry);
        Cache { block_size: size / blocks, names: vec![None; blocks as usize], next: 0 }
    }

    fn misses(&mut self, method: usize, code_length: u32) -> bool {
        if self.names.contains(&Some(method)) {
            return false;
        }
        for block in 0..code_length.div_ceil(self.block_size) {
            self.names[self.next] = (block == 0).then_some(method);
            self.next = (self.next + 1) % self.names.len();
        }
        true
    }
}

/// A context of the oracle's.
struct Context {
    path: String,
    /// Number of its method.
    method: usize,
    code_length: u32,
}

/// What the oracle saw.
pub struct Trace {
    contexts: Vec<Context>,
    /// Thread, what happened, context.
    events: Vec<(usize, u8, usize)>,
}

impl Trace {
    /// Runs a program under the oracle.
    pub fn record(bench: &Bench, class_path: &str, main: &str, root: &str) -> Trace {
        let file =
            |what: &str| build::directory().join(format!("trace-{main}-{}-{}.{what}", bench.jdk.feature, std::process::id()));
        let (out, trace) = (file("csv"), file("trace"));
        let mut java = bench.java(&["-Xint"]);
        let options = format!("root={root},out={},trace={}", out.display(), trace.display());
        java.arg(format!("-agentpath:{}={options}", bench.built.oracle.display())).args(["-cp", class_path, main]);
        build::must(&mut java);
        let read = |path: &Path| {
            let text = std::fs::read_to_string(path).or_fail(path.display());
            std::fs::remove_file(path).or_fail(path.display());
            text
        };
        let (tree, trace) = (read(&out), read(&trace));
        assert!(tree.ends_with("mismatches,0\n"), "the oracle's events contradict each other, or {} is cut off", out.display());
        let mut contexts = vec![Context { path: String::new(), method: usize::MAX, code_length: 0 }];
        let mut methods = HashMap::new();
        for line in tree.lines().skip(1).filter(|l| !l.starts_with("mismatches")) {
            let fields: Vec<&str> = line.split(',').collect();
            let parent = &contexts[fields[1].parse::<usize>().or_fail(line)];
            let path = format!("{} > {}.{}{}", parent.path, stable(fields[2]), fields[3], fields[4]);
            let count = methods.len();
            let method = *methods.entry((fields[2], fields[3], fields[4])).or_insert(count);
            contexts.push(Context { path, method, code_length: fields[8].parse().or_fail(line) });
        }
        let event = |line: &str| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields[0].parse().or_fail(line), fields[1].as_bytes()[0], fields[2].parse().or_fail(line))
        };
        Trace { contexts, events: trace.lines().map(event).collect() }
    }

    /// How many calls it has.
    pub fn calls(&self) -> usize {
        self.events.iter().filter(|e| e.1 == b'E').count()
    }

    /// Simulates one cache for each thread: the callee is looked up on entry, its caller when it returns.
    pub fn misses(&self, geometry: &str) -> Misses {
        let mut threads: HashMap<usize, (Cache, Vec<usize>)> = HashMap::new();
        let mut out = Misses::new();
        for &(thread, what, at) in &self.events {
            let (cache, stack) = threads.entry(thread).or_insert_with(|| (Cache::new(geometry), Vec::new()));
            let looked_up = if what == b'E' {
                stack.push(at);
                Some(at)
            } else {
                assert_eq!(stack.pop(), Some(at), "what is left was entered last");
                stack.last().copied().filter(|_| what == b'R')
            };
            let Some(looked_up) = looked_up else { continue };
            let context = &self.contexts[looked_up];
            if cache.misses(context.method, context.code_length) {
                out.entry(self.contexts[at].path.clone()).or_default()[usize::from(what == b'R')] += 1;
            }
        }
        out
    }
}

/// What cprof says when it simulates some caches in one run: one answer for each.
pub fn cprof(bench: &Bench, class_path: &str, main: &str, root: &str, caches: &[&str]) -> Vec<Misses> {
    let out = build::directory().join(format!("caches-{main}-{}-{}.cprof", bench.jdk.feature, std::process::id()));
    // Woven code that was compiled has larger frames, and Recursion goes as deep as the usual stack allows.
    let mut java = bench.java(&["-Xss16m"]);
    let options = format!("cache={},root={root},quiet,out={}", caches.join("+"), out.display());
    java.arg(format!("-agentpath:{}={options}", build::agent().display())).args(["-cp", class_path, main]);
    build::must(&mut java);
    let one = |cache: &&str| {
        let mut command = Command::new(build::cprof());
        command.arg("report").arg(&out).args(["--tree", "--format", "json", "--target", "jop", "--cache", cache]);
        let json: serde_json::Value =
            serde_json::from_str(&build::must(&mut command)).or_fail("reading the JSON of cprof report");
        let mut misses = Misses::new();
        let mut paths = vec![String::new()];
        for row in contexts(&json) {
            let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("no text {key:?} in {row}")).to_owned();
            let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("no number {key:?} in {row}"));
            let parent = &paths[number("parent") as usize];
            let path = format!("{parent} > {}.{}{}", stable(&text("class")), text("method"), text("descriptor"));
            let found = [number("entry_misses"), number("return_misses")];
            if found != [0, 0] {
                let sum = misses.entry(path.clone()).or_default();
                *sum = [sum[0] + found[0], sum[1] + found[1]];
            }
            paths.push(path);
        }
        misses
    };
    let answers = caches.iter().map(one).collect();
    std::fs::remove_file(&out).or_fail(out.display());
    answers
}

/// Where two differ, at most a few contexts.
pub fn difference(expected: &Misses, found: &Misses) -> Option<String> {
    const SHOWN: usize = 5;
    let mut paths: Vec<&String> = expected.keys().chain(found.keys()).filter(|p| expected.get(*p) != found.get(*p)).collect();
    paths.sort();
    paths.dedup();
    let total = |misses: &Misses| misses.values().fold([0, 0], |sum, m| [sum[0] + m[0], sum[1] + m[1]]);
    let line = |path: &&String| format!("\n  oracle {:?}, cprof {:?}:{path}", expected.get(*path), found.get(*path));
    let shown: String = paths.iter().take(SHOWN).map(line).collect();
    (!paths.is_empty())
        .then(|| format!("{} contexts differ; in all oracle {:?}, cprof {:?}{shown}", paths.len(), total(expected), total(found)))
}
