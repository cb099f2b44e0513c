//! Profiles of several programs and JDKs merged: every method has the sum of what the reports of the runs say.

use cprof_tests::{OrFail, build, is_without, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whole programs, the JDK with them: threads, lambdas, exceptions, natives.
const PROGRAMS: &[&str] = &["Threads", "Lambdas", "ImplicitExceptions"];

/// By class, name, descriptor, and whether the method is native.
type Methods = BTreeMap<(String, String, String, bool), BTreeMap<String, u64>>;

fn report(profile: &Path) -> Value {
    let mut command = Command::new(build::cprof());
    let text = build::must(command.arg("report").arg(profile).args(["--format", "json", "--target", "jop"]));
    serde_json::from_str(&text).or_fail("reading the JSON of cprof report")
}

fn add(report: &Value, sums: &mut Methods) {
    for row in report["methods"].as_array().expect("a list of methods") {
        let text = |key: &str| row[key].as_str().expect(key).to_owned();
        let native = row["native"] == true;
        let sums = sums.entry((text("class"), text("method"), text("descriptor"), native)).or_default();
        for column in ["calls", "exceptional_exits", "bytecodes", "bytecodes_total", "entry_misses", "return_misses"] {
            *sums.entry(column.to_owned()).or_default() += row[column].as_u64().expect(column);
        }
    }
}

#[test]
fn reports_of_merged_profiles_are_the_sums_of_reports() {
    let folder = build::fresh("merge");
    let mut profiles: Vec<PathBuf> = Vec::new();
    for bench in run::benches() {
        for program in PROGRAMS {
            let out = folder.join(format!("{program}-{}.cprof", bench.jdk.feature));
            let mut java = bench.java(&[]);
            java.arg(build::agent_option("quiet,cache=4k/16", &out));
            build::must(java.args(["-cp", &bench.built.class_path, program]));
            profiles.push(out);
        }
    }
    // One of them twice.
    profiles.push(profiles[0].clone());
    let merge = |profiles: &[PathBuf], out: &str| {
        let out = folder.join(out);
        build::must(Command::new(build::cprof()).arg("merge").args(profiles).arg("-o").arg(&out));
        out
    };
    let mut expected = Methods::new();
    profiles.iter().for_each(|profile| add(&report(profile), &mut expected));
    let all = merge(&profiles, "all.cprof");
    let (left, right) = profiles.split_at(2);
    let parts = [merge(right, "right.cprof"), merge(left, "left.cprof")];
    for merged in [all, merge(&parts, "parts.cprof")] {
        let merged = report(&merged);
        assert_eq!(merged["runs"].as_array().map(Vec::len), Some(profiles.len()));
        let mut found = Methods::new();
        add(&merged, &mut found);
        assert!(found.len() > 1000, "{} methods", found.len());
        for (method, sums) in &expected {
            assert_eq!(found.get(method), Some(sums), "{method:?}");
        }
        assert_eq!(found.len(), expected.len());
    }
}

/// `Thread.yield` is native on JDK 17, and since JDK 21 (virtual threads) it is not.
#[test]
fn what_is_native_on_one_jdk_only_costs_the_sum() {
    if is_without("jdk21") {
        return;
    }
    let benches = run::benches();
    let folder = build::fresh("merge-jdks");
    let source = folder.join("Yields.java");
    let text = "class Yields {\n static void go(int n) { for (int i = 0; i < n; i++) Thread.yield(); }\n \
         public static void main(String[] a) { go(100); }\n}\n";
    fs::write(&source, text).or_fail(source.display());
    build::must(benches[0].jdk.command("javac").arg("-d").arg(&folder).arg(&source));
    let record = |bench: &run::Bench, name: &str, more: &str| {
        let out = folder.join(format!("{name}-{}.cprof", bench.jdk.feature));
        let mut java = bench.jdk.command("java");
        java.arg(build::agent_option(&format!("root=Yields.go,jop,cache=ideal,quiet{more}"), &out)).arg("-cp").arg(&folder);
        build::must(java.arg("Yields"));
        out
    };
    let all = folder.join("all.cprof");
    // With depth=1, or where the Java method is not counted, no context tells that it was called.
    let orders = [("whole", ""), ("bounded", ",depth=1"), ("selected", ",include=Yields")].map(|(name, more)| {
        let profiles: Vec<PathBuf> = benches.iter().map(|bench| record(bench, name, more)).collect();
        [profiles.clone(), profiles.into_iter().rev().collect()]
    });
    for profiles in orders.concat() {
        build::must(Command::new(build::cprof()).arg("merge").args(&profiles).arg("-o").arg(&all));
        for options in [&["--target", "bytecodes"][..], &["--target", "jop"], &["--target", "jop", "--no-upcalls"]] {
            let total = |profile: &PathBuf, key: &str| {
                let mut command = Command::new(build::cprof());
                let text =
                    build::must(command.arg("report").arg(profile).args(["--format", "json", "--cache", "ideal"]).args(options));
                let report: Value = serde_json::from_str(&text).or_fail("reading the JSON of cprof report");
                report["totals"][key].as_u64().unwrap_or_else(|| panic!("totals have no {key} {options:?}: {}", report["totals"]))
            };
            for key in ["cycles", "upcall_cycles", "bytecodes", "calls", "native_calls"] {
                let sum: u64 = profiles.iter().map(|profile| total(profile, key)).sum();
                assert_eq!(total(&all, key), sum, "{key} {options:?}");
            }
        }
    }
}
