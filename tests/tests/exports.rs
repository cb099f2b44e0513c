//! `cprof export` of javac, read by the tools that the formats are for: their totals are those of `cprof report`, method by method.
//!
//! Ignored, because the tools may not be there; scripts/test runs those whose tool is, and says which are not.

use cprof_export::names;
use cprof_profile::names::thousands;
use cprof_profile::tree::Symbol;
use cprof_tests::jdk::{self, Jdk};
use cprof_tests::{OrFail, build};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// A profile of javac on a JDK: more than 500,000 contexts.
struct Javac {
    feature: u32,
    profile: PathBuf,
}

/// One per JDK, with cycles on a processor.
static JAVAC: LazyLock<Vec<Javac>> = LazyLock::new(|| jdk::all().iter().map(javac).collect());

/// Own and with callees, by name of method.
type Costs = BTreeMap<String, (u64, u64)>;

fn javac(jdk: &Jdk) -> Javac {
    let folder = build::fresh(&format!("exports-{}", jdk.feature));
    let profile = folder.join("javac.cprof");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/embedded/MotorControl.java");
    let mut java = jdk.command("java");
    java.arg(format!("-agentpath:{}=out={},quiet,target=jop", build::agent().display(), profile.display()));
    java.args(["-m", "jdk.compiler/com.sun.tools.javac.Main", "-d"]).arg(folder.join("classes")).arg(source);
    build::must(&mut java);
    let totals = build::must(Command::new(build::cprof()).arg("report").arg(&profile).args(["--format", "json", "--top", "1"]));
    let totals: serde_json::Value = serde_json::from_str(&totals).or_fail("the report");
    assert!(totals["totals"]["contexts"].as_u64() > Some(500_000), "{}", totals["totals"]);
    Javac { feature: jdk.feature, profile }
}

impl Javac {
    /// Exports, and answers the file.
    fn export(&self, name: &str, options: &[&str]) -> PathBuf {
        let out = self.profile.with_file_name(name);
        build::must(Command::new(build::cprof()).arg("export").arg(&self.profile).arg("-o").arg(&out).args(options));
        out
    }

    /// What `cprof report` says: of bytecodes, or of cycles on the processor.
    fn reported(&self, metric: &str) -> Costs {
        let text = build::must(
            Command::new(build::cprof()).arg("report").arg(&self.profile).args(["--target", "jop", "--format", "json"]),
        );
        let report: serde_json::Value = serde_json::from_str(&text).or_fail("the report");
        let mut costs = Costs::new();
        for row in report["methods"].as_array().expect("methods") {
            let text = |key: &str| row[key].as_str().expect("a text").to_owned();
            let number = |key: &str| row[key].as_u64().expect("a number");
            let [class, method, descriptor] = ["class", "method", "descriptor"].map(text);
            let name = names::method(&Symbol { class, method, descriptor, native: row["native"] == true });
            costs.insert(name, (number(metric), number(&format!("{metric}_total"))));
        }
        assert!(costs.len() > 1000 && costs.values().any(|c| c.0 > 0));
        costs
    }

    /// Bytecodes of the method whose name begins so, with callees.
    fn total(&self, method: &str) -> u64 {
        let reported = self.reported("bytecodes");
        let mut fit = reported.iter().filter(|(name, _)| name.starts_with(&format!("{method}(")));
        let (_, (_, total)) = fit.next().expect("it ran");
        assert!(fit.next().is_none(), "there is one {method}");
        *total
    }
}

/// Fails with some of the methods that differ.
#[track_caller]
fn equal(found: &Costs, expected: &Costs, what: &str) {
    let mut differences = String::new();
    let mut count = 0;
    for name in found.keys().chain(expected.keys().filter(|name| !found.contains_key(*name))) {
        if found.get(name) != expected.get(name) {
            count += 1;
            if count <= 10 {
                let _ = writeln!(differences, "{name}: {:?}, reported {:?}", found.get(name), expected.get(name));
            }
        }
    }
    assert_eq!(count, 0, "{what}: methods that differ\n{differences}");
}

fn go() -> Command {
    let mut go = Command::new("go");
    go.args(["tool", "pprof"]);
    go
}

/// A number of pprof's, with its unit behind it.
fn with_unit(text: &str) -> u64 {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    digits.parse().or_fail(format_args!("{text:?} of pprof"))
}

#[test]
#[ignore = "needs go; scripts/test runs it"]
fn pprof_has_the_totals_of_a_report() {
    for javac in JAVAC.iter() {
        let file = javac.export("javac.pb.gz", &["--format", "pprof"]);
        for (metric, index) in [("bytecodes", "bytecodes"), ("cycles", "cycles[jop,4k/16]")] {
            let mut pprof = go();
            pprof.args(["-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0"]);
            let text = build::must(pprof.arg(format!("-sample_index={index}")).arg(&file));
            let mut found = Costs::new();
            for line in text.lines().skip_while(|line| !line.trim_start().starts_with("flat ")).skip(1) {
                // flat, flat%, sum%, cum, cum%, name
                let mut rest = line.trim_start();
                let mut word = || {
                    let (word, after) = rest.split_once(char::is_whitespace).or_fail_none(line);
                    rest = after.trim_start();
                    word
                };
                let (flat, _, _, cum, _) = (word(), word(), word(), word(), word());
                let costs = found.entry(rest.to_owned()).or_default();
                *costs = (costs.0 + with_unit(flat), costs.1 + with_unit(cum));
            }
            let mut expected = javac.reported(metric);
            // pprof leaves out what cost nothing.
            expected.retain(|_, costs| costs.1 > 0);
            equal(&found, &expected, &format!("JDK {}, {metric} in pprof", javac.feature));
        }
        let part =
            javac.export("part.pb.gz", &["--format", "pprof", "--root", "com.sun.tools.javac.main.JavaCompiler.parseFiles"]);
        let peek = build::must(go().args(["-peek", "JavaCompiler.parse"]).arg(&part));
        assert!(peek.contains("com.sun.tools.javac.main.JavaCompiler.parseFiles("), "{peek}");
        let lines = build::must(go().args(["-top", "-lines", "-nodecount=5"]).arg(&part));
        assert!(lines.lines().any(|l| l.contains(".java:")), "{lines}");
        assert!(build::must(go().args(["-raw"]).arg(&part)).contains("thread:[main]"));
        assert!(build::must(go().args(["-traces"]).arg(&part)).contains("bytecodes"));
    }
}

#[test]
#[ignore = "needs callgrind_annotate; scripts/test runs it"]
fn callgrind_has_the_totals_of_a_report() {
    for javac in JAVAC.iter() {
        let file = javac.export("callgrind.out", &["--format", "callgrind"]);
        for (metric, event) in [("bytecodes", "bytecodes"), ("cycles", "cycles_jop_4k_16")] {
            let [own, inclusive] = ["no", "yes"].map(|inclusive| {
                let mut annotate = Command::new("callgrind_annotate");
                annotate.args(["--threshold=100", "--auto=no", "--context=0"]).arg(format!("--inclusive={inclusive}"));
                let text = build::must(annotate.arg(format!("--show={event}")).arg(format!("--sort={event}")).arg(&file));
                annotated(&text)
            });
            let mut found = Costs::new();
            for (name, total) in inclusive.into_iter().filter(|(name, total)| *total > 0 && !name.starts_with('[')) {
                let own = own.get(&name).copied().unwrap_or(0);
                found.insert(name, (own, total));
            }
            let mut expected = javac.reported(metric);
            // callgrind_annotate leaves out what cost nothing.
            expected.retain(|_, costs| costs.1 > 0);
            equal(&found, &expected, &format!("JDK {}, {metric} in callgrind", javac.feature));
        }
    }
}

/// `1,234 (5.67%)  file:function` of callgrind_annotate.
fn annotated(text: &str) -> BTreeMap<String, u64> {
    let mut rows = BTreeMap::new();
    for line in text.lines().skip_while(|line| !line.contains("file:function")).skip(2) {
        let Some((number, rest)) = line.trim_start().split_once(' ') else { continue };
        let (Ok(number), Some((_, name))) = (number.replace(',', "").parse::<u64>(), rest.split_once("  ")) else { continue };
        let (_, name) = name.trim_start().split_once(':').or_fail_none(line);
        *rows.entry(name.to_owned()).or_default() += number;
    }
    rows
}

#[test]
#[ignore = "needs inferno; scripts/test runs it"]
fn collapsed_draws_in_inferno() {
    for javac in JAVAC.iter() {
        let root = "com.sun.tools.javac.main.JavaCompiler.enterTrees";
        let file = javac.export("javac.txt", &["--format", "collapsed", "--root", root]);
        let text =
            build::must(Command::new("inferno-flamegraph").args(["--minwidth", "0.5", "--countname", "bytecodes"]).arg(&file));
        let wanted = format!("({} bytecodes, 100%)", thousands(javac.total(root)));
        assert!(text.contains(&wanted), "{wanted}");
    }
}

#[test]
#[ignore = "needs node with speedscope and ajv; scripts/test runs it"]
fn speedscope_loads_what_is_exported() {
    for javac in JAVAC.iter() {
        let file = javac.export("javac.speedscope.json", &["--format", "speedscope", "--metric", "bytecodes"]);
        let sum = consumer("speedscope.mjs", &file);
        let expected: u64 = javac.reported("bytecodes").values().map(|c| c.0).sum();
        assert_eq!(sum.trim(), expected.to_string());
    }
}

#[test]
#[ignore = "needs node with the trace engine of Chrome's DevTools; scripts/test runs it"]
fn devtools_load_what_is_exported() {
    for javac in JAVAC.iter() {
        let root = "com.sun.tools.javac.main.JavaCompiler.enterTrees";
        let file = javac.export("javac.trace.json", &["--format", "chrome", "--root", root]);
        assert_eq!(consumer("devtools.mjs", &file).trim(), javac.total(root).to_string());
    }
}

/// Runs a script of `tests/consumers` with node, whose modules are where scripts/consumers put them.
fn consumer(script: &str, file: &Path) -> String {
    let modules = std::env::var_os("CPROF_CONSUMERS").expect("CPROF_CONSUMERS: where scripts/consumers put its modules");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("consumers").join(script);
    build::must(Command::new("node").arg("--max-old-space-size=8192").arg(script).arg(modules).arg(file))
}

/// A line that is not as it should be ends the test.
trait OrFailNone<T> {
    /// The value, or a panic with the line.
    fn or_fail_none(self, line: &str) -> T;
}

impl<T> OrFailNone<T> for Option<T> {
    #[track_caller]
    fn or_fail_none(self, line: &str) -> T {
        self.unwrap_or_else(|| panic!("not as expected: {line:?}"))
    }
}
