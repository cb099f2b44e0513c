//! What `cprof annotate` and `cprof histogram` say.

use crate::{OrFail, build};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Standard output of a command on a profile.
pub fn cprof(command: &str, profile: &Path, arguments: &[&str]) -> String {
    build::must(Command::new(build::cprof()).arg(command).arg(profile).args(arguments))
}

/// Its JSON.
pub fn json(command: &str, profile: &Path, arguments: &[&str]) -> Value {
    let text = cprof(command, profile, &[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&text).or_fail(format_args!("reading the JSON of cprof {command}"))
}

/// A list in JSON; absent is empty.
pub fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// A number in JSON.
pub fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no number {key:?} in {value}"))
}

/// Sums of a method over its rows: bytecodes, and cycles with what stands at no bytecode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Bytecodes.
    pub bytecodes: u64,
    /// Cycles.
    pub cycles: i64,
}

/// Sums over the rows of each method, and the reasons for which cycles stand at no bytecode.
pub fn sums(annotated: &Value) -> (BTreeMap<String, Sums>, Vec<String>) {
    let mut methods: BTreeMap<String, Sums> = BTreeMap::new();
    let mut reasons = Vec::new();
    for method in list(annotated, "methods") {
        let text = |key: &str| method[key].as_str().unwrap_or_default().to_owned();
        let sums = methods.entry(format!("{}.{}{}", text("class"), text("method"), text("descriptor"))).or_default();
        assert_eq!(method["unexplained"], 0, "{}", text("method"));
        for row in list(method, "rows") {
            sums.bytecodes += number(row, "executions");
            sums.cycles += number(row, "cycles") as i64;
        }
        for elsewhere in list(method, "elsewhere") {
            sums.cycles += elsewhere["cycles"].as_i64().unwrap_or_default();
            reasons.push(elsewhere["why"].as_str().unwrap_or_default().to_owned());
        }
    }
    (methods, reasons)
}

/// The rows of a CSV with numbers in these columns: all fields, and the numbers.
pub(crate) fn rows<'c, const N: usize>(csv: &'c str, columns: [&str; N]) -> impl Iterator<Item = (Vec<&'c str>, [u64; N])> {
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let at = columns.map(|name| header.iter().position(|h| *h == name).or_fail(format_args!("no column {name}")));
    lines.map(move |line| {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), header.len(), "no name here needs quotes: {line}");
        let numbers = at.map(|at| fields[at].parse().or_fail(line));
        (fields, numbers)
    })
}

/// The same from `cprof report --format csv`, without native methods.
pub fn reported(csv: &str) -> BTreeMap<String, Sums> {
    let with_bytecode = rows(csv, ["bytecodes", "cycles"]).filter(|(_, [bytecodes, _])| *bytecodes > 0);
    let sums = |[bytecodes, cycles]: [u64; 2]| Sums { bytecodes, cycles: cycles as i64 };
    with_bytecode.map(|(fields, numbers)| (format!("{}.{}{}", fields[0], fields[1], fields[2]), sums(numbers))).collect()
}

/// A column of a CSV summed up.
pub fn column_sum(csv: &str, name: &str) -> u64 {
    rows(csv, [name]).map(|(_, [number])| number).sum()
}
