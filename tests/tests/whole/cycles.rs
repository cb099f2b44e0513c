//! The cycles and the method cache misses that cprof reports are those worked out from the oracle's trace: by context and by
//! method, with one cache at a time (in the woven code) and five at once (from the log of lookups).

use cprof_tests::caches::CACHES;
use cprof_tests::evaluated::{self, difference};
use cprof_tests::processor::{Timing, simulate};
use cprof_tests::run::Bench;
use cprof_tests::trace::Trace;
use cprof_tests::{build, run};

/// Programs that do the same in each run.
const PROGRAMS: &[&str] =
    &["Cores", "Finally", "Generated", "Leaves", "Loops", "Recursion", "Rethrow", "Straight", "Synchronized"];
/// Programs of the kind that the processors with such caches are built for.
const EXAMPLES: &[&str] = &["LiftController", "MotorControl", "TcpStack"];

/// What was compared, and what differed.
#[derive(Default)]
struct Outcome {
    calls: u64,
    misses: u64,
    failures: Vec<String>,
}

impl Outcome {
    fn compare(&mut self, bench: &Bench, class_path: &str, main: &str, alone: &[&str]) {
        let root = format!("{main}.measured");
        let trace = Trace::record(bench, class_path, main, &root);
        let timing = Timing::read(1, 2);
        let expected = CACHES.map(|cache| (cache, simulate(&trace, &timing, cache)));
        let mut check = |caches: &[&str]| {
            let recording = evaluated::record(bench, class_path, main, &root, &format!("cache={}", caches.join("+")));
            for (cache, expected) in expected.iter().filter(|(cache, _)| caches.contains(cache)) {
                let found = recording.on(&["--target", "jop", "--cache", cache]);
                self.misses += expected.sums.misses;
                if let Some(difference) = difference(expected, &found) {
                    println!("{main} on {}, {cache} of {}: {difference}", bench.jdk.feature, caches.join("+"));
                    self.failures.push(format!("{main} on {}, {cache}", bench.jdk.feature));
                }
            }
        };
        check(&CACHES);
        for cache in alone {
            check(&[cache]);
        }
        self.calls += trace.calls() as u64;
        println!("{main} on {}: {} calls", bench.jdk.feature, trace.calls());
    }
}

#[test]
fn cycles_are_those_of_the_trace() {
    let outcomes = run::on_every_jdk(|bench| {
        let examples = build::examples(&bench.jdk).display().to_string();
        let small = PROGRAMS.iter().enumerate().map(|(i, main)| (*main, bench.built.class_path.as_str(), &CACHES[i % 5..=i % 5]));
        let mut outcome = Outcome::default();
        for (main, class_path, alone) in small.chain(EXAMPLES.iter().map(|main| (*main, examples.as_str(), &CACHES[..]))) {
            outcome.compare(bench, class_path, main, alone);
        }
        outcome
    });
    let failures: Vec<&String> = outcomes.iter().flat_map(|o| &o.failures).collect();
    assert!(failures.is_empty(), "{failures:?}");
    for Outcome { calls, misses, .. } in outcomes {
        assert!(calls > 1_000_000 && misses > 100_000, "so few say little: {calls} calls, {misses} misses");
    }
}

#[test]
fn upcalls_and_exceptions_can_be_left_out() {
    run::on_every_jdk(|bench| {
        let (class_path, main, root) = (&bench.built.class_path, "Synchronized", "Synchronized.measured");
        let expected = simulate(&Trace::record(bench, class_path, main, root), &Timing::read(1, 2), "ideal").sums;
        let recording = evaluated::record(bench, class_path, main, root, "bba=precise");
        let sums = |more: &[&str]| recording.on(&[&["--target", "jop", "--cache", "ideal"], more].concat()).sums;
        assert_eq!(sums(&[]), expected, "{main} on {}", bench.jdk.feature);
        assert!(expected.upcalls > 0 && expected.exceptions > 0, "{expected:?}");
        let without = sums(&["--no-upcalls"]);
        assert_eq!((without.cycles, without.upcalls), (expected.cycles - expected.upcalls, 0), "on {}", bench.jdk.feature);
        let without = sums(&["--no-exceptions"]);
        assert_eq!((without.cycles, without.exceptions), (expected.cycles - expected.exceptions, 0), "on {}", bench.jdk.feature);
    });
}

#[test]
fn wait_states_set_afterwards_count() {
    const CACHE: &str = "1k/4";
    run::on_every_jdk(|bench| {
        let class_path = build::examples(&bench.jdk).display().to_string();
        let (main, root) = ("MotorControl", "MotorControl.measured");
        let trace = Trace::record(bench, &class_path, main, root);
        let recording = evaluated::record(bench, &class_path, main, root, &format!("cache={CACHE}"));
        for (r, w) in [(0, 0), (3, 1), (5, 9)] {
            let (rws, wws) = (format!("rws={r}"), format!("wws={w}"));
            for cache in [CACHE, "ideal", "none"] {
                let found = recording.on(&["--target", "jop", "--cache", cache, "--set", &rws, "--set", &wws]);
                let expected = simulate(&trace, &Timing::read(r, w), cache);
                assert_eq!(difference(&expected, &found), None, "{main} on {}, {cache}, {rws}, {wws}", bench.jdk.feature);
            }
        }
    });
}
