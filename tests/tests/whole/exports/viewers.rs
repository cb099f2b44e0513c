//! speedscope, and the trace engine of Chrome's DevTools.

use super::{Costs, JAVAC, METRICS, PART, add, consumer, total};
use cprof_tests::OrFail;
use serde_json::Value;

#[test]
#[ignore = "needs node with speedscope and ajv; scripts/test runs it"]
fn speedscope_loads_what_is_exported() {
    let javac = &*JAVAC;
    let file = javac.export("javac.speedscope.json", &["--format", "speedscope"]);
    let sums: Value = serde_json::from_str(&consumer("speedscope.mjs", &file)).or_fail("speedscope.mjs");
    assert_eq!(sums.as_object().map(|o| o.len()), Some(METRICS.len()));
    for (metric, name) in METRICS {
        let mut found = Costs::new();
        for (method, costs) in sums[name].as_object().unwrap_or_else(|| panic!("no {name}")) {
            let number = |i: usize| costs[i].as_u64().unwrap_or_else(|| panic!("{method}: {costs}"));
            add(&mut found, method, number(0), number(1));
        }
        javac.compare(&found, metric, "speedscope");
    }
}

#[test]
#[ignore = "needs node with the trace engine of Chrome's DevTools; scripts/test runs it"]
fn devtools_load_what_is_exported() {
    let javac = &*JAVAC;
    let file = javac.export("javac.trace.json", &["--format", "chrome"]);
    assert_eq!(consumer("devtools.mjs", &file).trim(), total(&javac.report, "bytecodes").to_string());
    let part = javac.ask(&["--root", PART]);
    for (metric, name) in METRICS {
        let file = javac.export("part.trace.json", &["--format", "chrome", "--root", PART, "--metric", name]);
        assert_eq!(consumer("devtools.mjs", &file).trim(), total(&part, metric).to_string(), "{metric}");
    }
}
