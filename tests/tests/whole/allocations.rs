//! Allocations: in each context those that the oracle saw, by type as they follow from n, and as budgets.

use cprof_tests::annotated::{column_sum, cprof, json, list, number};
use cprof_tests::evaluated::{self, Recording};
use cprof_tests::run::{self, Bench};
use cprof_tests::trace::{Trace, What};
use cprof_tests::{OrFail, build};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Programs that do the same in each run.
const PROGRAMS: [&str; 8] =
    ["Makes", "Constructors", "Finally", "Generated", "ImplicitExceptions", "Records", "Rethrow", "Synchronized"];

/// What `Makes.measured` makes of each.
const N: u64 = 100;

/// `new`, `newarray`, `anewarray`, `multianewarray` (JVMS §6.5).
const ALLOCATING: [u8; 4] = [0xbb, 0xbc, 0xbd, 0xc5];

const TARGET: [&str; 2] = ["--target", "allocations"];

/// What instructions made in each context, and what they did not because they threw.
fn seen(trace: &Trace) -> (BTreeMap<String, u64>, u64) {
    let mut made: BTreeMap<String, u64> = BTreeMap::new();
    for context in &trace.contexts {
        let executed = context.opcodes.iter().filter(|(opcode, _)| ALLOCATING.contains(opcode));
        *made.entry(context.path.clone()).or_default() += executed.map(|(_, executions)| executions).sum::<u64>();
    }
    let mut threw = 0;
    for event in &trace.events {
        if let What::Thrown(opcode) | What::Caught(opcode) = event.what
            && ALLOCATING.contains(&opcode)
        {
            *made.get_mut(&trace.contexts[event.context].path).or_fail("a context of the trace") -= 1;
            threw += 1;
        }
    }
    made.retain(|_, made| *made > 0);
    (made, threw)
}

fn types(recording: &Recording, root: &str) -> BTreeMap<String, u64> {
    let histogram = json("histogram", &recording.file, &["--by", "type", "--root", root]);
    let rows = list(&histogram, "types").iter();
    let types: BTreeMap<String, u64> =
        rows.map(|row| (row["type"].as_str().or_fail("a type").to_owned(), number(row, "allocations"))).collect();
    assert_eq!(number(&histogram, "allocations"), types.values().sum::<u64>());
    types
}

#[test]
fn allocations_are_those_of_the_trace() {
    let compare = |bench: &Bench| {
        let mut threw = 0;
        for main in PROGRAMS {
            let root = format!("{main}.measured");
            let (expected, refused) = seen(&Trace::record(bench, &bench.built.class_path, main, &root));
            threw += refused;
            let recording = evaluated::record(bench, &bench.built.class_path, main, &root, "bba=precise");
            let on = recording.on(&TARGET);
            let found: BTreeMap<String, u64> =
                on.contexts.into_iter().map(|(path, cycles)| (path, cycles.own)).filter(|(_, own)| *own > 0).collect();
            assert_eq!(found, expected, "{main} on {}", bench.jdk.feature);
            let all: u64 = expected.values().sum();
            assert!(all > 0, "{main} makes nothing");
            assert_eq!((on.sums.cycles, on.sums.exceptions, on.sums.misses), (all, 0, 0), "{main} on {}", bench.jdk.feature);
            assert_eq!(types(&recording, &root).values().sum::<u64>(), all, "{main} on {}", bench.jdk.feature);
            let lines = json("annotate", &recording.file, &[&["*"], &TARGET[..]].concat());
            let on_lines: u64 =
                list(&lines, "methods").iter().flat_map(|m| list(m, "rows")).map(|row| number(row, "cycles")).sum();
            assert_eq!(on_lines, all, "{main} on {}: each is at its instruction", bench.jdk.feature);
        }
        threw
    };
    for threw in run::on_every_jdk(compare) {
        assert!(threw >= N + N / 2, "those of Makes that are refused: {threw}");
    }
}

#[test]
fn types_follow_from_n() {
    for bench in run::benches() {
        let recorded =
            |level: &str| evaluated::record(&bench, &bench.built.class_path, "Makes", "Makes.measured", &format!("bba={level}"));
        let expect =
            |rows: &[(&str, u64)]| -> BTreeMap<String, u64> { rows.iter().map(|(of, made)| ((*of).to_owned(), *made)).collect() };
        let precise = recorded("precise");
        assert_eq!(types(&precise, "Makes.objects"), expect(&[("Makes", N), ("java.lang.Integer", N)]));
        let arrays = [("int[]", N), ("java.lang.String[][]", N), ("long[][][]", N), ("short[]", N)];
        assert_eq!(types(&precise, "Makes.arrays"), expect(&arrays));
        let shown = cprof("histogram", &precise.file, &["--by", "type", "--root", "Makes.arrays", "--top", "2"]);
        assert!(shown.contains("400 objects and arrays made by bytecodes"), "{shown}");
        assert!(shown.contains("2 more types: 200 (50.0%)"), "{shown}");
        assert!(shown.contains("  100  java.lang.Object.clone()"), "{shown}");
        let root = ["--root", "java.lang.Object.clone"];
        let cloned = json("histogram", &precise.file, &[&["--by", "type"], &root[..]].concat());
        let calls = number(&json("report", &precise.file, &root)["totals"], "native_calls");
        assert_eq!((number(&cloned, "allocations"), number(&cloned["natives"][0], "calls")), (0, calls));
        assert!(calls >= N, "those of Makes.arrays: {calls}");
        let refused = types(&precise, "Makes.refused");
        assert_eq!((refused["double[]"], refused.get("Makes$Fails")), (N / 2, None), "{refused:?}");
        assert_eq!(refused["java.lang.IllegalStateException"], 1);
        // Where blocks count whole, what threw cannot be told.
        let block = recorded("block");
        let refused = types(&block, "Makes.refused");
        assert_eq!((refused["double[]"], refused["Makes$Fails"]), (N, N), "{refused:?}");
        let told = json("report", &block.file, &TARGET)["totals"]["notes"].to_string();
        assert!(told.contains(" counted by whole blocks, and left some before their end"), "{told}");
        let notes = json("report", &precise.file, &TARGET)["totals"]["notes"].clone();
        assert_eq!(notes, serde_json::json!([]));
    }
}

/// Of a whole run, the JDK's classes and hidden ones included.
#[test]
fn both_ways_of_counting_agree() {
    for bench in run::benches() {
        let recording = evaluated::record_whole(&bench, "Lambdas");
        let by_type = column_sum(&cprof("histogram", &recording.file, &["--by", "type", "--format", "csv"]), "allocations");
        let report = json("report", &recording.file, &TARGET);
        assert_eq!((&report["totals"]["unit"], number(&report["totals"], "cycles")), (&"allocations".into(), by_type));
        assert!(by_type > 1000, "so few say little: {by_type}");
    }
}

#[test]
fn allocations_have_budgets() {
    let bench = &run::benches()[0];
    let recording = evaluated::record(bench, &bench.built.class_path, "Makes", "Makes.measured", "bba=precise");
    let budget = build::fresh("allocations").join("budget.toml");
    let check = |limit: &str| {
        let text = format!("[[budget]]\nmethod = \"Makes.arrays\"\nlimits = [{limit:?}]\n");
        fs::write(&budget, text).or_fail(budget.display());
        let mut check = Command::new(build::cprof());
        let output = check.arg("check").arg(&recording.file).arg("--budget").arg(&budget).output().or_fail("cprof check");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(check(&format!("allocations == {}", 4 * N)).0, Some(0));
    let (code, said) = check(&format!("own allocations < {}", 4 * N));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Makes.arrays: 400 own allocations, must be < 400"), "{said}");
}
