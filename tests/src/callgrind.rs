//! Profiles in callgrind's format, read.

use crate::annotated::cprof;
use crate::{OrFail, build};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a file has, by the names that `cprof export` gives methods. Costs are beside [`Callgrind::events`].
#[derive(Debug, Default)]
pub struct Callgrind {
    /// Names of the metrics.
    pub events: Vec<String>,
    /// Own costs, by source file, method and line.
    pub own: BTreeMap<(String, String, u32), Vec<u64>>,
    /// How often, by caller, callee and line.
    pub calls: BTreeMap<(String, String, u32), u64>,
}

/// Exports a profile with these arguments, and reads what is written.
pub fn exported(profile: &Path, arguments: &[&str]) -> Callgrind {
    let out = profile.with_file_name(format!("callgrind.out.{}", build::unique()));
    cprof("export", profile, &[&["--format", "callgrind", "-o", &out.display().to_string()], arguments].concat());
    read(&fs::read_to_string(&out).or_fail(out.display()))
}

/// `(7) name` the first time, `(7)` from then on.
fn name(known: &mut BTreeMap<String, String>, text: &str) -> String {
    let (number, name) = text.split_once(' ').map_or((text, None), |(number, name)| (number, Some(name)));
    if let Some(name) = name {
        let before = known.insert(number.to_owned(), name.to_owned());
        assert_eq!(before, None, "{text}: it had a name");
    }
    known.get(number).unwrap_or_else(|| panic!("{text}: it has no name yet")).clone()
}

/// A line of costs: the line in the source, and the costs.
fn costs(line: &str) -> (u32, Vec<u64>) {
    let mut numbers = line.split(' ').map(|number| number.parse::<u64>().or_fail(line));
    (numbers.next().unwrap_or_default() as u32, numbers.collect())
}

fn read(text: &str) -> Callgrind {
    let mut all = Callgrind::default();
    let (mut files, mut methods) = (BTreeMap::new(), BTreeMap::new());
    let (mut file, mut caller, mut callee) = (String::new(), String::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        match line.split_once('=') {
            Some(("fl" | "fi" | "fe", text)) => file = name(&mut files, text),
            Some(("cfi", text)) => drop(name(&mut files, text)),
            Some(("fn", text)) => caller = name(&mut methods, text),
            Some(("cfn", text)) => callee = name(&mut methods, text),
            Some(("calls", text)) => {
                let count = text.split(' ').next().unwrap_or_default().parse().or_fail(line);
                // The line of the call is in front of what it cost.
                let (at, _) = costs(lines.next().unwrap_or_default());
                let before = all.calls.insert((caller.clone(), callee.clone(), at), count);
                assert_eq!(before, None, "{caller} calls {callee} at {at} a second time");
            }
            _ => {
                if let Some(events) = line.strip_prefix("events: ") {
                    all.events = events.split(' ').map(str::to_owned).collect();
                } else if line.starts_with(|c: char| c.is_ascii_digit()) {
                    let (at, own) = costs(line);
                    let before = all.own.insert((file.clone(), caller.clone(), at), own);
                    assert_eq!(before, None, "{caller} has costs at {at} a second time");
                }
            }
        }
    }
    all
}
