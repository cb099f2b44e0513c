//! What `cprof export --format lcov` writes, read.

use crate::OrFail;
use crate::annotated::cprof;
use std::collections::BTreeMap;
use std::path::Path;

/// A source file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Executions by line.
    pub lines: BTreeMap<u16, u64>,
    /// First line and calls by method.
    pub functions: BTreeMap<String, (u16, u64)>,
    /// How often each way was taken, by line and number of the branch on it; none: the branch was not executed.
    pub branches: BTreeMap<(u16, u64), Vec<Option<u64>>>,
}

/// Exports a profile with these arguments, and reads what is written: files by path. What a file says of its own sums is checked.
pub fn exported(profile: &Path, arguments: &[&str]) -> BTreeMap<String, File> {
    read(&cprof("export", profile, &[&["--format", "lcov", "-o", "-"], arguments].concat()))
}

fn read(text: &str) -> BTreeMap<String, File> {
    let mut files = BTreeMap::new();
    let (mut path, mut file) = (String::new(), File::default());
    let mut sums: BTreeMap<&str, usize> = BTreeMap::new();
    let number = |text: &str| text.parse::<u64>().or_fail(text);
    for line in text.lines() {
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        let fields: Vec<&str> = value.split(',').collect();
        match (key, &fields[..]) {
            ("TN", [""]) => {}
            ("SF", _) => path = value.to_owned(),
            ("FN", [line, name]) => {
                let before = file.functions.insert((*name).to_owned(), (number(line) as u16, 0));
                assert_eq!(before, None, "{path}: {name} is there twice");
            }
            ("FNDA", [calls, name]) => file.functions.get_mut(*name).or_fail(value).1 = number(calls),
            ("BRDA", [line, branch, way, taken]) => {
                let ways = file.branches.entry((number(line) as u16, number(branch))).or_default();
                assert_eq!(ways.len() as u64, number(way), "{path}: {value}");
                ways.push((*taken != "-").then(|| number(taken)));
            }
            ("DA", [line, executions]) => {
                let before = file.lines.insert(number(line) as u16, number(executions));
                assert_eq!(before, None, "{path}: line {line} is there twice");
            }
            ("FNF" | "FNH" | "BRF" | "BRH" | "LF" | "LH", [sum]) => drop(sums.insert(key, number(sum) as usize)),
            ("end_of_record", _) => {
                let ways: Vec<Option<u64>> = file.branches.values().flatten().copied().collect();
                let expected = [
                    ("BRF", ways.len()),
                    ("BRH", ways.iter().filter(|way| way.is_some_and(|taken| taken > 0)).count()),
                    ("FNF", file.functions.len()),
                    ("FNH", file.functions.values().filter(|(_, calls)| *calls > 0).count()),
                    ("LF", file.lines.len()),
                    ("LH", file.lines.values().filter(|executions| **executions > 0).count()),
                ];
                assert_eq!(std::mem::take(&mut sums), BTreeMap::from(expected), "{path}");
                assert_eq!(files.insert(std::mem::take(&mut path), std::mem::take(&mut file)), None, "{line}: it is there twice");
            }
            _ => panic!("{path}: {line:?} is nothing of lcov's"),
        }
    }
    assert_eq!(path, "", "it has no end");
    files
}
