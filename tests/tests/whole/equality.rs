//! cprof's trees equal the oracle's: calls, exceptional exits and bytecodes of every context of every program, on every JDK, with and
//! without the compilers.

use cprof_tests::{build, compare, program, run};

#[test]
fn every_context_is_counted_as_the_oracle_counts_it() {
    compare::everywhere(&run::benches(), |bench| program::all(&bench.jdk)).assert();
}

#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn real_programs_are_counted_as_the_oracle_counts_them() {
    compare::everywhere(&run::benches_with(&build::LIBRARIES), |_| program::of_libraries()).assert();
}
