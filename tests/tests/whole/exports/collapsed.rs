//! Collapsed stacks: drawn by inferno and flamegraph.pl, and added up.

use super::{Costs, JAVAC, Javac, METRICS, PART, consumers, total};
use cprof_export::names;
use cprof_tests::run::{contexts, exported_name};
use cprof_tests::{OrFail, build, jdk};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;

/// A tool that draws flame graphs of collapsed stacks.
#[derive(Clone, Copy)]
enum Drawer {
    Inferno,
    FlamegraphPl,
}

impl Drawer {
    /// What the picture says of each frame, by name. It has no frames narrower than so many of its 1200 pixels.
    fn frames(self, mut export: Command, metric: &str, narrowest: &str) -> BTreeMap<String, Vec<u64>> {
        let mut draw = match self {
            Drawer::Inferno => Command::new("inferno-flamegraph"),
            Drawer::FlamegraphPl => {
                let mut perl = Command::new("perl");
                perl.arg(consumers().join("flamegraph.pl"));
                perl
            }
        };
        let mut export = export.spawn().or_fail("starting cprof export");
        let stacks = export.stdout.take().expect("it is piped");
        let picture = build::must(draw.args(["--minwidth", narrowest, "--countname", metric]).stdin(stacks));
        let status = export.wait().or_fail("waiting for cprof export");
        assert!(status.success(), "cprof export of {metric} ended with {status}");
        let mut frames: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for text in picture.split("<title>").skip(1) {
            // name (1,234 bytecodes, 5.67%)
            let title = text.split_once("</title>").or_fail(text).0;
            let (name, numbers) = title.rsplit_once(" (").or_fail(title);
            assert!(!name.contains('<'), "markup: {title}");
            let (number, rest) = numbers.split_once(' ').or_fail(title);
            assert!(rest.starts_with(&format!("{metric}, ")), "{title}");
            let number = number.replace(',', "").parse().or_fail(title);
            frames.entry(unescaped(name)).or_default().push(number);
        }
        frames
    }

    /// The frame of a method or thread that exports give this name.
    fn frame(self, name: &str) -> String {
        let name = name.replace(';', "\\u003b");
        match self {
            Drawer::Inferno => name,
            Drawer::FlamegraphPl => name.replace('<', "(").replace('>', ")"),
        }
    }

    /// Fails unless the total is that of a report, and so are those of contexts.
    fn draws(self, javac: &Javac, root: &str, report: &Value, (metric, name): (&str, &str)) {
        let all = total(report, metric);
        let mut drawn = self.frames(collapsing(&javac.profile, &["--root", root, "--metric", name]), metric, "0.5");
        for whole in ["all", "[main]"] {
            assert_eq!(drawn.remove(whole), Some(vec![all]), "{metric} of {whole}");
        }
        let mut reported: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for row in contexts(report) {
            let total = row[format!("{metric}_total")].as_u64().expect("a context's number with callees");
            reported.entry(self.frame(&exported_name(row))).or_default().push(total);
        }
        assert!(drawn.len() > 100, "{metric}: {} methods are drawn", drawn.len());
        for (method, totals) in drawn {
            let mut rest = reported.remove(&method).unwrap_or_default();
            for total in totals {
                let at = rest.iter().position(|&other| other == total);
                rest.swap_remove(
                    at.unwrap_or_else(|| panic!("{metric}: no context of {method} has {total}; others have {rest:?}")),
                );
            }
        }
    }

    /// In the metrics of which reports have the numbers of contexts with callees. What stacks look like does not depend on the
    /// metric.
    fn draws_what_a_report_says(self, root: &str) {
        let javac = &*JAVAC;
        let report = javac.ask(&["--root", root, "--tree"]);
        thread::scope(|scope| {
            for metric in METRICS.into_iter().filter(|(metric, _)| ["bytecodes", "cycles"].contains(metric)) {
                let report = &report;
                scope.spawn(move || self.draws(javac, root, report, metric));
            }
        });
    }

    /// Classes and threads whose names are markup.
    fn draws_hostile_names(self) {
        let profile = &*HOSTILE;
        let drawn = self.frames(collapsing(profile, &[]), "bytecodes", "0");
        let ask = |options: &[&str]| -> Value {
            let mut report = Command::new(build::cprof());
            report.arg("report").arg(profile).args(["--format", "json"]).args(options);
            serde_json::from_str(&build::must(&mut report)).or_fail("the report")
        };
        let report = ask(&[]);
        assert_eq!(drawn.get("all"), Some(&vec![total(&report, "bytecodes")]));
        let rows = report["methods"].as_array().expect("methods").iter();
        let hostile: Vec<&Value> = rows.filter(|row| row["class"].as_str().is_some_and(|class| class.contains('<'))).collect();
        assert!(hostile.len() >= 4, "run() and the constructors of two classes: {hostile:?}");
        for row in hostile {
            let name = self.frame(&exported_name(row));
            let sum = drawn.get(&name).map(|totals| totals.iter().sum());
            assert_eq!(sum, row["bytecodes_total"].as_u64(), "{name}");
        }
        for row in ask(&["--threads"])["threads"].as_array().expect("threads") {
            let own = row["bytecodes"].as_u64().filter(|&own| own > 0);
            let name = self.frame(&names::thread(row["thread"].as_str().expect("the thread's name")));
            assert_eq!(drawn.get(&name), own.map(|own| vec![own]).as_ref(), "{name}");
        }
    }
}

/// A text of XML.
fn unescaped(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

/// The profile of `tests/views/Hostile.java`.
static HOSTILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let jdk = jdk::all().remove(0);
    let folder = build::fresh("exports-hostile");
    let profile = folder.join("hostile.cprof");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("views/Hostile.java");
    build::must(jdk.command("javac").arg("-d").arg(&folder).arg(source));
    let agent = build::agent_option("quiet", &profile);
    build::must(jdk.command("java").arg(agent).arg("-cp").arg(&folder).arg("Hostile"));
    profile
});

/// An export into a pipe.
fn collapsing(profile: &Path, options: &[&str]) -> Command {
    let mut export = Command::new(build::cprof());
    export.arg("export").arg(profile).args(["--format", "collapsed", "-o", "-"]).args(options).stdout(Stdio::piped());
    export
}

#[test]
#[ignore = "needs inferno; scripts/test runs it"]
fn collapsed_draws_in_inferno() {
    Drawer::Inferno.draws_what_a_report_says(PART);
    Drawer::Inferno.draws_hostile_names();
}

#[test]
#[ignore = "needs flamegraph.pl; scripts/test runs it"]
fn flamegraph_pl_draws_collapsed() {
    // Of what inferno draws, each metric would take it a fifth of a minute and more than a gigabyte.
    Drawer::FlamegraphPl.draws_what_a_report_says("com.sun.tools.javac.main.JavaCompiler.flow");
    Drawer::FlamegraphPl.draws_hostile_names();
}

/// All of it, which is gigabytes: on the way through a pipe, two metrics at a time.
#[test]
#[ignore = "takes a while; scripts/test runs it"]
fn collapsed_has_the_totals_of_a_report() {
    let javac = &*JAVAC;
    for pair in METRICS.chunks(2) {
        thread::scope(|scope| {
            for (metric, name) in pair {
                scope.spawn(move || javac.compare(&collapsed(javac, name), metric, "collapsed"));
            }
        });
    }
}

/// What the last frames of all stacks cost.
fn collapsed(javac: &Javac, metric: &str) -> Costs {
    let mut export = collapsing(&javac.profile, &["--metric", metric]).spawn().or_fail("starting cprof export");
    let mut stacks = BufReader::with_capacity(1 << 20, export.stdout.take().expect("it is piped"));
    let (mut costs, mut line) = (Costs::new(), Vec::new());
    while stacks.read_until(b'\n', &mut line).or_fail("reading stacks") > 0 {
        // Callers are most of a line.
        let last = line.iter().rposition(|&byte| byte == b';').map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&line[last..]).or_fail("a frame");
        let (frame, number) = text.trim_end().rsplit_once(' ').or_fail(text);
        let number: u64 = number.parse().or_fail(text);
        match costs.get_mut(frame) {
            Some(sum) => sum.0 += number,
            None => drop(costs.insert(frame.to_owned(), (number, None))),
        }
        line.clear();
    }
    let status = export.wait().or_fail("waiting for cprof export");
    assert!(status.success(), "cprof export of {metric} ended with {status}");
    costs
}
