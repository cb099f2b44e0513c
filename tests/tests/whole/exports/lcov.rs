//! `lcov`, which sums up what was executed.

use super::JAVAC;
use cprof_tests::OrFail;
use cprof_tests::build;
use cprof_tests::lcov;
use std::process::Command;

/// A sum that `lcov` prints as `lines......: 21.1% (8733 of 41326 lines)`.
fn sum(summary: &str, what: &str) -> (usize, usize) {
    let line = summary.lines().find(|line| line.trim_start().starts_with(what)).or_fail(summary);
    let (_, sums) = line.split_once('(').or_fail(line);
    let mut numbers = sums.split(' ').filter_map(|word| word.parse().ok());
    (numbers.next().or_fail(line), numbers.next().or_fail(line))
}

#[test]
#[ignore = "needs lcov; scripts/test runs it"]
fn lcov_finds_as_many_lines_methods_and_branches() {
    let file = JAVAC.export("javac.info", &["--format", "lcov"]);
    let mut lcov = Command::new("lcov");
    let summary = build::must(lcov.args(["--rc", "lcov_branch_coverage=1", "--rc", "branch_coverage=1", "--summary"]).arg(file));
    let files = lcov::exported(&JAVAC.profile, &[]);
    assert!(files.len() > 500, "{} files", files.len());
    let hit = |counts: &mut dyn Iterator<Item = u64>| counts.filter(|count| *count > 0).count();
    let lines = || files.values().flat_map(|file| file.lines.values().copied());
    let calls = || files.values().flat_map(|file| file.functions.values().map(|(_, calls)| *calls));
    let ways = || files.values().flat_map(|file| file.branches.values().flatten().copied());
    assert_eq!(sum(&summary, "lines"), (hit(&mut lines()), lines().count()), "{summary}");
    assert_eq!(sum(&summary, "functions"), (hit(&mut calls()), calls().count()), "{summary}");
    assert_eq!(sum(&summary, "branches"), (hit(&mut ways().flatten()), ways().count()), "{summary}");
}
