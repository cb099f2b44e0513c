//! Caches other than a FIFO cache for each thread, caches of virtual threads, and options about caches that are wrong.

use cprof_tests::evaluated::{self, difference};
use cprof_tests::processor::{Timing, simulate};
use cprof_tests::run::Bench;
use cprof_tests::trace::Trace;
use cprof_tests::{OrFail, build, run};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Each of the caches, all simulated in one run, against the trace.
fn compare(bench: &Bench, main: &str, options: &str, caches: &[&str]) {
    let (class_path, root) = (&bench.built.class_path, format!("{main}.measured"));
    let trace = Trace::record(bench, class_path, main, &root);
    let recording = evaluated::record(bench, class_path, main, &root, options);
    for cache in caches {
        let found = recording.on(&["--target", "jop", "--cache", cache]);
        let expected = simulate(&trace, &Timing::read(1, 2), cache);
        assert_eq!(difference(&expected, &found), None, "{main} on {}, {cache} of {options}", bench.jdk.feature);
        assert!(expected.sums.misses > 0, "{main}, {cache}: without misses this says little");
    }
}

#[test]
fn least_recently_used() {
    const CACHES: &[&str] = &["lru:512/4", "lru:1k/8", "lru:4k/16", "512/4"];
    for bench in run::benches() {
        for main in ["Relay", "Cores", "Leaves"] {
            compare(&bench, main, &format!("cache={}", CACHES.join("+")), CACHES);
        }
        compare(&bench, "Relay", "cache=lru:512/8", &["lru:512/8"]);
    }
}

#[test]
fn one_core_for_all_threads() {
    for bench in run::benches() {
        compare(
            &bench,
            "Relay",
            "cache-scope=shared,cache=512/4+lru:512/4+1k/8",
            &["512/4@shared", "lru:512/4@shared", "1k/8@shared"],
        );
        compare(&bench, "Relay", "cache=512/8@shared", &["512/8@shared"]);
        // What the threads leave in the cache matters, or the above would not tell shared caches from others.
        let trace = Trace::record(&bench, &bench.built.class_path, "Relay", "Relay.measured");
        let misses = |cache| simulate(&trace, &Timing::read(1, 2), cache).sums.misses;
        assert_ne!(misses("4k/16@shared"), misses("4k/16"));
        compare(&bench, "Relay", "cache=4k/16@shared", &["4k/16@shared"]);
    }
}

/// The cache of a thread that is gone before the agent can be called is simulated from what it has logged, as it is otherwise when
/// it is looked up.
#[test]
fn threads_that_end_before_the_vm_is_initialised_have_a_core() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("early-thread-{}", bench.jdk.feature));
        let early = format!("-javaagent:{}", build::agent_jar(&bench.jdk, "Early").display());
        let misses = |caches: &str| {
            let out = directory.join("it.cprof");
            let cprof = build::agent_option(&format!("quiet,cache={caches}"), &out);
            build::must(&mut bench.program(&[&early, &cprof, "Straight"]));
            let mut report = Command::new(build::cprof());
            report.args(["report", "--target", "jop", "--cache", "1k/4", "--format", "json"]).arg(&out);
            let report: Value = serde_json::from_str(&build::must(&mut report)).or_fail("the JSON of cprof report");
            let methods = report["methods"].as_array().expect("a list").iter().filter(|m| m["class"] == "Early");
            let missed = |m: &Value| ["entry_misses", "return_misses"].map(|column| m[column].as_u64().expect("a number"));
            methods.map(missed).fold([0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]])
        };
        let at_once = misses("1k/4");
        assert!(at_once[0] > 0, "JDK {}: {at_once:?}", bench.jdk.feature);
        for logged in ["1k/4+4k/16", "1k/4+lru:1k/4"] {
            assert_eq!(misses(logged), at_once, "JDK {}, {logged}", bench.jdk.feature);
        }
    }
}

#[test]
fn every_virtual_thread_has_a_core() {
    const CACHES: &[&str] = &["512/4", "1k/8", "lru:512/4"];
    for bench in run::benches_since(21) {
        compare(&bench, "VirtualCores", &format!("cache={}", CACHES.join("+")), CACHES);
        compare(&bench, "VirtualCores", "cache=512/4", &["512/4"]);
    }
}

#[test]
fn a_cache_that_was_not_simulated_is_refused_with_those_that_were() {
    let bench = &run::benches()[0];
    let recording = evaluated::record(bench, &bench.built.class_path, "Straight", "Straight.measured", "cache=1k/4+lru:4k/16");
    for cache in ["4k/16", "lru:1k/4", "1k/4@shared"] {
        let refused = recording.refused(&["--target", "jop", "--cache", cache]);
        assert!(refused.contains(&format!("{cache} was not simulated")), "{refused}");
        assert!(refused.contains("simulated 1k/4, lru:4k/16"), "{refused}");
    }
    let without = evaluated::record(bench, &bench.built.class_path, "Straight", "Straight.measured", "bba=precise");
    let refused = without.refused(&["--target", "jop"]);
    assert!(refused.contains("--cache ideal"), "{refused}");
}

/// Of a leaf both lookups are made when it is entered; the second is left out where it has not returned, whoever reads the profile.
#[test]
fn what_has_not_returned_has_not_missed_its_caller() {
    for bench in run::benches() {
        for options in ["cache=512/1", "cache=512/1+lru:512/1"] {
            let recording = evaluated::record(&bench, &bench.built.class_path, "InLeaf", "InLeaf.measured", options);
            let report = recording.on(&["--target", "jop", "--cache", "512/1"]);
            let spin = report.contexts.iter().find(|(path, _)| path.ends_with("InLeaf.spin(I)I")).expect("it was called").1;
            assert_eq!((spin.entry_misses, spin.return_misses), (2, 1), "{options} on {}", bench.jdk.feature);
            let export =
                build::must(Command::new(build::cprof()).arg("export").arg(&recording.file).args(["--format", "csv", "-o", "-"]));
            let mut rows = export.lines().map(|row| row.split(',').collect::<Vec<_>>());
            let at = rows.next().expect("a header").iter().position(|name| *name == "return_misses[512/1]").expect("a column");
            let misses: Vec<&str> = rows.filter(|row| row[4] == "spin").map(|row| row[at]).collect();
            assert_eq!(misses, ["1"], "{options} on {}", bench.jdk.feature);
        }
    }
}

#[test]
fn a_profile_keeps_the_model_it_was_recorded_with() {
    for bench in run::benches() {
        let directory = build::directory().join(format!("model-{}", build::unique()));
        fs::create_dir_all(&directory).or_fail("a directory for models");
        let [base, mine] = ["base", "mine"].map(|name| directory.join(name).with_extension("toml"));
        let head = "accuracy = \"coarse\"\n[sources]\nm = \"measured\"\n[bytecodes]\nsource = \"m\"\n";
        fs::write(&base, format!("base = \"jop\"\ntitle = \"base\"\n{head}iadd = 7\n")).or_fail("base.toml");
        fs::write(&mine, format!("base = \"base.toml\"\ntitle = \"mine\"\n{head}iload_1 = 5\n")).or_fail("mine.toml");
        let options = format!("cache=4k/16,target={}", mine.display());
        let recording = evaluated::record(&bench, &bench.built.class_path, "Relay", "Relay.measured", &options);
        let named = recording.on(&["--target", &mine.display().to_string()]);
        fs::remove_dir_all(&directory).or_fail("removing the models");
        assert_eq!(difference(&named, &recording.on(&[])), None);
        let on_jop = recording.on(&["--target", "jop"]);
        assert!(named.sums.cycles > on_jop.sums.cycles, "the model counts: {:?} {:?}", named.sums, on_jop.sums);
    }
}

#[test]
fn wrong_options_about_caches_are_named_and_the_jvm_does_not_start() {
    const WRONG: &[(&str, &str)] = &[
        ("cache=", "cache"),
        ("cache=4k", "number of blocks"),
        ("cache=4k/0", "cache=4k/0"),
        ("cache=0/4", "cache=0/4"),
        ("cache=mru:4k/16", "cache=mru:4k/16"),
        ("cache=4k/16+4k/16", "twice"),
        ("cache=4k/16+4k/16@shared", "two runs"),
        ("cache=4k/16,cache-scope=core", "cache-scope"),
        ("cache-scope=shared", "cache=4k/16"),
        ("cache=4k/16,cache=1k/4", "cache"),
        ("target=jup", "jop-2014"),
    ];
    for bench in run::benches() {
        for (options, named) in WRONG {
            let mut java = bench.java(&[]);
            java.arg(build::agent_with(options)).args(["-cp", &bench.built.class_path, "Straight"]);
            let output = java.output().or_fail(format_args!("starting {java:?}"));
            let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
            assert!(!output.status.success() && !stdout.contains("Straight"), "{options}: the program ran");
            assert!(stderr.lines().any(|l| l.contains("cprof") && l.contains(named)), "{options}: {stderr}");
        }
    }
}
