//! `cprof export` of javac, read by the tools that the formats are for: their totals are those of `cprof report`, method by method.
//!
//! Ignored, because the tools may not be there; scripts/test runs those whose tool is, and says which are not.

use cprof_export::names;
use cprof_profile::tree::Symbol;
use cprof_tests::jdk::{self, Jdk};
use cprof_tests::run::{contexts, exported_name};
use cprof_tests::{OrFail, build, program};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

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
    java.arg(format!("-agentpath:{}=out={},quiet,target=jop{options}", build::agent().display(), profile.display()));
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

/// A method as exports name it.
fn name(class: &str, method: &str, descriptor: &str, native: bool) -> String {
    let [class, method, descriptor] = [class, method, descriptor].map(str::to_owned);
    names::method(&Symbol { class, method, descriptor, native })
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
    let javac = &*JAVAC;
    let file = javac.export("javac.pb.gz", &["--format", "pprof"]);
    // Few sessions, as each takes seconds to read the file; two at a time, as each uses one processor.
    thread::scope(|scope| {
        for metrics in METRICS.chunks(METRICS.len() / 2) {
            scope.spawn(|| in_pprof(javac, &file, metrics));
        }
    });
    let part = javac.export("part.pb.gz", &["--format", "pprof", "--root", "com.sun.tools.javac.main.JavaCompiler.parseFiles"]);
    let peek = build::must(go().args(["-peek", "JavaCompiler.parse"]).arg(&part));
    assert!(peek.contains("com.sun.tools.javac.main.JavaCompiler.parseFiles("), "{peek}");
    let lines = build::must(go().args(["-top", "-lines", "-nodecount=5"]).arg(&part));
    assert!(lines.lines().any(|l| l.contains(".java:")), "{lines}");
    assert!(build::must(go().args(["-raw"]).arg(&part)).contains("thread:[main]"));
    assert!(build::must(go().args(["-traces"]).arg(&part)).contains("bytecodes"));
    let page = flame_graph(&part);
    for text in ["com.sun.tools.javac.main.JavaCompiler.parseFiles", "bytecodes"] {
        assert!(page.contains(text), "{text} is not in pprof's flame graph");
    }
}

/// The page with the flame graph that pprof serves to browsers.
fn flame_graph(file: &Path) -> String {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).or_fail("looking for a free port");
    // Itself: ending `go tool` would not end it.
    let tool = build::must(Command::new("go").args(["tool", "-n", "pprof"]));
    let mut pprof = Command::new(tool.trim());
    pprof.arg(format!("-http={free}")).arg("-no_browser").arg(file).stderr(Stdio::null());
    let mut pprof = pprof.spawn().or_fail("starting pprof");
    let ask = || -> io::Result<String> {
        let mut answer = String::new();
        let mut to = TcpStream::connect(free)?;
        write!(to, "GET /ui/flamegraph HTTP/1.0\r\nHost: {free}\r\n\r\n")?;
        to.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let since = Instant::now();
    let answer = loop {
        match ask() {
            Ok(answer) => break answer,
            // It reads the file before it listens.
            Err(e) => assert!(since.elapsed() < Duration::from_secs(60), "pprof does not answer: {e}"),
        }
        thread::sleep(Duration::from_millis(50));
    };
    pprof.kill().and_then(|()| pprof.wait()).or_fail("ending pprof");
    assert!(answer.starts_with("HTTP/1.0 200 "), "pprof: {}", answer.lines().next().unwrap_or_default());
    answer
}

/// Compares metrics with what pprof says of them in one session.
fn in_pprof(javac: &Javac, file: &Path, metrics: &[(&str, &str)]) {
    let mut commands = String::from("nodecount=0\nnodefraction=0\nedgefraction=0\n");
    let top = |metric: &str| javac.profile.with_file_name(format!("{metric}.top"));
    for (metric, index) in metrics {
        let _ = writeln!(commands, "sample_index={index}\ntop >{}", top(metric).display());
    }
    let mut pprof = go();
    pprof.arg(file).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut pprof = pprof.spawn().or_fail("starting pprof");
    // The session ends with its input.
    let mut input = pprof.stdin.take().expect("it is piped");
    input.write_all(commands.as_bytes()).or_fail("talking to pprof");
    drop(input);
    let output = pprof.wait_with_output().or_fail("waiting for pprof");
    assert!(output.status.success(), "pprof ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    for (metric, _) in metrics {
        let text = fs::read_to_string(top(metric)).or_fail(format_args!("{metric} of pprof"));
        let all = format!(" of {} total", total(&javac.report, metric));
        let said = text.lines().next().unwrap_or_default();
        assert!(said.ends_with(&all), "JDK {}, {metric} in pprof: {said:?}, reported{all}", javac.feature);
        javac.compare(&listed(&text), metric, "pprof");
    }
}

/// The rows of pprof's `top`: flat, flat%, sum%, cum, cum%, name.
fn listed(text: &str) -> Costs {
    let mut found = Costs::new();
    for line in text.lines().skip_while(|line| !line.trim_start().starts_with("flat ")).skip(1) {
        let mut rest = line.trim_start();
        let mut word = || {
            let (word, after) = rest.split_once(char::is_whitespace).or_fail_none(line);
            rest = after.trim_start();
            word
        };
        let (flat, _, _, cum, _) = (word(), word(), word(), word(), word());
        add(&mut found, rest, with_unit(flat), with_unit(cum));
    }
    found
}

fn add(costs: &mut Costs, name: &str, own: u64, total: u64) {
    let sums = costs.entry(name.to_owned()).or_insert((0, Some(0)));
    *sums = (sums.0 + own, sums.1.map(|sum| sum + total));
}

#[test]
#[ignore = "needs callgrind_annotate; scripts/test runs it"]
fn callgrind_has_the_totals_of_a_report() {
    let javac = &*JAVAC;
    let [own, inclusive] = callgrind(javac);
    for (i, (metric, _)) in METRICS.iter().enumerate() {
        let mut found = Costs::new();
        for (name, totals) in inclusive.iter().filter(|(name, _)| !name.starts_with('[') && *name != "PROGRAM TOTALS") {
            found.insert(name.clone(), (own.get(name).map_or(0, |own| own[i]), Some(totals[i])));
        }
        javac.compare(&found, metric, "callgrind");
        for rows in [&own, &inclusive] {
            let all = rows.get("PROGRAM TOTALS").expect("totals");
            assert_eq!(all[i], total(&javac.report, metric), "JDK {}, {metric} in callgrind", javac.feature);
        }
    }
}

#[test]
#[ignore = "needs callgrind_annotate; scripts/test runs it"]
fn callgrind_has_own_costs_of_what_was_folded() {
    let folded = recorded(&newest(), "folded", ",max-nodes=2000", &["-version"]);
    let [own, _] = callgrind(&folded);
    assert!(own.keys().any(|name| name.contains("(folded)")), "nothing was folded");
    for (i, (metric, _)) in METRICS.iter().enumerate() {
        let all: u64 = own.iter().filter(|(name, _)| *name != "PROGRAM TOTALS").map(|(_, costs)| costs[i]).sum();
        assert_eq!(all, total(&folded.report, metric), "{metric} in callgrind");
    }
}

/// Own and inclusive costs by name, as callgrind_annotate reads them.
fn callgrind(profile: &Javac) -> [BTreeMap<String, Vec<u64>>; 2] {
    let file = profile.export("callgrind.out", &["--format", "callgrind"]);
    ["no", "yes"].map(|inclusive| {
        let mut annotate = Command::new("callgrind_annotate");
        annotate.args(["--threshold=100", "--auto=no", "--context=0"]).arg(format!("--inclusive={inclusive}"));
        annotated(&build::must(annotate.arg(format!("--show={}", METRICS.map(|(_, name)| event(name)).join(","))).arg(&file)))
    })
}

/// A metric in callgrind's format: `cycles_jop_4k_16`.
fn event(metric: &str) -> String {
    metric.replace(|c: char| !c.is_ascii_alphanumeric(), "_").trim_end_matches('_').to_owned()
}

/// `1,234 (5.67%)  12 ( 0.01%)  0  file:function` of callgrind_annotate, and its line of totals.
fn annotated(text: &str) -> BTreeMap<String, Vec<u64>> {
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit())) {
        let (mut rest, mut numbers) = (line.trim_start(), Vec::new());
        for _ in METRICS {
            let (number, after) = rest.split_once(' ').or_fail_none(line);
            numbers.push(number.replace(',', "").parse::<u64>().or_fail(line));
            rest = after.trim_start();
            if let Some(share) = rest.strip_prefix('(') {
                rest = share.split_once(')').or_fail_none(line).1.trim_start();
            }
        }
        let name = rest.split_once(':').map_or(rest, |(_, function)| function);
        let sums = rows.entry(name.to_owned()).or_insert_with(|| vec![0; METRICS.len()]);
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    rows
}

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
            let title = text.split_once("</title>").or_fail_none(text).0;
            let (name, numbers) = title.rsplit_once(" (").or_fail_none(title);
            assert!(!name.contains('<'), "markup: {title}");
            let (number, rest) = numbers.split_once(' ').or_fail_none(title);
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

    /// In the metrics of which reports have the numbers of contexts with callees. What stacks look like does not depend on the metric.
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
    let agent = format!("-agentpath:{}=out={},quiet", build::agent().display(), profile.display());
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
        let (frame, number) = text.trim_end().rsplit_once(' ').or_fail_none(text);
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

#[test]
#[ignore = "needs python3; scripts/test runs it"]
fn tables_have_the_totals_of_a_report() {
    let javac = &*JAVAC;
    let both = |format| (table(javac, format, "contexts", &[]), table(javac, format, "methods", &["--methods"]));
    let ((csv, csv_methods), (json, json_methods)) = thread::scope(|scope| {
        let csv = scope.spawn(|| both("csv"));
        let json = both("json");
        (csv.join().unwrap_or_else(|panic| panic::resume_unwind(panic)), json)
    });
    // Numbers with callees that a report does not have.
    for (other, what) in [(csv_methods, "csv --methods"), (json, "json"), (json_methods, "json --methods")] {
        for (i, (metric, _)) in METRICS.iter().enumerate() {
            assert!(csv[i] == other[i], "JDK {}, {metric}: csv and {what} differ with callees", javac.feature);
        }
    }
}

/// The methods of an exported table, metric by metric, compared with the report.
fn table(javac: &Javac, format: &str, what: &str, options: &[&str]) -> [Costs; METRICS.len()] {
    let file = javac.export(&format!("{what}.{format}"), &[&["--format", format], options].concat());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("consumers/tables.py");
    let text = build::must(Command::new("python3").arg(script).arg(&file));
    METRICS.map(|(metric, name)| {
        let found = summed(&text, name);
        javac.compare(&found, metric, &format!("{what} in {format}"));
        found
    })
}

/// What `consumers/tables.py` says of a metric.
fn summed(text: &str, metric: &str) -> Costs {
    let sums: Value = serde_json::from_str(text).or_fail("tables.py");
    let mut metrics = sums["metrics"].as_array().expect("metrics").iter();
    let at = metrics.position(|name| name == metric).unwrap_or_else(|| panic!("no {metric} in {}", sums["metrics"]));
    let mut costs = Costs::new();
    for row in sums["methods"].as_array().expect("methods") {
        let text = |i: usize| row[i].as_str().unwrap_or_else(|| panic!("no text {i}: {row}"));
        let number = |i: usize| row[i][at].as_u64().unwrap_or_else(|| panic!("no number {i}: {row}"));
        add(&mut costs, &name(text(0), text(1), text(2), row[3] == true), number(4), number(5));
    }
    costs
}

#[test]
#[ignore = "needs node with speedscope and ajv; scripts/test runs it"]
fn speedscope_loads_what_is_exported() {
    let javac = &*JAVAC;
    let file = javac.export("javac.speedscope.json", &["--format", "speedscope"]);
    let sums: Value = serde_json::from_str(&consumer("speedscope.mjs", &file)).or_fail("speedscope.mjs");
    assert_eq!(sums.as_object().map(|o| o.len()), Some(METRICS.len()));
    for (metric, name) in METRICS {
        let mut found = Costs::new();
        for (method, costs) in sums[name].as_object().unwrap_or_else(|| panic!("no {name}")) {
            let number = |i: usize| costs[i].as_u64().unwrap_or_else(|| panic!("{method}: {costs}"));
            add(&mut found, method, number(0), number(1));
        }
        javac.compare(&found, metric, "speedscope");
    }
}

#[test]
#[ignore = "needs node with the trace engine of Chrome's DevTools; scripts/test runs it"]
fn devtools_load_what_is_exported() {
    let javac = &*JAVAC;
    let file = javac.export("javac.trace.json", &["--format", "chrome"]);
    assert_eq!(consumer("devtools.mjs", &file).trim(), total(&javac.report, "bytecodes").to_string());
    let part = javac.ask(&["--root", PART]);
    for (metric, name) in METRICS {
        let file = javac.export("part.trace.json", &["--format", "chrome", "--root", PART, "--metric", name]);
        assert_eq!(consumer("devtools.mjs", &file).trim(), total(&part, metric).to_string(), "{metric}");
    }
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
