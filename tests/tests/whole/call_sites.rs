//! Calls in callgrind's format: each callee has as many as in the report, whether call sites were distinguished or not, and with
//! `sites=on` they are at the lines that call.

use cprof_tests::jdk::{self, Jdk};
use cprof_tests::run::{contexts, exported_name};
use cprof_tests::{OrFail, build, callgrind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One method that is called from several lines, and twice from one of them; and one that calls itself.
const SOURCE: &str = "\
final class Sites {
    public static void main(String[] arguments) {
        for (int i = 0; i < 10; i++) {
            called(i);
            called(1); called(2);
        }
        called(-1);
        down(5);
        down(2);
    }

    static void called(int i) {}

    static void down(int left) {
        if (left > 0) {
            down(left - 1);
        }
    }
}
";

const MAIN: &str = "Sites.main(java.lang.String[]):void";
const CALLED: &str = "Sites.called(int):void";
const DOWN: &str = "Sites.down(int):void";

/// How often, by caller, callee and line.
type Calls = BTreeMap<(String, String, u32), u64>;

fn record(jdk: &Jdk, classes: &Path, folder: &Path, options: &str) -> PathBuf {
    let profile = folder.join("sites.cprof");
    let agent = build::agent_option(&format!("quiet{options}"), &profile);
    build::must(jdk.command("java").arg(agent).arg("-cp").arg(classes).arg("Sites"));
    profile
}

/// Calls by method, as `cprof report` has them.
fn reported(profile: &Path) -> BTreeMap<String, u64> {
    let text = build::must(Command::new(build::cprof()).arg("report").arg(profile).args(["--format", "json"]));
    let report: Value = serde_json::from_str(&text).or_fail("the report");
    let row = |row: &Value| (exported_name(row), row["calls"].as_u64().unwrap_or_else(|| panic!("no calls: {row}")));
    // One that was found without a call was active when counting began.
    report["methods"].as_array().expect("methods").iter().map(row).filter(|(_, calls)| *calls > 0).collect()
}

/// The line of `SOURCE` that has this.
fn line(text: &str) -> u32 {
    let at = SOURCE.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("no line has {text}"));
    at as u32 + 1
}

/// Lines and counts of a method's calls of another.
fn between(calls: &Calls, caller: &str, callee: &str) -> Vec<(u32, u64)> {
    calls
        .iter()
        .filter(|((from, to, _), _)| from == caller && to == callee)
        .map(|((_, _, line), count)| (*line, *count))
        .collect()
}

#[test]
fn calls_are_those_of_the_report_and_at_their_lines() {
    for jdk in jdk::all() {
        let classes = build::fresh(&format!("call-sites-{}", jdk.feature));
        let source = classes.join("Sites.java");
        fs::write(&source, SOURCE).or_fail(source.display());
        build::must(jdk.command("javac").arg("-g").arg("-d").arg(&classes).arg(&source));
        for (options, sites) in [(",sites=on", true), ("", false)] {
            let what = format!("JDK {}, call sites {sites}", jdk.feature);
            let profile = record(&jdk, &classes, &build::fresh(&format!("call-sites-{}-{sites}", jdk.feature)), options);
            let calls = callgrind::exported(&profile, &[]).calls;
            let mut sums = BTreeMap::new();
            for ((_, callee, _), count) in calls.iter().filter(|(_, count)| **count > 0) {
                *sums.entry(callee.clone()).or_default() += count;
            }
            let reported = reported(&profile);
            assert!(reported.len() > 100, "{what}: only {} methods", reported.len());
            for callee in sums.keys().chain(reported.keys()) {
                assert_eq!(sums.get(callee), reported.get(callee), "{what}: calls of {callee}, and those reported");
            }
            assert_eq!(between(&calls, "[main]", MAIN).iter().map(|call| call.1).sum::<u64>(), 1, "{what}");

            let of_called = between(&calls, MAIN, CALLED);
            let of_down = between(&calls, MAIN, DOWN);
            let of_itself = between(&calls, DOWN, DOWN);
            if sites {
                let lines = [("called(i)", 10), ("called(1); called(2)", 20), ("called(-1)", 1)];
                assert_eq!(of_called, lines.map(|(text, count)| (line(text), count)), "{what}");
                assert_eq!(of_down, [("down(5)", 1), ("down(2)", 1)].map(|(text, count)| (line(text), count)), "{what}");
                assert_eq!(of_itself, [(line("down(left - 1)"), 7)], "{what}");
            } else {
                // Then they are at the caller's first line.
                let first = line("for (int i");
                assert_eq!((of_called, of_down), (vec![(first, 31)], vec![(first, 2)]), "{what}");
                assert_eq!(of_itself, [(line("left > 0"), 7)], "{what}");
            }
        }
    }
}

/// Called from two lines; what it calls goes on to a class that is initialised amid a call, which calls the same method again.
const FOLDED: &str = "\
final class Folded {
    static int sum;

    public static void main(String[] arguments) {
        measured();
        measured();
    }

    static void measured() {
        either(0);
        either(1);
    }

    static void either(int which) {
        if (which == 0) First.called();
        else last();
    }

    static void last() {
        sum++;
    }

    static class First {
        static {
            either(1);
        }

        static void called() {
            sum++;
        }
    }
}
";

/// Caller, callee, what stands in the line of the call, and how many.
type Expected = &'static [(&'static str, &'static str, &'static str, u64)];

#[test]
fn sites_are_in_the_method_that_contexts_have_for_a_caller() {
    const UP_TO_TWO: Expected = &[
        ("", "measured", "", 2),
        ("measured", "<clinit>", "either(0);", 1),
        ("measured", "called", "either(0);", 2),
        ("measured", "either", "either(0);", 3),
        ("measured", "either", "either(1);", 2),
        ("measured", "last", "either(0);", 1),
        ("measured", "last", "either(1);", 2),
    ];
    const NONE_TWICE: Expected = &[
        ("", "measured", "", 2),
        ("either", "<clinit>", "if (which == 0) First.called();", 1),
        ("either", "called", "if (which == 0) First.called();", 2),
        ("either", "last", "else last();", 1),
        ("either", "last", "else last();", 2),
        ("measured", "either", "either(0);", 3),
        ("measured", "either", "either(1);", 2),
    ];
    for jdk in jdk::all() {
        let folder = build::fresh(&format!("folded-sites-{}", jdk.feature));
        let (source, profile) = (folder.join("Folded.java"), folder.join("it.cprof"));
        fs::write(&source, FOLDED).or_fail(source.display());
        build::must(jdk.command("javac").arg("-g").arg("-d").arg(&folder).arg(&source));
        for (options, expected) in [("depth=1", UP_TO_TWO), ("recursion=fold", NONE_TWICE)] {
            let agent = build::agent();
            let agent = build::library_option(&agent, &format!("quiet,sites=on,root=Folded.measured,{options}"), &profile);
            build::must(jdk.command("java").arg(agent).arg("-cp").arg(&folder).arg("Folded"));
            let text = build::must(Command::new(build::cprof()).arg("report").arg(&profile).args(["--tree", "--format", "json"]));
            let report: Value = serde_json::from_str(&text).or_fail("the report");
            let rows = contexts(&report);
            let name = |row: &Value| row["method"].as_str().unwrap_or_default().to_owned();
            let mut found = Vec::new();
            for row in rows.iter().filter(|row| row["class"].as_str().is_some_and(|class| class.starts_with("Folded"))) {
                let caller = row["parent"].as_u64().and_then(|parent| parent.checked_sub(1));
                let caller = caller.map_or_else(String::new, |caller| name(&rows[caller as usize]));
                let line = row["line"].as_u64().and_then(|line| FOLDED.lines().nth(line as usize - 1));
                assert_eq!(row["site"].is_null(), line.is_none(), "{row}");
                found.push((caller, name(row), line.unwrap_or_default().trim(), row["calls"].as_u64().unwrap_or_default()));
            }
            found.sort();
            let found: Vec<_> = found.iter().map(|(caller, callee, line, calls)| (&**caller, &**callee, *line, *calls)).collect();
            assert_eq!(found, expected, "{options} on JDK {}", jdk.feature);
        }
    }
}

/// What `measured` calls is compiled from these lines, and counted.
fn version(jdk: &Jdk, directory: &Path, name: &str, body: &str) -> PathBuf {
    let (classes, out) = (directory.join(name), directory.join(name).with_extension("cprof"));
    fs::create_dir_all(&classes).or_fail("a directory");
    let source = classes.join("Version.java");
    let text = format!(
        "class Version {{\n static int s;\n static void leaf() {{ s++; }}\n static void work(int x) {{\n{body} }}\n \
         public static void main(String[] a) {{ work(a.length); }}\n}}\n"
    );
    fs::write(&source, text).or_fail(source.display());
    build::must(jdk.command("javac").arg("-d").arg(&classes).arg(&source));
    let agent = build::agent_option("quiet,sites=on,root=Version.main", &out);
    let arguments = name.split('-').skip(1);
    build::must(jdk.command("java").arg(agent).arg("-cp").arg(&classes).arg("Version").args(arguments));
    out
}

fn json(arguments: &[&str], files: &[&PathBuf]) -> Value {
    let text = build::must(Command::new(build::cprof()).args(arguments).args(files));
    serde_json::from_str(&text).or_fail(format_args!("{arguments:?}"))
}

#[test]
fn versions_of_a_class_have_their_own_lines_and_sites() {
    let jdk = &jdk::all()[0];
    let directory = build::fresh("call-sites-versions");
    let [one, two] = [("one", "  leaf();\n"), ("two", "  leaf();\n  s += 3;\n  leaf();\n")]
        .map(|(name, body)| version(jdk, &directory, name, body));
    let both = directory.join("both.cprof");
    build::must(Command::new(build::cprof()).args(["merge", "-q"]).args([&one, &two]).arg("-o").arg(&both));
    let report = json(&["report", "--tree", "--format", "json"], &[&both]);
    let leaves = report["contexts"].as_array().expect("contexts").iter().filter(|c| c["method"] == "leaf");
    let lines: Vec<_> = leaves.map(|c| (c["line"].as_u64(), c["calls"].as_u64())).collect();
    assert_eq!(lines, [(Some(5), Some(2)), (Some(7), Some(1))]);

    // The first and the third call, then the second and the third of code that has changed.
    let calls = "  if (x == 1) leaf();\n  if (x == 2) leaf();\n  leaf();\n";
    let before = version(jdk, &directory, "before-1", calls);
    let after = version(jdk, &directory, "after-1-2", &format!("  s++;\n{calls}"));
    let diff = json(&["diff", "--by", "context", "--format", "json"], &[&before, &after]);
    let leaves = diff["rows"].as_array().expect("rows").iter().filter(|r| r["method"] == "leaf");
    let mut fates: Vec<_> = leaves.map(|r| r["fate"].as_str().expect("a fate")).collect();
    fates.sort_unstable();
    assert_eq!(fates, ["gone", "new"], "{diff}");
}
