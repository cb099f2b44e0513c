//! The kind of the instruction that called: with call sites exactly the oracle's, without them exact or named as doubtful.

use cprof_tests::evaluated::{self, Recording, difference};
use cprof_tests::processor::{Timing, simulate};
use cprof_tests::run::Bench;
use cprof_tests::trace::Trace;
use cprof_tests::{build, run};
use std::process::Command;

const CACHE: &str = "512/4";

fn record(bench: &Bench, main: &str, options: &str) -> Recording {
    evaluated::record(bench, &bench.built.class_path, main, &format!("{main}.measured"), &format!("cache={CACHE}{options}"))
}

fn trace(bench: &Bench, main: &str) -> Trace {
    Trace::record(bench, &bench.built.class_path, main, &format!("{main}.measured"))
}

/// What the report says about doubtful calls: how many there are, and how far off cycles may be.
fn doubt(recording: &Recording, arguments: &[&str]) -> Option<(u64, u64)> {
    let report = build::must(Command::new(build::cprof()).arg("report").arg(&recording.file).args(arguments));
    let (before, after) = report.split_once(" calls in this recording went through several kinds of call sites")?;
    let number = |text: &str| text.replace(',', "").parse().ok();
    let (_, after) = after.split_once("off by ")?;
    Some((number(before.rsplit(' ').next()?)?, number(after.split(' ').next()?)?))
}

#[test]
fn with_call_sites_kinds_are_exact() {
    for bench in run::benches() {
        for main in ["Kinds", "Invokes", "Cores", "Synchronized"] {
            let trace = trace(&bench, main);
            let recording = record(&bench, main, ",sites=on");
            for cache in [CACHE, "ideal", "none"] {
                let arguments = ["--target", "jop", "--cache", cache];
                let expected = simulate(&trace, &Timing::read(1, 2), cache);
                assert_eq!(difference(&expected, &recording.on(&arguments)), None, "{main} on {}, {cache}", bench.jdk.feature);
                assert_eq!(doubt(&recording, &arguments), None, "{main} on {}", bench.jdk.feature);
            }
        }
    }
}

#[test]
fn without_call_sites_a_note_bounds_what_is_not_known() {
    for bench in run::benches() {
        let trace = trace(&bench, "Kinds");
        let recording = record(&bench, "Kinds", "");
        let arguments = ["--target", "jop", "--cache", "ideal"];
        let expected = simulate(&trace, &Timing::read(1, 2), "ideal");
        let found = recording.on(&arguments);
        let (calls, cycles) = doubt(&recording, &arguments).expect("a note");
        // In nullable 2000 were on null, in identity 1500 of a native method.
        assert_eq!(calls, 2000 + 1500, "on {}", bench.jdk.feature);
        let off = expected.sums.cycles.abs_diff(found.sums.cycles);
        assert!(off > 0 && off <= cycles, "off by {off}, the note says {cycles} at most");
        for (path, expected) in &expected.contexts {
            let doubtful = path.contains("Sub.nullable") || path.contains("Sub.identity");
            assert!(doubtful || expected.own == found.contexts[path].own, "{path} on {}", bench.jdk.feature);
        }
    }
}

#[test]
fn native_calls_are_as_many_without_call_sites() {
    for bench in run::benches() {
        let natives = |options| {
            let recording = record(&bench, "Natives", options);
            let mut report = Command::new(build::cprof());
            report.arg("report").arg(&recording.file).args(["--root", "Natives.measured", "--format", "json"]);
            let report: serde_json::Value = serde_json::from_str(&build::must(&mut report)).expect("JSON");
            let rows = report["methods"].as_array().expect("methods").iter().filter(|row| row["native"] == true);
            let calls =
                |row: &serde_json::Value| (format!("{}.{}", row["class"], row["method"]).replace('"', ""), row["calls"].clone());
            rows.map(calls).collect::<std::collections::BTreeMap<_, _>>()
        };
        let merged = natives("");
        // Each round: an item and its parts, and the plain object. The JDK clones some arrays while it links.
        let calls = ["clone", "hashCode"].map(|name| merged[&format!("java.lang.Object.{name}")].as_u64().expect("a number"));
        assert!((20_000..20_100).contains(&calls[0]) && calls[1] == 10_000, "{calls:?} on {}", bench.jdk.feature);
        assert_eq!(merged, natives(",sites=on"), "on {}", bench.jdk.feature);
    }
}
