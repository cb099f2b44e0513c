//! When room for contexts runs out, contexts are folded; nothing that was counted gets lost, and nothing is added.

use cprof_tests::run::{Bench, Report};
use cprof_tests::{build, program, run};

/// Programs of one thread that do the same in each run.
const PROGRAMS: &[&str] = &["Finally", "Recursion", "Rethrow"];

fn counted(bench: &Bench, program: &program::Program, options: &str) -> Report {
    let out = build::directory().join(format!("limits-{}-{}.cprof", program.name, bench.jdk.feature));
    bench.cprof(&[program], &[], options, &out).0
}

#[test]
fn what_ran_outside_the_roots_stays_outside_when_there_is_no_room() {
    for bench in run::benches() {
        for program in program::all(&bench.jdk).iter().filter(|p| PROGRAMS.contains(&p.name.as_str())) {
            let whole = counted(&bench, program, "");
            let folded = counted(&bench, program, ",max-nodes=1");
            let name = format!("{} on {}", program.name, bench.jdk.feature);
            assert!(folded.tree.len() < whole.tree.len(), "{name}: {} contexts were not folded", whole.tree.len());
            assert_eq!(folded.tree.total(), whole.tree.total(), "{name}");
        }
    }
}
