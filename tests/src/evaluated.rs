//! What cprof records, and what `cprof report --target` makes of it.

use crate::annotated::rows;
use crate::processor::{Cycles, OnProcessor, Sums};
use crate::run::{Bench, contexts};
use crate::tree::stable;
use crate::{OrFail, build};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// A recording; the file goes with it.
#[derive(Debug)]
pub struct Recording {
    /// The profile.
    pub file: PathBuf,
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file); // it need not have been written when a test fails
    }
}

/// Where a program's recording goes.
fn recording(bench: &Bench, main: &str) -> Recording {
    let name = format!("evaluated-{main}-{}-{}.cprof", bench.jdk.feature, build::unique());
    Recording { file: build::directory().join(name) }
}

/// Runs a program under cprof, and records all of it.
pub fn record_whole(bench: &Bench, main: &str) -> Recording {
    record_all_of(bench, &bench.built.class_path, main)
}

/// The same, of a program that is elsewhere.
pub fn record_all_of(bench: &Bench, class_path: &str, main: &str) -> Recording {
    let recording = recording(bench, main);
    let mut java = bench.java(&[]);
    java.arg(build::agent_option("quiet", &recording.file));
    build::must(java.args(["-cp", class_path, main]));
    recording
}

/// Runs a program under cprof. `options` are the agent's, besides `root` and `out`.
pub fn record(bench: &Bench, class_path: &str, main: &str, root: &str, options: &str) -> Recording {
    let recording = recording(bench, main);
    // Woven code that was compiled has larger frames, and Recursion goes as deep as the usual stack allows.
    let mut java = bench.java(&["-Xss16m"]);
    java.arg(build::agent_option(&format!("{options},root={root},quiet"), &recording.file)).args(["-cp", class_path, main]);
    build::must(&mut java);
    recording
}

impl Recording {
    /// The recording on a processor: contexts from JSON, methods from CSV, sums from both.
    pub fn on(&self, arguments: &[&str]) -> OnProcessor {
        let report = |more: &[&str]| {
            let mut command = Command::new(build::cprof());
            build::must(command.arg("report").arg(&self.file).args(arguments).args(more))
        };
        let json: serde_json::Value =
            serde_json::from_str(&report(&["--tree", "--format", "json"])).or_fail("reading the JSON of cprof report");
        let methods = methods(&report(&["--format", "csv"]));
        let total = |key: &str| json["totals"][key].as_u64().unwrap_or_else(|| panic!("no total {key:?}"));
        let sums = Sums {
            cycles: total("cycles"),
            estimated: total("estimated_cycles"),
            upcalls: total("upcall_cycles"),
            exceptions: total("exception_cycles"),
            lookups: total("lookups"),
            misses: total("entry_misses") + total("return_misses"),
            bytecodes: total("bytecodes"),
        };
        let mut out = OnProcessor { methods, sums, ..OnProcessor::default() };
        let mut paths = vec![String::new()];
        for row in contexts(&json) {
            let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("no text {key:?} in {row}")).to_owned();
            let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("no number {key:?} in {row}"));
            let parent = &paths[number("parent") as usize];
            let path = format!("{parent} > {}.{}{}", stable(&text("class")), text("method"), text("descriptor"));
            let cycles = Cycles {
                own: number("cycles"),
                total: number("cycles_total"),
                entry_misses: number("entry_misses"),
                return_misses: number("return_misses"),
            };
            if row["native"] == false {
                out.contexts.entry(path.clone()).or_default().add(cycles);
            } else {
                assert_eq!(cycles, Cycles::default(), "native methods cost nothing: {path}");
            }
            paths.push(path);
        }
        out
    }

    /// The error of a report that must fail.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let output = Command::new(build::cprof()).arg("report").arg(&self.file).args(arguments).output();
        let output = output.or_fail("starting cprof report");
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?} must be refused");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// Reads the CSV by method, without native ones: nothing of theirs is counted but calls.
fn methods(csv: &str) -> BTreeMap<String, Cycles> {
    let mut methods: BTreeMap<String, Cycles> = BTreeMap::new();
    let columns = ["cycles", "cycles_total", "entry_misses", "return_misses", "bytecodes"];
    for (fields, [own, total, entry_misses, return_misses, bytecodes]) in rows(csv, columns) {
        if bytecodes > 0 {
            let name = format!("{}.{}{}", stable(fields[0]), fields[1], fields[2]);
            methods.entry(name).or_default().add(Cycles { own, total, entry_misses, return_misses });
        }
    }
    methods
}

/// Where two differ: the sums, and a few contexts and methods.
pub fn difference(expected: &OnProcessor, found: &OnProcessor) -> Option<String> {
    let differ = |what: &str, a: &BTreeMap<String, Cycles>, b: &BTreeMap<String, Cycles>| {
        const SHOWN: usize = 5;
        let mut names: Vec<&String> = a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name)).collect();
        names.sort();
        names.dedup();
        let line = |name: &&String| format!("\n  {name}\n    oracle {:?}\n    cprof  {:?}", a.get(*name), b.get(*name));
        let shown: String = names.iter().take(SHOWN).map(line).collect();
        if names.is_empty() { String::new() } else { format!("\n  {} {what} differ{shown}", names.len()) }
    };
    (expected != found).then(|| {
        let (contexts, methods) =
            (differ("contexts", &expected.contexts, &found.contexts), differ("methods", &expected.methods, &found.methods));
        format!("oracle {:?}\n  cprof  {:?}{contexts}{methods}", expected.sums, found.sums)
    })
}
