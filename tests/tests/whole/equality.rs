//! cprof's trees equal the oracle's: calls, exceptional exits and bytecodes of every context of every program, on every JDK, with
//! and without the compilers.

use cprof_tests::run::Mode;
use cprof_tests::tree::Bound;
use cprof_tests::{build, compare, program, run};

#[test]
fn every_context_is_counted_as_the_oracle_counts_it() {
    compare::everywhere(&run::benches(), |bench| program::all(&bench.jdk)).assert();
}

/// Recursion, exceptions that pass many frames, calls from native code, threads, and frames that are active at the end.
const BOUNDED: &[&str] = &[
    "DaemonAtExit",
    "HaltDeep",
    "HaltRecursive",
    "Invokes",
    "Overrides",
    "Recursion",
    "Rethrow",
    "Synchronized",
    "Threads",
    "Upcalls",
];

/// As the bounded trees of Ammons, Ball and Larus (PLDI 1997) and those cut off at a depth.
const FOLDED: &[&Mode] = &[
    &Mode { name: "depth=1", flags: &[], options: ",depth=1", bound: Bound::Depth(1) },
    &Mode { name: "depth=4", flags: &["-XX:TieredStopAtLevel=1"], options: ",depth=4", bound: Bound::Depth(4) },
    &Mode { name: "recursion=fold", flags: &[], options: ",recursion=fold", bound: Bound::Recursion },
];

#[test]
fn bounded_trees_are_those_of_the_oracle_folded() {
    compare::in_modes(&run::benches(), FOLDED, |bench| program::named(&bench.jdk, BOUNDED)).assert();
}

#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn real_programs_are_counted_as_the_oracle_counts_them() {
    compare::everywhere(&run::benches_with(&build::LIBRARIES), |_| program::of_libraries()).assert();
}
