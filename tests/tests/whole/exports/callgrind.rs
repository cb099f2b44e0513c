//! `callgrind_annotate`.

use super::{Costs, JAVAC, Javac, METRICS, newest, recorded, total};
use cprof_tests::{OrFail, build};
use std::collections::BTreeMap;
use std::process::Command;

#[test]
#[ignore = "needs callgrind_annotate; scripts/test runs it"]
fn callgrind_has_the_totals_of_a_report() {
    let javac = &*JAVAC;
    let [own, inclusive] = callgrind(javac);
    for (i, (metric, _)) in METRICS.iter().enumerate() {
        let mut found = Costs::new();
        for (name, totals) in inclusive.iter().filter(|(name, _)| !name.starts_with('[') && *name != "PROGRAM TOTALS") {
            found.insert(name.clone(), (own.get(name).map_or(0, |own| own[i]), Some(totals[i])));
        }
        javac.compare(&found, metric, "callgrind");
        for rows in [&own, &inclusive] {
            let all = rows.get("PROGRAM TOTALS").expect("totals");
            assert_eq!(all[i], total(&javac.report, metric), "JDK {}, {metric} in callgrind", javac.feature);
        }
    }
}

#[test]
#[ignore = "needs callgrind_annotate; scripts/test runs it"]
fn callgrind_has_own_costs_of_what_was_folded() {
    let folded = recorded(&newest(), "folded", ",max-nodes=2000", &["-version"]);
    let [own, _] = callgrind(&folded);
    assert!(own.keys().any(|name| name.contains("(folded)")), "nothing was folded");
    for (i, (metric, _)) in METRICS.iter().enumerate() {
        let all: u64 = own.iter().filter(|(name, _)| *name != "PROGRAM TOTALS").map(|(_, costs)| costs[i]).sum();
        assert_eq!(all, total(&folded.report, metric), "{metric} in callgrind");
    }
}

/// Own and inclusive costs by name, as callgrind_annotate reads them.
fn callgrind(profile: &Javac) -> [BTreeMap<String, Vec<u64>>; 2] {
    let file = profile.export("callgrind.out", &["--format", "callgrind"]);
    ["no", "yes"].map(|inclusive| {
        let mut annotate = Command::new("callgrind_annotate");
        annotate.args(["--threshold=100", "--auto=no", "--context=0"]).arg(format!("--inclusive={inclusive}"));
        annotated(&build::must(annotate.arg(format!("--show={}", METRICS.map(|(_, name)| event(name)).join(","))).arg(&file)))
    })
}

/// A metric in callgrind's format: `cycles_jop_4k_16`.
fn event(metric: &str) -> String {
    metric.replace(|c: char| !c.is_ascii_alphanumeric(), "_").trim_end_matches('_').to_owned()
}

/// `1,234 (5.67%)  12 ( 0.01%)  0  file:function` of callgrind_annotate, and its line of totals.
fn annotated(text: &str) -> BTreeMap<String, Vec<u64>> {
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit())) {
        let (mut rest, mut numbers) = (line.trim_start(), Vec::new());
        for _ in METRICS {
            let (number, after) = rest.split_once(' ').or_fail(line);
            numbers.push(number.replace(',', "").parse::<u64>().or_fail(line));
            rest = after.trim_start();
            if let Some(share) = rest.strip_prefix('(') {
                rest = share.split_once(')').or_fail(line).1.trim_start();
            }
        }
        let name = rest.split_once(':').map_or(rest, |(_, function)| function);
        let sums = rows.entry(name.to_owned()).or_insert_with(|| vec![0; METRICS.len()]);
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    rows
}
