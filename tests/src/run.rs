//! Programs under the oracle, under cprof, and under neither.

use crate::OrFail;
use crate::build::{self, Built, Libraries};
use crate::jdk::{self, Jdk};
use crate::live::recording;
use crate::program::{Expectation, Program};
use crate::tree::{Bound, Counts, Tree, stable};
use cprof_export::names;
use cprof_profile::model::special;
use cprof_profile::tree::Symbol;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::resume_unwind;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// One way to run Java.
#[derive(Debug, Clone)]
pub struct Mode {
    /// For messages.
    pub name: &'static str,
    /// Flags.
    pub flags: &'static [&'static str],
    /// Further options of the agent, each with a comma before it.
    pub options: &'static str,
    /// What these make of the tree.
    pub bound: Bound,
}

/// The interpreter, C1, both compilers, and both with the program waiting for them, so that short loops reach C2, too.
pub const MODES: &[Mode] = &[
    Mode { name: "interpreter", flags: &["-Xint"], options: "", bound: Bound::None },
    Mode { name: "C1", flags: &["-XX:TieredStopAtLevel=1"], options: "", bound: Bound::None },
    Mode { name: "default", flags: &[], options: "", bound: Bound::None },
    Mode { name: "waiting for compilers", flags: &["-Xbatch"], options: "", bound: Bound::None },
];

/// Flags under which two runs of a program do the same: class data sharing is off under cprof, so it is off always; identity
/// hash codes are all 1 (synchronizer.cpp, get_next_hash: hashCode=2).
pub(crate) const SAME: &[&str] =
    &["-Xshare:off", "-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2", "--enable-native-access=ALL-UNNAMED"];

/// A JDK with what was built for it.
#[derive(Debug, Clone)]
pub struct Bench {
    /// The JDK.
    pub jdk: Jdk,
    /// Classes, oracle, native library.
    pub built: Built,
}

/// What a run printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit code; negative: the signal that ended it.
    pub code: i32,
}

impl From<Output> for Ending {
    fn from(output: Output) -> Ending {
        use std::os::unix::process::ExitStatusExt;
        Ending {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0)),
        }
    }
}

impl Ending {
    /// What the program itself said must come out in this run.
    pub fn expectations(&self) -> Vec<Expectation> {
        self.stderr.lines().filter_map(|l| l.strip_prefix("expect: ")).map(Expectation::parse).collect()
    }
}

/// Every JDK found, with the programs built for it.
pub fn benches() -> Vec<Bench> {
    let jdks = jdk::all();
    jdks.iter().map(|jdk| Bench { jdk: jdk.clone(), built: build::for_jdk(jdk, &jdks) }).collect()
}

/// Those of them whose JDK is of that feature version or later: see [`jdk::since`].
pub fn benches_since(feature: u32) -> Vec<Bench> {
    of(&jdk::since(feature))
}

/// Those of them whose JDK is of an earlier one: see [`jdk::before`].
pub fn benches_before(feature: u32) -> Vec<Bench> {
    of(&jdk::before(feature))
}

fn of(jdks: &[Jdk]) -> Vec<Bench> {
    benches().into_iter().filter(|bench| jdks.iter().any(|jdk| jdk.feature == bench.jdk.feature)).collect()
}

/// Runs a test on every JDK found, each on a thread of its own: most have one JVM at a time, which leaves a processor to another.
/// Answers what came of it on each of them.
pub fn on_every_jdk<R: Send>(test: impl Fn(&Bench) -> R + Sync) -> Vec<R> {
    let (benches, test) = (benches(), &test);
    std::thread::scope(|scope| {
        let running: Vec<_> = benches.iter().map(|bench| scope.spawn(move || test(bench))).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// As [`on_every_jdk`], with numbered parts, each of which is due on one of the JDKs: what a part shows is not of a JDK.
pub fn on_jdks_in_turn(test: impl Fn(&Bench, &dyn Fn(usize) -> bool) + Sync) {
    let benches = benches();
    std::thread::scope(|scope| {
        for (jdk, bench) in benches.iter().enumerate() {
            let (test, jdks) = (&test, benches.len());
            scope.spawn(move || test(bench, &|part| (jdk + part) % jdks == 0));
        }
    });
}

/// Every JDK found, with programs that use libraries.
pub fn benches_with(libraries: &Libraries) -> Vec<Bench> {
    let benches = benches();
    let oldest = benches[0].jdk.clone();
    let with_libraries = |Bench { jdk, built }| Bench { jdk, built: build::with_libraries(&built, &oldest, libraries) };
    benches.into_iter().map(with_libraries).collect()
}

/// More than the oracle takes for any programs; if it is slow only, its last try has no limit.
const ORACLE_SECONDS: &str = "120";

impl Bench {
    /// A `java` command for the programs; `main` and arguments are still to come.
    pub fn java(&self, flags: &[&str]) -> Command {
        let mut java = self.jdk.command("java");
        java.args(SAME).args(flags).arg(format!("-Djava.library.path={}", self.built.native.display()));
        java
    }

    /// A `java` command for one program as users start it: options of the JVM, its name, its arguments.
    pub fn program(&self, arguments: &[&str]) -> Command {
        let mut java = self.jdk.command("java");
        java.args(["-Xmx128m", "-cp", &self.built.class_path]).args(arguments);
        java
    }

    /// The command with its last arguments: these programs.
    fn of(&self, mut java: Command, programs: &[&Program]) -> Command {
        java.args(["-cp", &self.built.class_path]);
        match programs {
            [one] => java.arg(&one.name),
            several => java.arg("Batch").args(several.iter().map(|p| &p.name)),
        };
        java
    }

    /// Runs programs, one after the other in one JVM.
    pub fn plain(&self, programs: &[&Program], flags: &[&str]) -> Ending {
        end(self.of(self.java(flags), programs))
    }

    /// The oracle's count. Counting takes long and gives the same for the same classes, so it is kept. `options` are further ones of
    /// the oracle's, each with a comma before it.
    pub fn oracle(&self, programs: &[&Program], flags: &[&str], options: &str) -> Tree {
        let mut key = DefaultHasher::new();
        let names: Vec<&str> = programs.iter().map(|p| p.name.as_str()).collect();
        (self.built.key, SAME, flags, options, roots(programs), names).hash(&mut key);
        let kept = self.built.results.join(format!("oracle-{}-{:016x}.csv", self.jdk.feature, key.finish()));
        if !kept.exists() {
            let unfinished = kept.with_extension(format!("unfinished-{}", build::unique()));
            let mut java = self.java(flags);
            java.arg(agent(&self.built.oracle, programs, &unfinished, &(not_compared(programs) + options)));
            let ending = end_of_oracle(self.of(java, programs));
            assert_eq!(ending.code, exit(programs), "the oracle on JDK {}: {}", self.jdk.feature, ending.stderr);
            std::fs::rename(&unfinished, &kept).or_fail(kept.display());
        }
        read_oracle(&kept)
    }

    /// cprof's count, and how the program ended under it. `options` are further agent options, each with a comma before it.
    pub fn cprof(&self, programs: &[&Program], flags: &[&str], options: &str, out: &Path) -> (Report, Ending) {
        let mut java = self.java(flags);
        java.arg(agent(&build::agent(), programs, out, &format!(",quiet{options}")));
        let ending = end(self.of(java, programs));
        assert!(out.exists(), "no profile was written; exit {}, it said: {}{}", ending.code, ending.stdout, ending.stderr);
        (Report::read(out), ending)
    }
}

/// Runs a JVM to its end. What it leaves in shared memory, where it could not write its profile, goes.
pub fn end(mut java: Command) -> Ending {
    let starting = format!("starting {java:?}");
    let child = java.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().or_fail(&starting);
    let pid = child.id();
    let ending = child.wait_with_output().or_fail(&starting).into();
    if let Some(left) = recording(pid) {
        let _ = std::fs::remove_dir_all(left); // what stays is found by `cprof clean`
    }
    ending
}

/// Runs a JVM with the oracle to its end. HotSpot may stop for good with a breakpoint on every bytecode: on JDK 25 all carriers of
/// virtual threads waited for monitors, whose owners had no carrier (seen twice, before VirtualThreads linked first what they
/// waited for).
pub(crate) fn end_of_oracle(java: Command) -> Ending {
    let hung = |ending: &Ending| ending.code == -libc::SIGKILL;
    let patient = (0..2).map(|_| end_within(ORACLE_SECONDS, &java)).find(|ending| !hung(ending));
    patient.unwrap_or_else(|| end(java))
}

/// As [`end`], of a JVM that is killed after so many seconds. timeout sends the signal to its whole group, and is in it.
pub fn end_within(seconds: &str, java: &Command) -> Ending {
    let mut timeout = Command::new("timeout");
    timeout.args(["-s", "KILL", seconds]);
    end(under(timeout, java))
}

/// A command under another, which takes it as its last arguments.
pub fn under(mut other: Command, command: &Command) -> Command {
    other.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    other
}

/// A command that meets interrupts and hangups, although what is started in the background or by `nohup`, as the tests may be,
/// ignores them.
pub fn heeding_signals(command: &Command) -> Command {
    let mut env = Command::new("env");
    env.arg("--default-signal=INT,HUP");
    under(env, command)
}

/// The option that has a library count these programs. `more`: further options, each with a comma before it.
fn agent(library: &Path, programs: &[&Program], out: &Path, more: &str) -> String {
    let roots: Vec<String> = roots(programs).iter().map(|root| format!("root={root}")).collect();
    build::library_option(library, &(roots.join(",") + more), out)
}

/// What tells the oracle which classes' bytecodes are not compared, in a program that is alone.
fn not_compared(programs: &[&Program]) -> String {
    let [one] = programs else { return String::new() };
    let packages = one.timing.iter().filter(|prefix| prefix.ends_with('.'));
    packages.map(|prefix| format!(",shallow={prefix}")).collect()
}

fn roots<'a>(programs: &[&'a Program]) -> Vec<&'a str> {
    programs.iter().flat_map(|p| p.roots.iter().map(String::as_str)).collect()
}

pub(crate) fn exit(programs: &[&Program]) -> i32 {
    if let [one] = programs { one.exit } else { 0 }
}

/// Reads what the oracle wrote when the program ended:
/// `index,parent,class,method,descriptor,calls,exceptional_exits,bytecodes,code_length,opcodes`.
pub fn read_oracle(file: &Path) -> Tree {
    let text = std::fs::read_to_string(file).or_fail(file.display());
    let mut tree = Tree::default();
    let mut place = vec![0];
    let mut complete = false;
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<u64>().or_fail(line);
        if let ["mismatches", mismatches] = fields[..] {
            assert_eq!(mismatches, "0", "{}: the oracle's events contradict each other", file.display());
            complete = true;
            continue;
        }
        let counts = Counts { calls: number(5), thrown: number(6), bytecodes: number(7) };
        assert_eq!(number(0) as usize, place.len(), "{}: {line}", file.display());
        let method = format!("{}.{}{}", stable(fields[2]), fields[3], fields[4]);
        place.push(tree.add(place[number(1) as usize], &method, counts));
    }
    assert!(complete, "{} is cut off", file.display());
    tree
}

/// The name that exports give the method of a row of `cprof report --format json`.
pub fn exported_name(row: &serde_json::Value) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("no {key}: {row}")).to_owned();
    let [class, method, descriptor] = ["class", "method", "descriptor"].map(text);
    names::method(&Symbol { class, method, descriptor, native: row["native"] == true })
}

/// The rows of `cprof report --tree --format json`, numbered one after the other.
pub fn contexts(report: &serde_json::Value) -> &[serde_json::Value] {
    let rows = report["contexts"].as_array().expect("a list of contexts in the report");
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row["index"], i as u64 + 1, "contexts are numbered one after the other");
    }
    rows
}

/// What the agent wrote, before the commands add up what is the same. A frame that was active is taken off one of two such
/// contexts only. Where a stack ended while a context was being made, one is left that was never entered.
fn no_context_twice(profile: &Path) {
    let written = cprof_profile::file::read(profile).or_fail(profile.display());
    let nodes = &written.nodes;
    let mut rows = nodes.rows();
    let mut seen = HashSet::new();
    for node in 0..nodes.len() {
        let entered = rows.of(node).first().is_some_and(|&calls| calls > 0);
        let site = nodes.site.get(node).copied().unwrap_or(0);
        let (parent, method) = (nodes.parent[node], nodes.method[node]);
        assert!(
            !entered || method >= special::FIRST || seen.insert((parent, method, site)),
            "{} has a context twice: {} of {parent}",
            profile.display(),
            written.methods[method as usize].name
        );
    }
}

/// What `cprof report --tree --format json` says, as far as it is read here.
#[derive(Deserialize)]
struct Json<'j> {
    #[serde(borrow)]
    contexts: Vec<Row<'j>>,
    #[serde(borrow)]
    coverage: Coverage<'j>,
}

#[derive(Deserialize)]
struct Row<'j> {
    index: usize,
    parent: usize,
    #[serde(borrow)]
    class: Cow<'j, str>,
    #[serde(borrow)]
    method: Cow<'j, str>,
    #[serde(borrow)]
    descriptor: Cow<'j, str>,
    native: bool,
    calls: u64,
    exceptional_exits: u64,
    bytecodes: u64,
}

#[derive(Deserialize)]
struct Coverage<'j> {
    #[serde(borrow)]
    gaps: Vec<Gap<'j>>,
    warnings: Vec<String>,
    lost_calls: u64,
    inconsistent_contexts: u64,
}

#[derive(Deserialize)]
struct Gap<'j> {
    #[serde(borrow)]
    class: Cow<'j, str>,
    method: Option<String>,
    reason: String,
}

/// What the command says of a profile.
#[derive(Debug)]
pub struct Report {
    /// Contexts of methods with bytecode.
    pub tree: Tree,
    /// `Class.method(descriptor)` of what was not covered (`Class` for whole classes), and why.
    pub gaps: Vec<(String, String)>,
    /// What else the profile warns of.
    pub warnings: Vec<String>,
}

impl Report {
    /// Reads a profile by the command.
    pub fn read(profile: &Path) -> Report {
        no_context_twice(profile);
        let text = build::must(Command::new(build::cprof()).arg("report").arg(profile).args(["--tree", "--format", "json"]));
        let Json { contexts, coverage } = serde_json::from_str(&text).or_fail("reading the JSON of cprof report");
        let Coverage { gaps, warnings, lost_calls, inconsistent_contexts } = coverage;
        assert_eq!((lost_calls, inconsistent_contexts), (0, 0), "lost calls, inconsistent contexts of {}", profile.display());
        let mut tree = Tree::default();
        let mut place = vec![0];
        for row in contexts {
            assert_eq!(row.index, place.len(), "contexts are numbered one after the other");
            let method = format!("{}.{}{}", stable(&row.class), row.method, row.descriptor);
            let counts = Counts { calls: row.calls, thrown: row.exceptional_exits, bytecodes: row.bytecodes };
            // Native methods have no contexts of their own below them, and none in the oracle's tree.
            place.push(if row.native { usize::MAX } else { tree.add(place[row.parent], &method, counts) });
        }
        let name = |class: String, method: Option<String>| method.map_or(class.clone(), |method| format!("{class}.{method}"));
        let gaps = gaps.into_iter().map(|gap| (name(gap.class.replace('/', "."), gap.method), gap.reason)).collect();
        Report { tree, gaps, warnings }
    }
}
