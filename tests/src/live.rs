//! JVMs that are looked at, and ended, from outside.

use crate::OrFail;
use crate::attach::{forget, forget_earlier};
use crate::build;
use crate::run::{Bench, Ending};
use crate::until;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// `Workers` in a JVM of its own; killed when dropped.
pub struct Workers {
    child: Child,
    /// The last number printed: so many calls of `tick` have been made for certain.
    ticks: Arc<AtomicU64>,
    reader: Option<JoinHandle<()>>,
}

impl Workers {
    /// Starts it. `agent`: the options of `-agentpath`, none to leave it out.
    pub fn start(bench: &Bench, agent: Option<&str>, flags: &[&str], arguments: &[&str]) -> Workers {
        Workers::start_as(bench, None, agent, flags, arguments)
    }

    /// As [`Workers::start`], as another user, which only root can.
    pub fn start_as(bench: &Bench, user: Option<u32>, agent: Option<&str>, flags: &[&str], arguments: &[&str]) -> Workers {
        use std::os::unix::process::CommandExt;
        let mut java = bench.jdk.command("java");
        if let Some(options) = agent {
            java.arg(build::agent_with(options));
        }
        java.args(flags).arg(format!("-Djava.library.path={}", bench.built.native.display()));
        java.args(["-cp", &bench.built.class_path, "Workers"]).args(arguments);
        if let Some(user) = user {
            // Where this user may be.
            java.uid(user).gid(user).current_dir("/tmp");
        }
        let mut child = java.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().or_fail(format_args!("starting {java:?}"));
        forget_earlier(child.id());
        let ticks = Arc::new(AtomicU64::new(0));
        let (stdout, seen) = (child.stdout.take().expect("it is piped"), ticks.clone());
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // A line that is cut off by the end is no number or a smaller one.
                seen.fetch_max(line.parse().unwrap_or(0), Ordering::Relaxed);
            }
        });
        Workers { child, ticks, reader: Some(reader) }
    }

    /// Waits until it has begun to work.
    pub fn started(self) -> Workers {
        until("Workers to start", || self.ticks() > 0);
        self
    }

    /// Waits until it has called `tick` so many times more.
    pub fn go_on(&self, ticks: u64) {
        let last = self.ticks() + ticks;
        until("Workers to go on", || self.ticks() >= last);
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Calls of `tick` that have been made for certain.
    pub fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }

    /// Ends it as `kill -9` does, and waits.
    pub fn kill(mut self) -> (Ending, u64) {
        self.child.kill().or_fail("killing Workers");
        self.end()
    }

    /// Waits for its end: what it wrote to standard error, and the last number printed.
    pub fn wait(mut self) -> (Ending, u64) {
        self.end()
    }

    fn end(&mut self) -> (Ending, u64) {
        use std::io::Read;
        let mut stderr = Vec::new();
        self.child.stderr.take().expect("it is piped").read_to_end(&mut stderr).or_fail("reading Workers' standard error");
        let status = self.child.wait().or_fail("waiting for Workers");
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader only reads");
        }
        let ending = std::process::Output { status, stdout: Vec::new(), stderr };
        (ending.into(), self.ticks())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        forget(self.child.id());
    }
}

/// Runs the `cprof` command.
pub fn cprof(arguments: &[&str]) -> Ending {
    let mut command = command(arguments);
    command.output().or_fail(format_args!("starting {command:?}")).into()
}

/// The same to be started.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(build::cprof());
    command.args(arguments).env("CPROF_AGENT", build::agent());
    command
}

/// The directory in which a process recorded, if it came so far.
pub fn recording(pid: u32) -> Option<PathBuf> {
    let entries = std::fs::read_dir("/dev/shm").or_fail("/dev/shm").flatten().map(|e| e.path());
    let of_pid = |path: &PathBuf| {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        name.starts_with("cprof-") && name.split('-').nth(2) == Some(&pid.to_string())
    };
    entries.into_iter().find(of_pid)
}

/// Calls of a method in a profile.
pub fn calls(profile: &Path, class: &str, method: &str) -> u64 {
    let report = cprof(&["report", &profile.display().to_string(), "--format", "json"]);
    assert_eq!(report.code, 0, "{}", report.stderr);
    let json: Value = serde_json::from_str(&report.stdout).or_fail("reading the JSON of cprof report");
    let methods = json["methods"].as_array().expect("a list of methods");
    let same = methods.iter().filter(|m| m["class"] == class && m["method"] == method);
    same.map(|m| m["calls"].as_u64().expect("a number of calls")).sum()
}
