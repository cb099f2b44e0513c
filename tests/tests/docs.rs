//! The commands in the documentation do what it says: every block fenced as `sh` is run, page by page.
//!
//! A page's blocks share one directory and run in order, with `cprof`, `java` and `javac` on the path and links to the folders of the repository that
//! readers have. A block must succeed, or end with the code that its fence names: ```` ```sh exit=1 ````.

use cprof_tests::jdk::{self, Jdk};
use cprof_tests::{OrFail, build};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that commands refer to.
const FOLDERS: [&str; 4] = ["examples", "targets", "tests", "scripts"];

/// Pages that show how something is done, which must have something to run.
const TASKS: [&str; 8] =
    ["profile.md", "annotate.md", "ci.md", "compare.md", "cross-profiling.md", "export.md", "fleet.md", "views.md"];

/// A block of a page.
struct Block {
    line: usize,
    exit: i32,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().or_fail("finding the repository")
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut within = false;
    for (i, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match fence {
            Some("") if within => within = false,
            Some(kind) if kind == "sh" || kind.starts_with("sh ") => {
                let exit = kind.strip_prefix("sh exit=").map_or(0, |code| code.parse().or_fail(format_args!("line {}", i + 1)));
                blocks.push(Block { line: i + 1, exit, text: String::new() });
                within = true;
            }
            None if within => {
                let block = blocks.last_mut().expect("within a block");
                block.text.push_str(line.trim_start());
                block.text.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

fn run(page: &Path, blocks: &[Block], jdk: &Jdk) {
    let name = page.file_stem().unwrap_or_default().to_string_lossy();
    let directory = build::fresh(&format!("docs-{name}-{}", jdk.feature));
    for folder in FOLDERS {
        symlink(root().join(folder), directory.join(folder)).or_fail(folder);
    }
    let commands = build::cprof().parent().expect("it is in a directory").to_owned();
    let path = format!("{}:{}:{}", commands.display(), jdk.home.join("bin").display(), std::env::var("PATH").or_fail("PATH"));
    for block in blocks {
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", &block.text]).current_dir(&directory);
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
    for page in pages {
        let blocks = blocks(&fs::read_to_string(&page).or_fail(page.display()));
        let task = TASKS.iter().any(|t| page.ends_with(t));
        assert!(!task || !blocks.is_empty(), "{} has no block fenced as sh", page.display());
        if !blocks.is_empty() {
            jdk::all().iter().for_each(|jdk| run(&page, &blocks, jdk));
        }
    }
}

#[test]
fn blocks_are_found() {
    let found = blocks("a\n```sh\nx\n  y\n```\n```\nno\n```\n   ```sh exit=3\n   z\n   ```\n```text\nno\n```\n");
    let found: Vec<_> = found.iter().map(|b| (b.line, b.exit, b.text.as_str())).collect();
    assert_eq!(found, [(2, 0, "x\ny\n"), (9, 3, "z\n")]);
}
