//! The method caches that cprof simulates miss where one misses that is simulated from the oracle's trace: context by context, on entry
//! and on return, one cache at a time (in the woven code) and five at once (from the log of lookups).

use cprof_tests::caches::{self, CACHES, Trace};
use cprof_tests::run::Bench;
use cprof_tests::{build, run};

/// Programs that do the same in each run.
const PROGRAMS: &[&str] =
    &["Cores", "Finally", "Generated", "Leaves", "Loops", "Recursion", "Rethrow", "Straight", "Synchronized"];
/// Programs of the kind that the processors with such caches are built for.
const EXAMPLES: &[&str] = &["LiftController", "MotorControl", "TcpStack"];

/// Answers the calls and the misses compared.
fn compare(bench: &Bench, class_path: &str, main: &str, alone: &[&str], failures: &mut Vec<String>) -> [u64; 2] {
    let root = format!("{main}.measured");
    let trace = Trace::record(bench, class_path, main, &root);
    let mut compared = 0;
    let mut check = |caches: &[&str]| {
        for (cache, found) in caches.iter().zip(caches::cprof(bench, class_path, main, &root, caches)) {
            let expected = trace.misses(cache);
            compared += expected.values().map(|m| m[0] + m[1]).sum::<u64>();
            if let Some(difference) = caches::difference(&expected, &found) {
                println!("{main} on {}, {cache} of {}: {difference}", bench.jdk.feature, caches.join("+"));
                failures.push(format!("{main} on {}, {cache}", bench.jdk.feature));
            }
        }
    };
    check(&CACHES);
    for cache in alone {
        check(&[cache]);
    }
    [trace.calls() as u64, compared]
}

#[test]
fn misses_are_those_of_the_trace() {
    let mut failures = Vec::new();
    let mut total = [0, 0];
    for bench in run::benches() {
        let examples = build::examples(&bench.jdk).display().to_string();
        let small = PROGRAMS.iter().enumerate().map(|(i, main)| (*main, bench.built.class_path.as_str(), &CACHES[i % 5..=i % 5]));
        for (main, class_path, alone) in small.chain(EXAMPLES.iter().map(|main| (*main, examples.as_str(), &CACHES[..]))) {
            let [calls, misses] = compare(&bench, class_path, main, alone, &mut failures);
            println!("{main} on {}: {calls} calls, {misses} misses compared", bench.jdk.feature);
            total = [total[0] + calls, total[1] + misses];
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("; "));
    assert!(total[0] > 1_000_000 && total[1] > 100_000, "so few say little: {total:?}");
}
