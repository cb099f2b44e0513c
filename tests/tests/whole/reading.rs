//! `CProf.bytecodes`: a program reads its own counts, and they are those of the profile.

use cprof_tests::run::Ending;
use cprof_tests::{OrFail, build, jdk};
use serde_json::Value;
use std::process::Command;

#[test]
fn what_a_program_reads_is_what_the_profile_says() {
    for jdk in jdk::all() {
        let out = build::fresh(&format!("reading-{}", jdk.feature)).join("end.cprof");
        let mut java = jdk.command("java");
        java.arg(build::agent_option("quiet", &out));
        java.args(["-cp", &build::with_api(&jdk), "Reading"]);
        let ending: Ending = java.output().or_fail("starting java").into();
        assert_eq!((ending.stderr.as_str(), ending.code), ("", 0), "JDK {}", jdk.feature);
        let lines: Vec<&str> = ending.stdout.lines().collect();
        let [before, runs, within, last] = lines[..] else { panic!("{lines:?}") };
        assert_eq!((before, within), ("0", "true"), "JDK {}", jdk.feature);
        let runs: Vec<u64> = runs.split(' ').map(|n| n.parse().or_fail(n)).collect();
        // The first call links the lambda, too. Each of ten rounds executes eleven bytecodes, and seven in the lambda.
        assert!(runs[1] > 180 && runs[1] < runs[0] && runs[2] == 0, "{runs:?}");
        let mut report = Command::new(build::cprof());
        let json = build::must(report.arg("report").arg(&out).args(["--format", "json", "--filter", "Reading.work"]));
        let report: Value = serde_json::from_str(&json).or_fail("the report");
        assert_eq!(report["methods"][0]["bytecodes_total"].to_string(), last, "JDK {}", jdk.feature);
    }
}

/// What a method called may be elsewhere then.
#[test]
fn of_folded_contexts_nothing_is_said() {
    for jdk in jdk::all() {
        for (options, way) in [("depth=3", "depth="), ("recursion=fold", "recursion=fold"), ("max-nodes=1000", "max-nodes=")] {
            let out = build::fresh(&format!("reading-folded-{}", jdk.feature)).join("end.cprof");
            let mut java = jdk.command("java");
            java.arg(build::agent_option(&format!("quiet,{options}"), &out));
            java.args(["-cp", &build::with_api(&jdk), "Reading"]);
            let ending: Ending = java.output().or_fail("starting java").into();
            assert_eq!((ending.stdout.as_str(), ending.code), ("-2\n-2 0 -2\nfalse\n-2\n", 0), "JDK {}, {options}", jdk.feature);
            let said = ending.stderr.lines().all(|line| line.contains("cannot be told") && line.contains(way));
            assert!(said && !ending.stderr.is_empty(), "JDK {}, {options}: {}", jdk.feature, ending.stderr);
        }
    }
}

#[test]
fn without_the_agent_nothing_is_known() {
    for jdk in jdk::all() {
        let mut java = jdk.command("java");
        java.args(["-cp", &build::with_api(&jdk), "Reading"]);
        let ending: Ending = java.output().or_fail("starting java").into();
        assert_eq!((ending.stdout.as_str(), ending.code), ("-1\n-1 0 -1\nfalse\n-1\n", 0), "JDK {}", jdk.feature);
    }
}
