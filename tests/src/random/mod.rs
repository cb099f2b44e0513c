//! Random classes: from a seed, code of every kind that the JVM's verifier accepts and javac does not write, which comes to an
//! end and does the same each time.
//!
//! - [`types`]: what is in locals and on the stack
//! - [`typed`]: instructions that know what they do to it
//! - [`plan`]: which classes and methods there are
//! - [`method`], [`blocks`], [`statements`], [`nested`], [`linked`]: the code of a method
//! - [`class`]: class files, and the one that runs the others

mod blocks;
mod class;
mod linked;
mod method;
mod nested;
mod plan;
#[path = "../../../instrument/tests/weaver/support/random.rs"]
mod splitmix;
mod statements;
mod typed;
mod types;

pub use class::classes;

use crate::OrFail;
use crate::build::{self, Built};
use crate::jdk::Jdk;
use crate::program::Program;
use std::path::Path;

/// Writes the classes of a seed into a directory; answers the program that they are. `links`: with constants and call sites that
/// the JVM links when they are executed.
pub fn write(seed: u64, links: bool, directory: &Path) -> Program {
    let files = classes(seed, links);
    for (name, bytes) in &files {
        let path = directory.join(format!("{name}.class"));
        std::fs::write(&path, bytes).or_fail(path.display());
    }
    let name = files[0].0.clone();
    Program {
        path: directory.join(format!("{name}.class")),
        feature: 17,
        needs: None,
        roots: vec![format!("{name}.measured")],
        expectations: Vec::new(),
        timing: Vec::new(),
        alone: false,
        self_checking: false,
        exit: 0,
        name,
    }
}

/// What was built for a JDK, with random classes in front that were written into a directory; what comes of them goes there, too.
pub fn built(built: &Built, oldest: &Jdk, directory: &Path) -> Built {
    let class_path = format!("{}:{}:{}", directory.display(), build::random(oldest).display(), built.class_path);
    Built { class_path, results: directory.to_owned(), ..built.clone() }
}
