//! The same program gives the same counts every time.

use cprof_tests::run::{Bench, Report};
use cprof_tests::{OrFail, build, program, run};
use std::path::Path;
use std::process::Command;

const RUNS: usize = 5;

/// Programs of one thread, that load classes, throw, recurse and concatenate strings.
const PROGRAMS: &[&str] = &["ImplicitExceptions", "Recursion", "Finally", "Rethrow", "Loops"];

#[test]
fn five_runs_are_identical_below_main() {
    run::on_every_jdk(|bench| {
        for program in program::named(&bench.jdk, PROGRAMS) {
            let reports: Vec<Report> = (0..RUNS).map(|run| counted(bench, &program.name, run)).collect();
            let first = &reports[0].tree;
            assert!(first.len() > 1, "{} was not counted", program.name);
            for (i, other) in reports.iter().enumerate().skip(1) {
                let difference = first.difference("first run", &other.tree, "another run");
                assert!(
                    difference.is_none(),
                    "{} on {}, run {i}: {}",
                    program.name,
                    bench.jdk.feature,
                    difference.unwrap_or_default()
                );
            }
        }
    });
}

#[test]
fn seeds_are_fixed_whatever_is_counted() {
    run::on_every_jdk(|bench| {
        let directory = build::fresh(&format!("seeds-{}", bench.jdk.feature));
        for patterns in [&[][..], &["--include", "Seeds"], &["--exclude", "java.util.*"]] {
            let printed = || {
                let mut command = deterministic(bench, patterns, &directory.join("it.cprof"), &[]);
                command.arg("Seeds");
                let output = command.output().or_fail(format_args!("starting {command:?}"));
                assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
                String::from_utf8(output.stdout).or_fail("what it prints")
            };
            let first = printed();
            (0..2).for_each(|_| assert_eq!(printed(), first, "JDK {}, {patterns:?}", bench.jdk.feature));
        }
    });
}

/// A program under `cprof run --deterministic`; its name is still to come.
fn deterministic(bench: &Bench, options: &[&str], out: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(build::cprof());
    command.args(["run", "--quiet", "--deterministic", "-o"]).arg(out).args(options).arg("--");
    command.arg(bench.jdk.home.join("bin/java")).args(flags).args(["-cp", &bench.built.class_path]);
    command.env("CPROF_AGENT", build::agent());
    command
}

/// Identity hash codes are the same. Which thread of the JVM first asks for one is a race at its start that no option of cprof's
/// decides (docs/exactness.md), and some tables of the JDK are ordered by them.
const SAME_HASH_CODES: [&str; 2] = ["-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2"];

/// Everything below `main`, as `cprof run --deterministic` does it.
fn counted(bench: &Bench, program: &str, run: usize) -> Report {
    let out = build::directory().join(format!("determinism-{program}-{}-{run}.cprof", bench.jdk.feature));
    let root = format!("{program}.main");
    build::must(deterministic(bench, &["--root", &root], &out, &SAME_HASH_CODES).arg(program));
    let report = Report::read(&out);
    std::fs::remove_file(&out).or_fail(out.display());
    report
}
