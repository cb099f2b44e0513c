//! `go tool pprof`.

use super::{Costs, JAVAC, Javac, METRICS, add, total};
use cprof_tests::{OrFail, build, callgrind, within};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A part of javac.
const PARSING: &str = "com.sun.tools.javac.main.JavaCompiler.parseFiles";

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
    // One session, as it takes seconds to read the file, with memory for fewer collections of it.
    in_pprof(javac, &file);
    let part = javac.export("part.pb.gz", &["--format", "pprof", "--root", PARSING]);
    let peek = build::must(go().args(["-peek", "JavaCompiler.parse"]).arg(&part));
    assert!(peek.contains("com.sun.tools.javac.main.JavaCompiler.parseFiles("), "{peek}");
    let lines = build::must(go().args(["-top", "-lines", "-nodecount=5"]).arg(&part));
    assert!(lines.lines().any(|l| l.contains(".java:")), "{lines}");
    assert!(build::must(go().args(["-raw"]).arg(&part)).contains("thread:[main]"));
    with_lines(javac, &part);
    assert!(build::must(go().args(["-traces"]).arg(&part)).contains("bytecodes"));
    let page = flame_graph(&part);
    for text in ["com.sun.tools.javac.main.JavaCompiler.parseFiles", "bytecodes"] {
        assert!(page.contains(text), "{text} is not in pprof's flame graph");
    }
}

/// Compares a part with the same with costs by line, and that with callgrind's format.
fn with_lines(javac: &Javac, part: &Path) {
    let lines = javac.export("lines.pb.gz", &["--format", "pprof", "--lines", "--root", PARSING]);
    let top = |index: &str, file: &Path, by: &[&str]| {
        let index = format!("-sample_index={index}");
        let all = ["-top", "-nodecount=0", "-nodefraction=0", &index];
        listed(&build::must(go().args(all).args(by).arg(file)))
    };
    for (metric, index) in METRICS {
        assert_eq!(top(index, &lines, &[]), top(index, part, &[]), "{metric} with lines and without");
    }
    let mut expected = Costs::new();
    let exported = callgrind::exported(&javac.profile, &["--root", PARSING]);
    let bytecodes = exported.events.iter().position(|event| event == "bytecodes").expect("bytecodes among the events");
    for ((file, method, line), own) in exported.own.iter().filter(|((.., line), _)| *line > 0) {
        add(&mut expected, &format!("{method} {file}:{line}"), own[bytecodes], 0);
    }
    let mut found = top("bytecodes", &lines, &["-lines"]);
    found.retain(|name, costs| costs.0 > 0 && name.contains(".java:"));
    expected.retain(|_, costs| costs.0 > 0);
    let own = |costs: Costs| costs.into_iter().map(|(name, costs)| (name, costs.0)).collect::<BTreeMap<_, _>>();
    assert!(found.len() > 1000, "only {} lines", found.len());
    assert_eq!(own(found), own(expected), "lines in pprof, and in callgrind's format");
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
    // It reads the file before it listens.
    let answer = within(Duration::from_secs(60), "an answer of pprof's", ask);
    pprof.kill().and_then(|()| pprof.wait()).or_fail("ending pprof");
    assert!(answer.starts_with("HTTP/1.0 200 "), "pprof: {}", answer.lines().next().unwrap_or_default());
    answer
}

/// Compares metrics with what pprof says of them in one session.
fn in_pprof(javac: &Javac, file: &Path) {
    let mut commands = String::from("nodecount=0\nnodefraction=0\nedgefraction=0\n");
    let top = |metric: &str| javac.profile.with_file_name(format!("{metric}.top"));
    for (metric, index) in METRICS {
        let _ = writeln!(commands, "sample_index={index}\ntop >{}", top(metric).display());
    }
    let mut pprof = go();
    pprof.arg(file).env("GOGC", "400").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut pprof = pprof.spawn().or_fail("starting pprof");
    // The session ends with its input.
    let mut input = pprof.stdin.take().expect("it is piped");
    input.write_all(commands.as_bytes()).or_fail("talking to pprof");
    drop(input);
    let output = pprof.wait_with_output().or_fail("waiting for pprof");
    assert!(output.status.success(), "pprof ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    for (metric, _) in METRICS {
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
            let (word, after) = rest.split_once(char::is_whitespace).or_fail(line);
            rest = after.trim_start();
            word
        };
        let (flat, _, _, cum, _) = (word(), word(), word(), word(), word());
        add(&mut found, rest, with_unit(flat), with_unit(cum));
    }
    found
}
