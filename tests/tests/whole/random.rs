//! Classes full of what javac does not write: every context of each is counted as the oracle counts it, and cprof changes neither what they print nor
//! what the verifier says.

use cprof_tests::compare::{self, Outcome};
use cprof_tests::program::Program;
use cprof_tests::run::{self, Bench, Mode};
use cprof_tests::{OrFail, build, random};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Has the compilers compile what has been called some times.
const SOON: &[&str] = &[
    "-Xbatch",
    "-XX:Tier3InvocationThreshold=4",
    "-XX:Tier3MinInvocationThreshold=2",
    "-XX:Tier3CompileThreshold=6",
    "-XX:Tier3BackEdgeThreshold=20",
    "-XX:Tier4InvocationThreshold=8",
    "-XX:Tier4MinInvocationThreshold=4",
    "-XX:Tier4CompileThreshold=10",
    "-XX:Tier4BackEdgeThreshold=40",
];

const MODES: &[&Mode] = &[
    &Mode { name: "interpreter", flags: &["-Xint"], options: "" },
    &Mode { name: "soon compiled", flags: SOON, options: "" },
    &Mode { name: "call sites and a cache", flags: &[], options: ",sites=on,cache=2k/8" },
];

/// Seeds that share a JVM.
const TOGETHER: usize = 8;

/// The seeds: always the same, or those that `CPROF_SEEDS=100..200` says, 200 not included.
fn seeds() -> Vec<u64> {
    let range = std::env::var("CPROF_SEEDS").unwrap_or("12..20".into());
    let (from, to) = range.split_once("..").unwrap_or_else(|| panic!("CPROF_SEEDS={range} is not FROM..TO"));
    let [from, to] = [from, to].map(|seed| seed.parse().or_fail(format_args!("CPROF_SEEDS={range}")));
    (from..to).collect()
}

#[test]
fn random_classes_are_counted_as_the_oracle_counts_them() {
    let benches = run::benches();
    let compared = seeds().chunks(TOGETHER).map(|seeds| compare(&benches, seeds)).fold(Outcome::default(), Outcome::and);
    compared.assert();
}

/// Compares the classes of some seeds. Where anything differs they are kept, those of each seed by itself if it differs then, too: where a JVM ends, the
/// seeds behind are not run.
fn compare(benches: &[Bench], seeds: &[u64]) -> Outcome {
    let directory = build::fresh(&format!("random-{}-{}", seeds[0], seeds.len()));
    println!("seeds {seeds:?}, classes in {}", directory.display());
    let programs: Vec<Program> = seeds.iter().map(|&seed| random::write(seed, &directory)).collect();
    let with_classes = |bench: &Bench| Bench { built: random::built(&bench.built, &benches[0].jdk, &directory), ..bench.clone() };
    let ours: Vec<Bench> = benches.iter().map(with_classes).collect();
    // A JVM that crashes, or refuses the classes, leaves nothing to compare; other seeds are compared all the same.
    let compared = catch_unwind(AssertUnwindSafe(|| compare::in_modes(&ours, MODES, |_| programs.clone())));
    let outcome = compared.unwrap_or_else(|_| Outcome { failures: vec![format!("seeds {seeds:?}")], contexts: 0, cases: 1 });
    if !outcome.failures.is_empty() {
        println!("each seed by itself:");
        let alone =
            || seeds.iter().map(|seed| compare(benches, std::slice::from_ref(seed))).fold(Outcome::default(), Outcome::and);
        let alone = (seeds.len() > 1).then(alone).filter(|alone| !alone.failures.is_empty());
        return alone.unwrap_or(outcome);
    }
    std::fs::remove_dir_all(&directory).or_fail(directory.display());
    outcome
}
