//! CSV and JSON, read by Python.

use super::{Costs, JAVAC, Javac, METRICS, add};
use cprof_export::names;
use cprof_profile::tree::Symbol;
use cprof_tests::{OrFail, build};
use serde_json::Value;
use std::panic;
use std::path::Path;
use std::process::Command;
use std::thread;

/// A method as exports name it.
fn name(class: &str, method: &str, descriptor: &str, native: bool) -> String {
    let [class, method, descriptor] = [class, method, descriptor].map(str::to_owned);
    names::method(&Symbol { class, method, descriptor, native })
}

#[test]
#[ignore = "needs python3; scripts/test runs it"]
fn tables_have_the_totals_of_a_report() {
    let javac = &*JAVAC;
    let both = |format| (table(javac, format, "contexts", &[]), table(javac, format, "methods", &["--methods"]));
    let ((csv, csv_methods), (json, json_methods)) = thread::scope(|scope| {
        let csv = scope.spawn(|| both("csv"));
        let json = both("json");
        (csv.join().unwrap_or_else(|panic| panic::resume_unwind(panic)), json)
    });
    // Numbers with callees that a report does not have.
    for (other, what) in [(csv_methods, "csv --methods"), (json, "json"), (json_methods, "json --methods")] {
        for (i, (metric, _)) in METRICS.iter().enumerate() {
            assert!(csv[i] == other[i], "JDK {}, {metric}: csv and {what} differ with callees", javac.feature);
        }
    }
}

/// The methods of an exported table, metric by metric, compared with the report.
fn table(javac: &Javac, format: &str, what: &str, options: &[&str]) -> [Costs; METRICS.len()] {
    let file = javac.export(&format!("{what}.{format}"), &[&["--format", format], options].concat());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("consumers/tables.py");
    let text = build::must(Command::new("python3").arg(script).arg(&file));
    METRICS.map(|(metric, name)| {
        let found = summed(&text, name);
        javac.compare(&found, metric, &format!("{what} in {format}"));
        found
    })
}

/// What `consumers/tables.py` says of a metric.
fn summed(text: &str, metric: &str) -> Costs {
    let sums: Value = serde_json::from_str(text).or_fail("tables.py");
    let mut metrics = sums["metrics"].as_array().expect("metrics").iter();
    let at = metrics.position(|name| name == metric).unwrap_or_else(|| panic!("no {metric} in {}", sums["metrics"]));
    let mut costs = Costs::new();
    for row in sums["methods"].as_array().expect("methods") {
        let text = |i: usize| row[i].as_str().unwrap_or_else(|| panic!("no text {i}: {row}"));
        let number = |i: usize| row[i][at].as_u64().unwrap_or_else(|| panic!("no number {i}: {row}"));
        add(&mut costs, &name(text(0), text(1), text(2), row[3] == true), number(4), number(5));
    }
    costs
}
