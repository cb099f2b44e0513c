//! `cprof export` of javac, read by the tools that the formats are for: their totals are those of `cprof report`, method by
//! method.
//!
//! Ignored, because the tools may not be there; scripts/test runs those whose tool is, and says which are not.

mod callgrind;
mod collapsed;
mod lcov;
mod pprof;
mod tables;
mod viewers;

use cprof_tests::jdk::{self, Jdk};
use cprof_tests::run::exported_name;
use cprof_tests::{OrFail, build, program};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// All metrics of the profile: what `cprof report` calls them, and what exports do.
const METRICS: [(&str, &str); 6] = [
    ("calls", "calls"),
    ("exceptional_exits", "exceptional_exits"),
    ("bytecodes", "bytecodes"),
    ("entry_misses", "entry_misses[4k/16]"),
    ("return_misses", "return_misses[4k/16]"),
    ("cycles", "cycles[jop,4k/16]"),
];

/// A part of javac, for consumers that are slow.
const PART: &str = "com.sun.tools.javac.main.JavaCompiler.enterTrees";

/// A profile of javac on a JDK: more than 500,000 contexts.
struct Javac {
    feature: u32,
    profile: PathBuf,
    /// What `cprof report` says.
    report: Value,
}

/// With cycles on a processor, on the newest JDK: formats do not depend on the JDK, and some consumers take a minute.
static JAVAC: LazyLock<Javac> = LazyLock::new(|| javac(&newest()));

fn newest() -> Jdk {
    jdk::all().into_iter().max_by_key(|jdk| jdk.feature).expect("all() answers one at least")
}

/// Own and, where known, with callees, by name of method.
type Costs = BTreeMap<String, (u64, Option<u64>)>;

fn javac(jdk: &Jdk) -> Javac {
    let classes = build::fresh("exports-classes").display().to_string();
    let source = program::directory().join("Branches.java").display().to_string();
    let javac = recorded(jdk, "javac", "", &["-d", &classes, &source]);
    assert!(javac.report["totals"]["contexts"].as_u64() > Some(500_000), "{}", javac.report["totals"]);
    // So that exports which have the methods' numbers have the totals, too.
    for (metric, _) in METRICS {
        let sum: u64 = javac.reported(metric).values().map(|costs| costs.0).sum();
        assert_eq!(sum, total(&javac.report, metric), "JDK {}: {metric} of all methods, and in total", javac.feature);
    }
    javac
}

/// A profile of javac with these arguments, in a folder of this name, with options of the agent's.
fn recorded(jdk: &Jdk, name: &str, options: &str, arguments: &[&str]) -> Javac {
    let profile = build::fresh(&format!("exports-{name}-{}", jdk.feature)).join("javac.cprof");
    let mut java = jdk.command("java");
    java.arg(build::agent_option(&format!("quiet,target=jop{options}"), &profile));
    build::must(java.args(["-m", "jdk.compiler/com.sun.tools.javac.Main"]).args(arguments));
    let mut javac = Javac { feature: jdk.feature, profile, report: Value::Null };
    javac.report = javac.ask(&[]);
    javac
}

/// A total of a report. A call of a native method is a call in exports.
fn total(report: &Value, metric: &str) -> u64 {
    let number = |key: &str| report["totals"][key].as_u64().unwrap_or_else(|| panic!("no total of {key}: {}", report["totals"]));
    number(metric) + if metric == "calls" { number("native_calls") } else { 0 }
}

impl Javac {
    /// `cprof report` as JSON.
    fn ask(&self, options: &[&str]) -> Value {
        let mut report = Command::new(build::cprof());
        report.arg("report").arg(&self.profile).args(["--target", "jop", "--format", "json"]).args(options);
        serde_json::from_str(&build::must(&mut report)).or_fail("the report")
    }

    /// Exports, and answers the file.
    fn export(&self, name: &str, options: &[&str]) -> PathBuf {
        let out = self.profile.with_file_name(name);
        build::must(Command::new(build::cprof()).arg("export").arg(&self.profile).arg("-o").arg(&out).args(options));
        out
    }

    /// What `cprof report` says of a metric. It has numbers with callees for bytecodes and cycles alone.
    fn reported(&self, metric: &str) -> Costs {
        let mut costs = Costs::new();
        for row in self.report["methods"].as_array().expect("methods") {
            let own = row[metric].as_u64().unwrap_or_else(|| panic!("no {metric}: {row}"));
            costs.insert(exported_name(row), (own, row[format!("{metric}_total")].as_u64()));
        }
        assert!(costs.len() > 1000 && costs.values().any(|c| c.0 > 0), "{metric}");
        let has_totals = costs.values().all(|c| c.1.is_some());
        assert_eq!(has_totals, ["bytecodes", "cycles"].contains(&metric), "{metric} with callees");
        costs
    }

    /// Fails with some of the methods that differ from the report. One that is not listed cost nothing; numbers with callees are
    /// compared where both have them.
    #[track_caller]
    fn compare(&self, found: &Costs, metric: &str, format: &str) {
        let expected = self.reported(metric);
        let mut differences = String::new();
        let mut count = 0;
        for name in found.keys().chain(expected.keys().filter(|name| !found.contains_key(*name))) {
            let [found, expected] = [found, &expected].map(|costs| costs.get(name).copied().unwrap_or((0, Some(0))));
            let total_differs = found.1.zip(expected.1).is_some_and(|(found, expected)| found != expected);
            if found.0 != expected.0 || total_differs {
                count += 1;
                if count <= 10 {
                    let _ = writeln!(differences, "{name}: {found:?}, reported {expected:?}");
                }
            }
        }
        assert_eq!(count, 0, "JDK {}, {metric} in {format}: methods that differ\n{differences}", self.feature);
    }
}

fn add(costs: &mut Costs, name: &str, own: u64, total: u64) {
    let sums = costs.entry(name.to_owned()).or_insert((0, Some(0)));
    *sums = (sums.0 + own, sums.1.map(|sum| sum + total));
}

/// Where scripts/consumers put what it fetched.
fn consumers() -> PathBuf {
    std::env::var_os("CPROF_CONSUMERS").expect("CPROF_CONSUMERS: the folder that scripts/consumers prints").into()
}

/// Runs a script of `tests/consumers` with node.
fn consumer(script: &str, file: &Path) -> String {
    let modules = consumers().join("node_modules");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("consumers").join(script);
    build::must(Command::new("node").arg("--max-old-space-size=8192").arg(script).arg(modules).arg(file))
}
