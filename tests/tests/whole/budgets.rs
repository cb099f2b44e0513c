//! The worked example of docs/ci.md: a benchmark's bytecodes are the same in fifty runs, and a change that costs one per cent is
//! found, with the line that costs it. Lambdas that got other numbers are found, too.

use cprof_tests::jdk::{self, Jdk};
use cprof_tests::{OrFail, build};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How often the benchmark is repeated on the oldest JDK, and on each other.
const RUNS: (usize, usize) = (50, 10);

/// The strictest budget there is.
const STRICT: &str = "[[budget]]\nmethod = \"CodecBenchmark.measure\"\nlimits = [\"calls == 1\", \"calls == baseline\", \
                      \"bytecodes == baseline\", \"total calls == baseline\", \"exceptional_exits == baseline\"]\n";

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/ci").join(file)
}

/// Compiles the example, the codec's text changed by `change`.
fn compiled(jdk: &Jdk, directory: &Path, name: &str, change: impl Fn(String) -> String) -> PathBuf {
    let classes = directory.join(name);
    fs::create_dir_all(&classes).or_fail(name);
    let codec = classes.join("Codec.java");
    fs::write(&codec, change(fs::read_to_string(example("Codec.java")).or_fail("Codec.java"))).or_fail(name);
    build::must(jdk.command("javac").arg("-g").arg("-d").arg(&classes).arg(&codec).arg(example("CodecBenchmark.java")));
    classes
}

/// Records the benchmark as the page says.
fn recorded(jdk: &Jdk, classes: &Path, out: PathBuf) -> PathBuf {
    let mut run = Command::new(build::cprof());
    run.args(["run", "--quiet", "--deterministic", "--root", "CodecBenchmark.measure", "-o"]).arg(&out).arg("--");
    run.arg(jdk.home.join("bin/java")).arg("-cp").arg(classes).arg("CodecBenchmark").env("CPROF_AGENT", build::agent());
    build::must(&mut run);
    out
}

fn check(profile: &Path, baseline: &Path, budget: &Path, options: &[&str]) -> Output {
    let mut check = Command::new(build::cprof());
    check.arg("check").arg(profile).arg("--baseline").arg(baseline).arg("--budget").arg(budget).args(options);
    check.output().or_fail("starting cprof check")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A check for emptiness, at about one per cent of what a word costs.
fn slower(codec: String) -> String {
    let changed =
        codec.replace("return word.strip()", "if (word == null || word.isEmpty()) return word;\n        return word.strip()");
    assert_ne!(changed, codec, "the example does not have what is changed here");
    changed
}

#[test]
fn fifty_runs_without_a_false_alarm_and_one_per_cent_caught() {
    for (i, jdk) in jdk::all().iter().enumerate() {
        let directory = build::fresh(&format!("budgets-{}", jdk.feature));
        let strict = directory.join("strict.toml");
        fs::write(&strict, STRICT).or_fail(strict.display());
        let classes = compiled(jdk, &directory, "classes", |codec| codec);
        let baseline = recorded(jdk, &classes, directory.join("main.cprof"));
        let runs = if i == 0 { RUNS.0 } else { RUNS.1 };
        for run in 1..=runs {
            let again = recorded(jdk, &classes, directory.join("again.cprof"));
            for budget in [&strict, &example("budget.toml")] {
                let checked = check(&again, &baseline, budget, &[]);
                assert_eq!(checked.status.code(), Some(0), "JDK {}, run {run}: {}", jdk.feature, text(&checked));
            }
        }
        let slow = recorded(jdk, &compiled(jdk, &directory, "slow", slower), directory.join("slow.cprof"));
        let caught = check(&slow, &baseline, &example("budget.toml"), &["--format", "json"]);
        assert_eq!(caught.status.code(), Some(1), "JDK {}: {}", jdk.feature, text(&caught));
        let report: Value = serde_json::from_slice(&caught.stdout).or_fail("the report");
        let exceeded: Vec<&Value> =
            report["limits"].as_array().expect("limits").iter().filter(|l| l["outcome"] == "exceeded").collect();
        assert_eq!(exceeded.len(), 1, "{report}");
        let number = |key: &str| exceeded[0][key].as_f64().expect(key);
        let more = (number("value") / number("baseline") - 1.0) * 100.0;
        assert!((0.7..1.3).contains(&more), "JDK {}: {more} %", jdk.feature);
        let paths: Vec<String> =
            exceeded[0]["contexts"].as_array().expect("contexts").iter().map(|c| c["path"].to_string()).collect();
        let blamed = |name: &str| paths.iter().any(|p| p.ends_with(&format!("{name}\"]")));
        assert!(blamed("Codec.normalised(String)") && blamed("java.lang.String.isEmpty()"), "{paths:?}");
    }
}

/// A lambda before the others: javac numbers all that follow anew.
#[test]
fn a_new_lambda_does_not_make_the_others_new() {
    let change = |codec: String| {
        let changed =
            codec.replace("words.forEach(word ->", "words.removeIf(word -> word == null);\n        words.forEach(word ->");
        assert_ne!(changed, codec, "the example does not have what is changed here");
        changed
    };
    for jdk in jdk::all() {
        let directory = build::fresh(&format!("lambdas-{}", jdk.feature));
        let before = recorded(&jdk, &compiled(&jdk, &directory, "before", |codec| codec), directory.join("before.cprof"));
        let after = recorded(&jdk, &compiled(&jdk, &directory, "after", change), directory.join("after.cprof"));
        let diff = |by: &str| -> Value {
            let mut diff = Command::new(build::cprof());
            let json = build::must(diff.args(["diff", "--format", "json", "--by", by]).arg(&before).arg(&after));
            serde_json::from_str(&json).or_fail("the report")
        };
        for by in ["method", "context"] {
            let report = diff(by);
            let rows = report["rows"].as_array().expect("rows");
            let of_codec: Vec<(&str, &str)> = rows
                .iter()
                .filter(|r| r["class"] == "Codec" && r["fate"] != "same")
                .map(|r| (r["method"].as_str().expect("a name"), r["fate"].as_str().expect("a fate")))
                .collect();
            let new: Vec<_> = of_codec.iter().filter(|(_, fate)| *fate == "new").collect();
            assert!(new.len() == 1 && new[0].0.starts_with("lambda$encode$"), "{by} on {}: {of_codec:?}", jdk.feature);
            assert!(
                of_codec.iter().all(|(name, fate)| *fate == "new" || *name == "encode"),
                "{by} on {}: {of_codec:?}",
                jdk.feature
            );
            assert!(rows.iter().all(|r| r["fate"] != "gone"), "{by} on {}", jdk.feature);
            let notes = report["notes"].to_string();
            assert!(notes.contains("the same code under another number: Codec.lambda$encode$"), "{notes}");
        }
    }
}

/// Pairs of lambdas of the same instructions: what they concatenate, return or make tells them apart.
#[test]
fn lambdas_are_known_by_what_is_in_them() {
    const PAIRS: [[&str; 2]; 3] = [
        ["go(10, () -> \"one\" + sink);", "go(1000, () -> \"two\" + sink);"],
        ["go(20, () -> (Supplier<Object>) () -> \"three\");", "go(2000, () -> (Supplier<Object>) () -> \"four\");"],
        ["go(30, () -> new Object() { int five; });", "go(3000, () -> new Object() { long six = 6; });"],
    ];
    let source = |order: [usize; 2]| {
        let body: String = PAIRS.iter().flat_map(|pair| order.map(|i| pair[i])).collect();
        format!(
            "import java.util.function.Supplier;\nclass Swapped {{\n static int sink;\n \
             static void go(int n, Supplier<Object> s) {{ while (n-- > 0) if (s.get() == null) sink++; }}\n \
             public static void main(String[] args) {{ {body} }}\n}}\n"
        )
    };
    for jdk in jdk::all() {
        let directory = build::fresh(&format!("swapped-{}", jdk.feature));
        let [before, after] = [("before", [0, 1]), ("after", [1, 0])].map(|(name, order)| {
            let classes = directory.join(name);
            std::fs::create_dir_all(&classes).or_fail("a directory");
            let file = classes.join("Swapped.java");
            std::fs::write(&file, source(order)).or_fail(file.display());
            build::must(jdk.command("javac").arg("-d").arg(&classes).arg(&file));
            let out = directory.join(name).with_extension("cprof");
            let agent = build::agent_option("quiet,root=Swapped.main", &out);
            build::must(jdk.command("java").arg(agent).arg("-cp").arg(&classes).arg("Swapped"));
            out
        });
        let mut diff = Command::new(build::cprof());
        let json = build::must(diff.args(["diff", "--format", "json"]).arg(&before).arg(&after));
        let report: Value = serde_json::from_str(&json).or_fail("the report");
        let rows = report["rows"].as_array().expect("rows").iter();
        let mine: Vec<_> = rows.filter(|r| r["class"].as_str().expect("a name").starts_with("Swapped")).collect();
        let notes = report["notes"].to_string();
        let renumbered =
            "Swapped$1 is now Swapped$2; Swapped$2 is now Swapped$1; Swapped.lambda$main$0 is now Swapped.lambda$main$1";
        assert!(mine.is_empty() && notes.contains(renumbered), "JDK {}: {mine:#?} {notes}", jdk.feature);
        assert_eq!((&report["methods"]["new"], &report["methods"]["gone"]), (&0.into(), &0.into()), "JDK {}", jdk.feature);
    }
}

/// Two snapshots of one run: what happened between them.
#[test]
fn snapshots_subtract() {
    for jdk in jdk::all() {
        let directory = build::fresh(&format!("subtract-{}", jdk.feature));
        let (first, end) = (directory.join("first.cprof"), directory.join("end.cprof"));
        let agent = build::agent_option("quiet", &end);
        let mut java = jdk.command("java");
        build::must(java.arg(agent).args(["-cp", &build::with_api(&jdk), "Steered"]).arg(&first));
        let mut diff = Command::new(build::cprof());
        let csv = build::must(diff.arg("diff").arg(&first).arg(&end).args(["--metric", "calls", "--format", "csv"]));
        let row = |method: &str| csv.lines().find(|l| l.contains(&format!(",Steered,{method},"))).unwrap_or_default().to_owned();
        // tests/tests/whole/api.rs: 40 rounds before the snapshot, 40 of another method after it, each with a step.
        assert!(row("late").starts_with("new,") && row("late").contains(",0,40,40,"), "{}", row("late"));
        assert!(row("step").starts_with("changed,") && row("step").contains(",40,80,40,"), "{}", row("step"));
        assert_eq!(row("counted"), "", "nothing happened there");
    }
}
