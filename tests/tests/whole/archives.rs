//! JVMs that write an archive of their classes at their end, which HotSpot does not survive if an agent has changed these: they
//! are not counted, and run as ever.

use cprof_tests::attach::Running;
use cprof_tests::run::{Bench, Ending};
use cprof_tests::{OrFail, build, run};
use std::process::Command;

const TOLD: &str = "this JVM writes an archive of its classes at its end";

/// The programs, in a jar.
fn java(bench: &Bench, arguments: &[&str]) -> Command {
    let mut java = bench.jdk.command("java");
    java.arg("-cp").arg(build::programs_jar(bench)).args(arguments);
    java
}

#[test]
fn such_a_jvm_is_not_attached_to() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("archives-attached-{}", bench.jdk.feature));
        let (archive, out) = (directory.join("classes.jsa"), directory.join("it.cprof"));
        let option = format!("-XX:ArchiveClassesAtExit={}", archive.display());
        let mut running = Running::start(java(&bench, &[&option, "Serve"]), &directory);
        let refused = running.command(&format!("out={}", out.display()));
        let why = refused.get("error").unwrap_or_else(|| panic!("no error: {refused:?}"));
        assert!(why.contains(TOLD) && why.contains(&option), "JDK {}: {refused:?}", bench.jdk.feature);
        running.ask("5 12");
        let (_, said) = running.end();
        assert!(archive.is_file() && !out.exists(), "JDK {}: {said}", bench.jdk.feature);
    }
}

/// JDK 17 itself refuses to start with an agent then; a cache of the kind that JDK 24 brought, it writes.
#[test]
fn such_a_program_runs_uncounted() {
    for bench in &run::benches_since(25) {
        let directory = build::fresh(&format!("archives-{}", bench.jdk.feature));
        let (cache, out) = (directory.join("classes.aot"), directory.join("it.cprof"));
        let cprof = build::agent_option("", &out);
        let option = format!("-XX:AOTCacheOutput={}", cache.display());
        let ending = Ending::from(java(bench, &[&cprof, &option, "Plain"]).output().or_fail("starting java"));
        assert_eq!(ending.code, 7, "{}", ending.stderr);
        assert!(ending.stderr.contains(TOLD) && ending.stderr.contains("runs on without being profiled"), "{}", ending.stderr);
        assert!(cache.is_file() && !out.exists(), "{}", ending.stderr);
    }
}

/// Classes that HotSpot loads while it retransforms another it takes for that one, unless the cache had them.
#[test]
fn a_jvm_that_uses_a_cache_is_as_it_was_when_cprof_has_left() {
    for bench in &run::benches_since(25) {
        let directory = build::fresh("archives-used");
        let (cache, out) = (directory.join("classes.aot"), directory.join("it.cprof"));
        let written = format!("-XX:AOTCacheOutput={}", cache.display());
        // As little as can be is loaded then.
        java(bench, &[&written, "NoSuchClass"]).output().or_fail("starting java");
        assert!(cache.is_file());
        let used = format!("-XX:AOTCache={}", cache.display());
        // Its next sleep has the class in that the JVM retransforms first.
        let mut running = Running::start(java(bench, &[&used, "Spins"]), &directory);
        running.command(&format!("out={}", out.display()));
        let left = running.command("command=detach");
        assert!(!left.contains_key("error") && !left.contains_key("not_restored"), "{left:?}");
    }
}
