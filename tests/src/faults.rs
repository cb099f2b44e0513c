//! Faults that the agent's debug build makes on demand (`agent/faults.rs`).

use crate::OrFail;
use crate::build;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The agent with faults, built by `cargo build --workspace --all-targets`.
pub fn agent() -> PathBuf {
    let agent = build::directory().with_file_name("debug").join("libcprof.so");
    assert!(agent.exists(), "{} is not there; run `cargo build --workspace --all-targets` first", agent.display());
    agent
}

/// What a JVM's agent is to do wrong: the file that `CPROF_FAULTS` names.
pub struct Orders(PathBuf);

/// A fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Where.
    pub point: String,
    /// `panic`, `error`, `memory`, `slow` or `end`.
    pub kind: &'static str,
    /// At the n-th time.
    pub nth: usize,
}

impl Orders {
    /// A file in this directory; nothing goes wrong.
    pub fn new(directory: &Path, name: &str) -> Orders {
        let orders = Orders(directory.join(name));
        orders.none();
        orders
    }

    /// Makes a JVM's agent look here.
    pub fn apply(&self, java: &mut Command) {
        java.env("CPROF_FAULTS", &self.0);
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.0, text).or_fail(self.0.display());
    }

    /// From the next command on, nothing goes wrong.
    pub fn none(&self) {
        self.write("panic 1 (nowhere)");
    }

    /// From the next command on, this does.
    pub fn fault(&self, fault: &Fault) {
        self.write(&format!("{} {} {}", fault.kind, fault.nth, fault.point));
    }

    /// Whether the last fault has happened.
    pub fn happened(&self) -> bool {
        std::fs::read_to_string(&self.0).or_fail(self.0.display()).is_empty()
    }

    /// From the next command on, points are listed, for [`Orders::listed`].
    pub fn list(&self) {
        self.write(&format!("list {}", self.0.with_extension("points").display()));
    }

    /// Every fault at the points that were listed: each kind when the point is first passed; what happens to one class in the
    /// middle, too.
    pub fn listed(&self) -> Vec<Fault> {
        let list = self.0.with_extension("points");
        let text = std::fs::read_to_string(&list).or_fail(list.display());
        let mut passed: BTreeMap<(&str, bool), usize> = BTreeMap::new();
        for line in text.lines() {
            let (point, kinds) = line.split_once(':').expect("a point and its kinds");
            *passed.entry((point, kinds == "error")).or_default() += 1;
        }
        let mut faults = Vec::new();
        for ((point, can_fail), times) in passed {
            let mut add = |kind, nth| faults.push(Fault { point: point.to_owned(), kind, nth });
            add("panic", 1);
            if can_fail {
                add("error", 1);
            }
            // Whatever comes after it has no memory either.
            if !point.starts_with("JNI") && !point.starts_with("JVMTI") {
                add("memory", 1);
            }
            if times > 100 {
                add(if can_fail { "error" } else { "panic" }, times / 2);
            }
        }
        faults
    }
}

/// Those to be tried on one of several JDKs: all of them if `CPROF_EVERY_FAULT` is set, as `scripts/faults` does, else each on
/// one JDK.
pub fn share(faults: Vec<Fault>, jdk: usize, jdks: usize) -> Vec<Fault> {
    let every = std::env::var_os("CPROF_EVERY_FAULT").is_some();
    faults.into_iter().enumerate().filter(|(i, _)| every || i % jdks == jdk % jdks).map(|(_, fault)| fault).collect()
}
