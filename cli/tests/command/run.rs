//! `cprof run`, with a script in java's place.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Place(PathBuf);

impl Place {
    /// A directory with an agent (an empty file) and a `java` that runs `script`.
    fn new(test: &str, script: &str) -> Place {
        let directory = std::env::temp_dir().join(format!("cprof-run-{test}-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("libcprof.so"), "").unwrap();
        let java = directory.join("java");
        std::fs::write(&java, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&java, std::fs::Permissions::from_mode(0o755)).unwrap();
        Place(directory)
    }

    fn command(&self, options: &[&str], java_arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cprof"));
        command.arg("run").args(options).arg("--").arg(self.0.join("java")).args(java_arguments);
        command.env("CPROF_AGENT", self.0.join("libcprof.so")).current_dir(&self.0);
        command
    }

    fn run(&self, options: &[&str], java_arguments: &[&str]) -> Output {
        self.command(options, java_arguments).output().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_agent_comes_first_and_options_are_passed_on() {
    let place = Place::new("options", "printf '%s\\n' \"$@\"; echo to stderr >&2; exit 7");
    let all = [
        "-q",
        "-o",
        "a.cprof",
        "--sites",
        "--depth",
        "3",
        "--fold-recursion",
        "--root",
        "A.b",
        "--root",
        "C.d",
        "--include",
        "x.*",
        "--exclude",
        "y.*",
        "--bba",
        "block",
        "--max-nodes",
        "9",
        "--max-memory",
        "1g",
    ];
    let output = place.run(&all, &["-cp", "x y", "Main"]);
    let agent = format!("-agentpath:{}=", place.0.join("libcprof.so").display());
    let options = "quiet,out=a.cprof,bba=block,sites=on,depth=3,recursion=fold,root=A.b,root=C.d,include=x.*,exclude=y.*,max-nodes=9,max-memory=1g";
    assert_eq!(text(&output.stdout), format!("{agent}{options}\n-Xss4m\n-cp\nx y\nMain\n"));
    // No summary, but what is amiss.
    assert_eq!(text(&output.stderr), "to stderr\ncprof: no profile was written to a.cprof\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn deterministic_runs_see_one_machine() {
    let place = Place::new("deterministic", "printf '%s\\n' \"$@\" $TZ $LC_ALL");
    let output = place.run(&["-q", "--deterministic"], &["-Duser.language=fr"]);
    let lines = text(&output.stdout);
    let lines: Vec<_> = lines.lines().collect();
    assert!(lines[0].ends_with("out=cprof-%p.cprof,deterministic=on"), "{lines:?}");
    let ours = lines.iter().position(|l| *l == "-Duser.language=en").unwrap();
    let users = lines.iter().position(|l| *l == "-Duser.language=fr").unwrap();
    assert!(ours < users, "what the user says last is what counts");
    assert_eq!(lines[lines.len() - 2..], ["UTC", "C.UTF-8"]);
}

#[test]
fn without_a_profile_it_says_so() {
    let place = Place::new("none", "exit 0");
    let output = place.run(&["-o", "%p-%t.cprof"], &[]);
    let message = text(&output.stderr);
    assert!(message.starts_with("cprof: no profile was written to ") && !message.contains('%'), "{message}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn an_older_profile_is_not_taken_for_this_runs() {
    let place = Place::new("older", "exit 0");
    let older = place.0.join("older.cprof");
    std::fs::write(&older, "of yesterday").unwrap();
    let yesterday = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    std::fs::File::options().write(true).open(&older).unwrap().set_modified(yesterday).unwrap();
    let output = place.run(&["-o", older.to_str().unwrap()], &[]);
    let told = format!("cprof: no profile was written to {}: what is there is of another run\n", older.display());
    assert_eq!(text(&output.stderr), told);
}

#[test]
fn a_profile_that_was_written_elsewhere_is_shown() {
    // As the agent does when its place is gone at the end.
    let place = Place::new("elsewhere", "rmdir gone && cat whole > app.cprof");
    std::fs::create_dir(place.0.join("gone")).unwrap();
    cprof_profile::file::write(&place.0.join("whole"), &cprof_synthetic::demo().profile(&[])).unwrap();
    let message = text(&place.run(&["-o", "gone/app.cprof"], &[]).stderr);
    assert!(message.contains("cprof report app.cprof") && !message.contains("no profile was written"), "{message}");
}

#[test]
fn signals_reach_the_program_and_its_end_is_told() {
    let place = Place::new("signals", "trap 'echo got it; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    let mut child = place.command(&["-q"], &[]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    line.clear();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert_eq!(line, "got it\n");
    assert_eq!(child.wait().unwrap().code(), Some(3));

    let place = Place::new("killed", "kill -KILL $$");
    assert_eq!(place.run(&["-q"], &[]).status.code(), Some(128 + 9));
}

#[test]
fn what_cannot_start_is_explained() {
    let place = Place::new("errors", "exit 0");
    let run = |command: &[&str], agent: &Path| {
        let mut cprof = Command::new(env!("CARGO_BIN_EXE_cprof"));
        let output = cprof.arg("run").args(command).env("CPROF_AGENT", agent).current_dir(&place.0).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let agent = place.0.join("libcprof.so");
    let (code, message) = run(&["--", "mvn", "test"], &agent);
    assert!(
        code == Some(2) && message.contains("mvn is not a java command") && message.contains("JAVA_TOOL_OPTIONS"),
        "{message}"
    );
    let (code, message) = run(&["--", "/no/such/java"], &agent);
    assert!(code == Some(1) && message.contains("cannot start /no/such/java"), "{message}");
    let (code, message) = run(&["--", "./java"], &place.0.join("nothing.so"));
    assert!(code == Some(1) && message.contains("CPROF_AGENT names") && message.contains("nothing.so"), "{message}");
    let (code, message) = run(&["-o", "a,b.cprof", "--", "./java"], &agent);
    assert!(code == Some(2) && message.contains("out cannot contain a comma"), "{message}");
    let (code, message) = run(&["-o", "-", "--", "./java"], &agent);
    assert!(code == Some(2) && message.contains("standard output is the program's"), "{message}");
    let (code, message) = run(&["-o", "none/x.cprof", "--", "./java"], &agent);
    assert!(code == Some(1) && message.contains("cannot write none/x.cprof: none is no directory"), "{message}");
    // The agent reads %% as a percent sign; which directory %p is, nobody knows yet.
    std::fs::create_dir(place.0.join("a%b")).unwrap();
    for out in ["a%%b/x.cprof", "%p/x.cprof"] {
        let (code, message) = run(&["-o", out, "--", "./java"], &agent);
        assert!(code == Some(0) && message.contains("no profile was written"), "{message}");
    }
}

#[test]
fn an_agent_that_no_jvm_finds_is_said_before_one_starts() {
    let place = Place::new("a=b", "touch started");
    let output = place.run(&[], &[]);
    let library = place.0.join("libcprof.so");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    let said =
        format!("cprof: the agent is {}, and a JVM takes what is behind the first = for options; put it", library.display());
    assert!(text(&output.stderr).starts_with(&said), "{}", text(&output.stderr));
    assert!(!place.0.join("started").exists());
}
