//! The commands in the documentation do what it says: every block fenced as `sh` is run, page by page.
//!
//! A page's blocks share one directory and run in order, with `cprof`, `java` and `javac` on the path and links to the folders of
//! the repository that readers have. A block must succeed, or end with the code that its fence names: ```` ```sh exit=1 ````.
//! Where it says 4711, that is the id of a JVM that the test starts: ```` ```sh server ```` with cprof in it, ```` ```sh attach
//! ```` without, ```` ```sh killed ```` when the first has been killed. A block
//! ```` ```sh repository ```` is run where the sources are, with the page's own `app.cprof`.
//!
//! A block fenced as `text` right behind one is what that prints on JDK 17: its lines must be among those printed, but for their numbers and
//! how wide columns are; a line `…` stands for others. (The JVMs of a page run another program than the test's, so what is printed of those is not compared.)

use cprof_tests::live::{Workers, recording};
use cprof_tests::run::{self, Bench};
use cprof_tests::{OrFail, build};
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Folders that commands refer to.
const FOLDERS: [&str; 4] = ["examples", "targets", "tests", "scripts"];

/// Pages that show how something is done, which must have something to run.
const TASKS: [&str; 11] = [
    "profile.md",
    "report.md",
    "servers.md",
    "allocations.md",
    "annotate.md",
    "ci.md",
    "compare.md",
    "cross-profiling.md",
    "export.md",
    "fleet.md",
    "views.md",
];

/// Where a block is run, and what beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Alone,
    Repository,
    Server,
    Attach,
    Killed,
}

/// A block of a page.
struct Block {
    line: usize,
    exit: i32,
    stage: Stage,
    text: String,
    /// Some of the lines that it prints.
    prints: Vec<String>,
}

/// Whose output the pages show.
const SHOWN_JDK: u32 = 17;

/// A line with a `#` for each number, and without how wide its columns are.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for word in line.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            shape.push_str(&rest[..at]);
            shape.push('#');
            rest = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '.'));
        }
        shape.push_str(rest);
        shape.push(' ');
    }
    shape
}

/// The first of these lines that is not among those of the output. In another order they may be: what is dear depends on how long
/// the names of folders are.
fn missing<'l>(lines: &'l [String], output: &str) -> Option<&'l String> {
    let printed: HashSet<String> = output.lines().map(shape).collect();
    lines.iter().find(|line| !printed.contains(&shape(line)))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().or_fail("finding the repository")
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut within, mut after_block, mut shown) = (false, false, false);
    for (i, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match fence {
            Some("") if within || shown => {
                after_block = within;
                (within, shown) = (false, false);
                continue;
            }
            Some("text") => shown = after_block,
            Some(kind) if kind == "sh" || kind.starts_with("sh ") => {
                let (mut exit, mut stage) = (0, Stage::Alone);
                for word in kind.split_whitespace().skip(1) {
                    match (word, word.strip_prefix("exit=")) {
                        (_, Some(code)) => exit = code.parse().or_fail(format_args!("line {}", i + 1)),
                        ("repository", _) => stage = Stage::Repository,
                        ("server", _) => stage = Stage::Server,
                        ("attach", _) => stage = Stage::Attach,
                        ("killed", _) => stage = Stage::Killed,
                        _ => panic!("line {}: {word} is no word of a fence", i + 1),
                    }
                }
                blocks.push(Block { line: i + 1, exit, stage, text: String::new(), prints: Vec::new() });
                within = true;
            }
            None if within => {
                let block = blocks.last_mut().expect("within a block");
                block.text.push_str(line.trim_start());
                block.text.push('\n');
            }
            None if shown && !line.trim().is_empty() && line.trim() != "…" => {
                blocks.last_mut().expect("right behind a block").prints.push(line.to_owned());
            }
            _ => {}
        }
        after_block &= line.trim().is_empty();
    }
    blocks
}

/// The JVMs that a page speaks of, started when they are first needed.
#[derive(Default)]
struct Servers {
    recorded: Option<Workers>,
    plain: Option<Workers>,
    /// Process id of the one that was killed.
    killed: Option<u32>,
}

impl Servers {
    /// Process id of the one that a block is about.
    fn pid(&mut self, stage: Stage, bench: &Bench, directory: &Path) -> Option<u32> {
        let start = |agent: Option<&str>| Workers::start(bench, agent, &[], &[]).started();
        // A profile at the end of a JVM that is not killed would be one in the sources.
        let options = format!("quiet,out={}", directory.join("server.cprof").display());
        match stage {
            Stage::Alone | Stage::Repository => None,
            Stage::Server => Some(self.recorded.get_or_insert_with(|| start(Some(&options))).pid()),
            Stage::Attach => Some(self.plain.get_or_insert_with(|| start(None)).pid()),
            Stage::Killed => {
                if let Some(recorded) = self.recorded.take() {
                    self.killed = Some(recorded.pid());
                    recorded.kill();
                }
                self.killed
            }
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let pids = [self.killed, self.recorded.as_ref().map(Workers::pid), self.plain.as_ref().map(Workers::pid)];
        self.recorded.take().into_iter().chain(self.plain.take()).for_each(drop);
        // What they leave in shared memory is not for anybody after the test.
        pids.into_iter().flatten().filter_map(recording).for_each(|left| drop(fs::remove_dir_all(left)));
    }
}

/// `cargo run` of one package as one of the workspace, whose features all that it depends on is compiled with already.
fn of_workspace(text: &str) -> String {
    let example = |line: &str| {
        let (package, rest) = line.strip_prefix("cargo run -p ")?.split_once(" --example ")?;
        let (name, arguments) = rest.split_once(" -- ").unwrap_or((rest, ""));
        let source = Path::new(package.strip_prefix("cprof-")?).join("examples").join(name).with_extension("rs");
        assert!(root().join(&source).exists(), "there is no {}, of {line:?}", source.display());
        let built = format!("cargo build --quiet --locked --workspace --examples\n{}", build::directory().display());
        Some(format!("{built}/../debug/examples/{name} {arguments}"))
    };
    text.lines().map(|line| example(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

fn run_page(page: &Path, blocks: &[Block], bench: &Bench) {
    let jdk = &bench.jdk;
    let mut servers = Servers::default();
    let name = page.file_stem().unwrap_or_default().to_string_lossy();
    let directory = build::fresh(&format!("docs-{name}-{}", jdk.feature));
    for folder in FOLDERS {
        symlink(root().join(folder), directory.join(folder)).or_fail(folder);
    }
    let commands = build::cprof().parent().expect("it is in a directory").to_owned();
    let path = format!("{}:{}:{}", commands.display(), jdk.home.join("bin").display(), std::env::var("PATH").or_fail("PATH"));
    for block in blocks {
        let text = match servers.pid(block.stage, bench, &directory) {
            Some(pid) => block.text.replace("4711", &pid.to_string()),
            None if block.stage == Stage::Repository => {
                block.text.replace("app.cprof", &directory.join("app.cprof").display().to_string())
            }
            None => block.text.clone(),
        };
        let text = of_workspace(&text);
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", &text]);
        bash.current_dir(if block.stage == Stage::Repository { root() } else { directory.clone() });
        bash.env("PATH", &path).env("JAVA_HOME", &jdk.home).env("CPROF_AGENT", build::agent());
        let output = bash.output().or_fail("starting bash");
        assert_eq!(
            output.status.code(),
            Some(block.exit),
            "{}, line {}, JDK {}:\n{}{}{}",
            page.display(),
            block.line,
            jdk.feature,
            block.text,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        if jdk.feature == SHOWN_JDK && matches!(block.stage, Stage::Alone | Stage::Repository) {
            let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            if let Some(line) = missing(&block.prints, &printed) {
                panic!(
                    "{}: the block of line {} does not print {line:?} there; it prints\n{printed}",
                    page.display(),
                    block.line
                );
            }
        }
    }
}

#[test]
fn the_commands_in_the_documentation_work() {
    let docs = root().join("docs");
    let mut pages: Vec<PathBuf> = fs::read_dir(&docs).or_fail(docs.display()).flatten().map(|e| e.path()).collect();
    pages.retain(|p| p.extension().is_some_and(|e| e == "md"));
    pages.sort();
    for task in TASKS {
        assert!(pages.iter().any(|p| p.ends_with(task)), "docs/{task} is not there");
    }
    // What killed JVMs have left is listed for all of them.
    let of_servers = Mutex::new(());
    let jdks: Vec<u32> = run::benches().iter().map(|bench| bench.jdk.feature).collect();
    run::on_every_jdk(|bench| {
        for (i, page) in pages.iter().enumerate() {
            let mut blocks = blocks(&fs::read_to_string(page).or_fail(page.display()));
            let task = TASKS.iter().any(|t| page.ends_with(t));
            assert!(!task || !blocks.is_empty(), "{} has no block fenced as sh", page.display());
            let of_server = |block: &Block| matches!(block.stage, Stage::Server | Stage::Attach | Stage::Killed);
            let alone = blocks.iter().any(of_server);
            let shows = jdks.contains(&SHOWN_JDK) && blocks.iter().any(|b| !b.prints.is_empty());
            // What is done to servers differs between JDKs, what a command does with a file does not: elsewhere, blocks of servers are run
            // without the others, which they may not need.
            let jdk = if shows { SHOWN_JDK } else { jdks[i % jdks.len()] };
            if jdk != bench.jdk.feature {
                blocks.retain(of_server);
            }
            if !blocks.is_empty() {
                let _one_at_a_time = alone.then(|| of_servers.lock());
                run_page(page, &blocks, bench);
            }
        }
    });
}

#[test]
fn blocks_are_found() {
    let found = blocks(
        "a\n```sh\nx\n  y\n```\n```\nno\n```\n   ```sh server exit=3\n   z\n   ```\n```text\nyes\n…\n```\n```text\nno\n```\n",
    );
    let found: Vec<_> = found.iter().map(|b| (b.line, b.exit, b.stage, b.text.as_str(), b.prints.concat())).collect();
    let none = String::new;
    assert_eq!(found, [(2, 0, Stage::Alone, "x\ny\n", none()), (9, 3, Stage::Server, "z\n", "yes".to_owned())]);
}

#[test]
fn lines_that_are_not_printed_are_found() {
    let printed = "  1,234   5.6%  a.B.c(int)\n7 more\n";
    let missing = |lines: &[&str]| missing(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>(), printed).cloned();
    assert_eq!(missing(&["8 more", "99  1.0%  a.B.c(int)"]), None);
    assert_eq!(missing(&["8 more", "99  1.0%  a.B.d(int)"]), Some("99  1.0%  a.B.d(int)".to_owned()));
}
