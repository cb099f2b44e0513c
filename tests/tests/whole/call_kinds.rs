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

#[test]
fn calls_that_java_methods_may_have_taken_are_told_or_said_not_to_be() {
    const REASONS: [(&str, Option<&str>); 7] = [
        ("", None),
        (",sites=on", None),
        (",include=Overrides", Some("some Java methods of these names were not counted")),
        (",exclude=Overrides$Named", Some("some Java methods of these names were not counted")),
        (",max-nodes=1", Some("contexts were folded for want of room")),
        (",depth=1", Some("contexts were folded by depth= or recursion=fold")),
        (",recursion=fold", Some("contexts were folded by depth= or recursion=fold")),
    ];
    for bench in run::benches() {
        for (options, reason) in REASONS {
            let recording = record(&bench, "Overrides", options);
            let report = |more: &[&str]| build::must(Command::new(build::cprof()).arg("report").arg(&recording.file).args(more));
            let json: serde_json::Value = serde_json::from_str(&report(&["--format", "json"])).expect("JSON");
            let rows = json["methods"].as_array().expect("methods").iter().filter(|row| row["native"] == true);
            let calls = |row: &serde_json::Value| (row["method"].as_str().expect("a name").to_owned(), row["calls"].clone());
            let calls: std::collections::BTreeMap<_, _> = rows.map(calls).collect();
            let what = format!("{options} on {}", bench.jdk.feature);
            // No class overrides it.
            assert_eq!(calls.get("maxMemory"), Some(&7.into()), "{what}");
            assert_eq!(calls.get("hashCode"), reason.is_none().then_some(&10.into()), "{what}");
            let said = json["coverage"]["native_calls_not_told"].as_array().expect("a list");
            let text = report(&[]);
            let line = text.lines().find(|line| line.starts_with("calls of native methods are not shown where"));
            let Some(reason) = reason else {
                assert_eq!((said.len(), line), (0, None), "{what}");
                continue;
            };
            let found: Vec<_> = said.iter().map(|native| (&native["class"], &native["method"], &native["reason"])).collect();
            assert_eq!(found, [(&"java.lang.Object".into(), &"hashCode".into(), &reason.into())], "{what}");
            let line = line.unwrap_or_else(|| panic!("{what}: {text}"));
            assert!(line.ends_with(&format!("java.lang.Object.hashCode(); {reason}")), "{what}: {line}");
        }
    }
}
