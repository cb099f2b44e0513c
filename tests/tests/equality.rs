//! cprof's trees equal the oracle's: calls, exceptional exits and bytecodes of every context of every program, on every JDK, with and
//! without the compilers.

use cprof_tests::compare::{self, Outcome};
use cprof_tests::run;

#[test]
fn every_context_is_counted_as_the_oracle_counts_it() {
    let benches = run::benches();
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let running: Vec<_> = benches.iter().map(|bench| scope.spawn(|| compare::all(bench, run::MODES))).collect();
        running.into_iter().map(|thread| thread.join().expect("the comparison itself failed, see above")).collect()
    });
    outcomes.into_iter().fold(Outcome::default(), Outcome::and).assert();
}
