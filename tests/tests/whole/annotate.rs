//! `cprof annotate` and `cprof histogram` on real runs: outcomes that follow from n, and sums that are the report's to the last
//! unit.

use cprof_tests::annotated::{cprof, json, list, number, reported, sums};
use cprof_tests::evaluated::{self, Recording};
use cprof_tests::run::{self, Bench};
use cprof_tests::{OrFail, annotated, build, callgrind, program};
use serde_json::Value;
use std::collections::BTreeMap;

/// What `Branches.measured` calls its methods with.
const N: u64 = 1000;

fn record(bench: &Bench, main: &str, options: &str) -> Recording {
    evaluated::record(bench, &bench.built.class_path, main, &format!("{main}.measured"), options)
}

/// The first row of a method's whose text begins so.
fn row<'v>(method: &'v Value, text: &str) -> &'v Value {
    let found = list(method, "rows").iter().find(|row| row["text"].as_str().is_some_and(|t| t.starts_with(text)));
    found.unwrap_or_else(|| panic!("no {text} in {method}"))
}

/// The count of an outcome of a row; 0 when there is none.
fn outcome(row: &Value, way: &str) -> u64 {
    list(row, "outcomes").iter().find(|o| o["way"] == way).map_or(0, |o| number(o, "count"))
}

#[test]
fn outcomes_follow_from_n() {
    let thirds = N.div_ceil(3);
    for bench in run::benches() {
        for level in ["precise", "block"] {
            let recording = record(&bench, "Branches", &format!("bba={level}"));
            let method = |name: &str| {
                let annotated = json("annotate", &recording.file, &[&format!("Branches.{name}")]);
                assert_eq!(list(&annotated, "methods").len(), 1);
                annotated["methods"][0].clone()
            };
            let counted = method("counted");
            let branch = row(&counted, "if_icmpge");
            assert_eq!((outcome(branch, "taken"), outcome(branch, "not_taken")), (1, N));
            assert_eq!(number(row(&counted, "iinc"), "executions"), N);
            assert_eq!(number(row(&counted, "ireturn"), "executions"), 1);

            let cases = method("cases");
            let cases: Vec<(Value, Value, u64)> = list(row(&cases, "tableswitch"), "outcomes")
                .iter()
                .map(|o| (o["values"].clone(), o["default"].clone(), number(o, "count")))
                .collect();
            let case = |values: &[i32], default: bool, count: u64| (Value::from(values), Value::from(default), count);
            assert_eq!(cases, [case(&[0], false, N / 10), case(&[1, 2], false, N / 5), case(&[], true, N * 7 / 10)]);

            let third = method("third");
            let branch = row(&third, "ifne");
            assert_eq!((outcome(branch, "taken"), outcome(branch, "not_taken")), (N - thirds, thirds));
            assert_eq!((number(&third, "calls"), number(&third, "exceptional_exits")), (N, thirds));
            // Counted by blocks, the block says that it was left.
            let thrower = if level == "precise" { "athrow" } else { "new" };
            assert_eq!(outcome(row(&third, thrower), "thrown"), thirds, "{level}");

            let thrown = method("thrown");
            let call = if level == "precise" { "invokestatic" } else { "iload_1" };
            assert_eq!(outcome(row(&thrown, call), "caught"), thirds, "{level}");
            let handlers: Vec<u64> = list(&thrown, "blocks").iter().map(|b| number(b, "handled")).filter(|n| *n > 0).collect();
            assert_eq!(handlers, [thirds]);
        }
    }
}

#[test]
fn opcodes_and_blocks_follow_from_n() {
    for bench in run::benches() {
        let recording = record(&bench, "Branches", "bba=precise");
        let root = ["--root", "Branches.counted"];
        let histogram = json("histogram", &recording.file, &root);
        let opcode = |name: &str| {
            list(&histogram, "opcodes").iter().find(|o| o["mnemonic"] == name).map_or(0, |o| number(o, "executions"))
        };
        let expected = [
            ("iconst_0", 2),
            ("istore_1", N + 1),
            ("istore_2", 1),
            ("iload_0", N + 1),
            ("iload_1", N + 1),
            ("iload_2", 2 * N + 1),
            ("if_icmpge", N + 1),
            ("iadd", N),
            ("iinc", N),
            ("goto", N),
            ("ireturn", 1),
        ];
        assert_eq!(expected.map(|(name, _)| (name, opcode(name))), expected);
        assert_eq!(number(&histogram, "bytecodes"), expected.iter().map(|e| e.1).sum::<u64>());
        // Before the loop and behind it, its head, its body.
        let sizes = [[2, 1], [3, N + 1], [4, 1], [6, N]].map(|row| Value::from(&row[..]));
        assert_eq!(list(&histogram["blocks"], "sizes"), sizes);
        let branches = list(&histogram, "branches").iter().find(|b| b["kind"] == "forward").expect("a row of that kind");
        assert_eq!((number(branches, "taken"), number(branches, "not_taken"), number(branches, "sites")), (1, N, 1));
    }
}

#[test]
fn sums_are_those_of_the_report() {
    const CACHE: &str = "512/4";
    const CONTRADICTION: &str = "contradict";
    const SITES: &str = "several call sites";
    const RUNS: [(&str, &str); 12] = [
        ("Kinds", ""),
        ("Kinds", ",sites=on"),
        ("Kinds", ",depth=3"),
        ("Invokes", ",sites=on"),
        ("Cores", ",depth=3"),
        ("Finally", ""),
        ("Finally", ",bba=block"),
        ("Synchronized", ",sites=on"),
        ("Rethrow", ",bba=block"),
        ("Rethrow", ",depth=3,bba=block"),
        ("Recursion", ",recursion=fold"),
        ("Generated", ""),
    ];
    for bench in run::benches() {
        let mut cycles = 0;
        for (main, options) in RUNS {
            let recording = record(&bench, main, &format!("cache={CACHE}{options}"));
            let name = format!("{main}{options} on {}", bench.jdk.feature);
            for target in [
                &["--target", "jop", "--cache", CACHE][..],
                &["--target", "jop", "--cache", "none", "--no-upcalls", "--no-exceptions"],
            ] {
                let report = reported(&cprof("report", &recording.file, &[target, &["--format", "csv"]].concat()));
                let (rows, reasons) = sums(&json("annotate", &recording.file, &[&["*"], target].concat()));
                assert_eq!(rows, report, "{name}, {target:?}");
                assert!(!reasons.iter().any(|why| why.contains(CONTRADICTION)), "{name}, {target:?}: {reasons:?}");
                let sites_known = options == ",sites=on";
                assert!(!(sites_known && reasons.iter().any(|why| why.contains(SITES))), "{name}, {target:?}: {reasons:?}");
                cycles += report.values().map(|sums| sums.cycles).sum::<i64>();
            }
            if options.contains("depth") {
                continue; // the same blocks, elsewhere
            }
            let report = json("report", &recording.file, &[]);
            let all = number(&report["totals"], "bytecodes");
            for (by, column) in [("opcode", "executions"), ("class", "bytecodes"), ("method", "bytecodes"), ("line", "bytecodes")]
            {
                let csv = cprof("histogram", &recording.file, &["--by", by, "--format", "csv"]);
                assert_eq!(annotated::column_sum(&csv, column), all, "{name} by {by}");
            }
            let by = |by| cprof("histogram", &recording.file, &["--by", by, "--format", "csv"]);
            for column in ["branches", "taken"] {
                let sums = ["class", "method", "line"].map(|of| annotated::column_sum(&by(of), column));
                assert!(sums.iter().all(|&sum| sum == sums[0]), "{name}, {column}: {sums:?}");
            }
            let histogram = json("histogram", &recording.file, &[]);
            let blocks = list(&histogram["blocks"], "sizes").iter();
            let in_blocks: u64 = blocks.map(|b| b[0].as_u64().unwrap_or_default() * b[1].as_u64().unwrap_or_default()).sum();
            assert_eq!((in_blocks, number(&histogram, "bytecodes")), (all, all), "{name}");
        }
        assert!(cycles > 10_000_000, "so few say little: {cycles}");
    }
}

#[test]
fn the_whole_of_a_run_has_the_sums_of_the_report() {
    for bench in run::benches() {
        let recording = evaluated::record_whole(&bench, "Lambdas");
        let target = ["--target", "jop", "--cache", "ideal"];
        let report = reported(&cprof("report", &recording.file, &[&target[..], &["--format", "csv"]].concat()));
        let (rows, reasons) = sums(&json("annotate", &recording.file, &[&["*"], &target[..]].concat()));
        assert_eq!(rows, report, "on {}", bench.jdk.feature);
        assert!(rows.len() > 1000 && !reasons.iter().any(|why| why.contains("contradict")));
        let lambda = cprof("annotate", &recording.file, &["Lambdas$$Lambda"]);
        assert!(lambda.contains("with this name and different code"), "{lambda}");
    }
}

#[test]
fn sources_are_shown_line_by_line() {
    let programs = program::directory();
    let text = std::fs::read_to_string(programs.join("Branches.java")).or_fail("Branches.java");
    for bench in run::benches() {
        let recording = record(&bench, "Branches", "bba=precise");
        let source = ["--source", &programs.display().to_string()];
        let annotated = json("annotate", &recording.file, &[&["Branches"], &source[..]].concat());
        let [file] = list(&annotated, "files") else { panic!("one file in {annotated}") };
        let mut bytecodes = 0;
        for line in list(file, "lines") {
            assert_eq!(line["text"].as_str(), text.lines().nth(number(line, "line") as usize - 1));
            bytecodes += number(line, "bytecodes");
        }
        let all: u64 = list(&annotated, "methods").iter().map(|m| number(m, "bytecodes")).sum();
        assert_eq!(bytecodes, all);
        let line = |text: &str| {
            let found = list(file, "lines").iter().find(|l| l["text"].as_str().is_some_and(|t| t.contains(text)));
            found.map_or(0, |l| number(l, "executions"))
        };
        assert_eq!((line("sum += i;"), line("case 0: sum++"), line("default: sum--;")), (N + 1, N / 10, N * 7 / 10));
        let lines = |what: &str| {
            let annotated = json("annotate", &recording.file, &[&[what], &source[..]].concat());
            let [file] = list(&annotated, "files") else { panic!("one file in {annotated}") };
            list(file, "lines")
                .iter()
                .filter_map(|line| line["text"].as_str())
                .map(|text| text.trim().to_owned())
                .collect::<Vec<_>>()
        };
        assert!(lines("Branches").contains(&"return -n;".to_owned()), "it stands behind all that ran");
        assert!(!lines("Branches.*d").contains(&"return -n;".to_owned()), "nobody asked for it");

        let shown = cprof("annotate", &recording.file, &[&["Branches.third"], &source[..]].concat());
        assert!(shown.contains("ifne taken") && shown.contains("throw new IllegalStateException();"), "{shown}");
        let older = build::fresh(&format!("older-{}", bench.jdk.feature));
        let first: Vec<&str> = text.lines().take(20).collect();
        std::fs::write(older.join("Branches.java"), first.join("\n")).or_fail(older.display());
        let older = older.display().to_string();
        let shown = cprof("annotate", &recording.file, &["Branches", "--source", &older]);
        assert!(shown.contains("has 20 lines, the class that ran has code on line"), "{shown}");
        assert!(shown.contains("this is not the source it was compiled from"), "{shown}");
        assert!(shown.contains("Branches.java was changed after the profile was taken"), "{shown}");
        let shown =
            cprof("annotate", &recording.file, &["Branches.third", "--source", &build::fresh("empty").display().to_string()]);
        assert!(shown.contains("no source: Branches.java was not found") && shown.contains("ifne"), "{shown}");
    }
}

/// And so on the lines that `cprof annotate` has.
#[test]
fn callgrind_has_own_costs_where_they_arise() {
    const METRICS: [&str; 2] = ["bytecodes", "cycles_jop_512_4"];
    let programs = program::directory().display().to_string();
    let text = std::fs::read_to_string(program::directory().join("Branches.java")).or_fail("Branches.java");
    let line = |of: &str| text.lines().position(|line| line.contains(of)).map_or(0, |at| at as u32 + 1);
    for bench in run::benches() {
        let recording = record(&bench, "Branches", "cache=512/4");
        let target = ["--target", "jop", "--cache", "512/4"];
        let exported = callgrind::exported(&recording.file, &target);
        let column = |name: &str| exported.events.iter().position(|event| event == name).expect("an event of that name");
        let [bytecodes, cycles] = METRICS.map(column);
        let mut lines: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for ((file, _, line), own) in &exported.own {
            if file == "Branches.java" {
                let sums = lines.entry(*line).or_default();
                *sums = (sums.0 + own[bytecodes], sums.1 + own[cycles]);
            }
        }
        // A turn compares with three bytecodes, adds with four, counts and jumps with two; before and behind are two and three.
        assert_eq!(lines[&line("i < n; i++) sum += i;")].0, 9 * N + 5);
        assert_eq!(lines[&line("default: sum--;")].0, N * 7 / 10);
        let annotated = json("annotate", &recording.file, &[&["Branches", "--source", &programs], &target[..]].concat());
        let [file] = list(&annotated, "files") else { panic!("one file in {annotated}") };
        let mut expected: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for line in list(file, "lines").iter().filter(|line| number(line, "bytecodes") > 0) {
            expected.insert(number(line, "line") as u32, (number(line, "bytecodes"), number(line, "cycles")));
        }
        assert_eq!(lines, expected, "JDK {}", bench.jdk.feature);
    }
}

#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn inlined_kotlin_is_on_lines_of_the_source() {
    let sources = program::directory().join("kotlin").display().to_string();
    for bench in run::benches() {
        let recording = evaluated::record(&bench, &build::kotlin(&bench.jdk), "acme.SumsKt", "acme.SumsKt.main", "");
        let annotated = json("annotate", &recording.file, &["acme.SumsKt.main", "--source", &sources]);
        let [file] = list(&annotated, "files") else { panic!("one file in {annotated}") };
        let line = |text: &str| {
            let found = list(file, "lines").iter().find(|l| l["text"].as_str().is_some_and(|t| t.contains(text)));
            found.unwrap_or_else(|| panic!("no line {text:?} in {file}"))
        };
        // A function of the same file, where it stands.
        let executed = ["while (at < times)", "body(at)", "sum += it"].map(|text| number(line(text), "executions"));
        assert_eq!(executed, [N + 1, N, N]);
        // One of another file, where it is called: once from there, and once its own two calls of what it was given.
        assert!(number(line("twice {"), "bytecodes") > 0, "{file}");
        assert_eq!(number(line("sum += 100"), "executions"), 1, "two copies: {file}");
        let of_lines: u64 = list(file, "lines").iter().map(|line| number(line, "bytecodes")).sum();
        let of_methods: u64 = list(&annotated, "methods").iter().map(|m| number(m, "bytecodes")).sum();
        // What the compiler adds has no line.
        assert!(of_methods - of_lines < 10, "{of_lines} of {of_methods}");
        let shown = cprof("annotate", &recording.file, &["acme.SumsKt.main", "--source", &sources]);
        assert!(!shown.contains("has no such line"), "{shown}");
    }
}
