//! The oracle itself: the closed-form counts in the programs' heads hold under it, and neither the compilers, nor a second run, nor
//! a breakpoint on every instruction by itself change what it counts.

use cprof_tests::trace::Trace;
use cprof_tests::{program, run};

/// Programs whose counts do not depend on what was loaded before.
const STEADY: &[&str] = &["Finally", "Generated", "Leaves", "Loops", "Recursion", "Rethrow", "Straight", "Synchronized"];

#[test]
fn the_oracle_counts_what_was_counted_by_hand_with_and_without_compilers_and_instruction_by_instruction() {
    run::on_every_jdk(|bench| {
        let programs = program::all(&bench.jdk);
        for program in programs.iter().filter(|p| STEADY.contains(&p.name.as_str())) {
            let [root] = &program.roots[..] else { panic!("{} has several roots", program.name) };
            // The run whose events other tests follow.
            let [tree, _] = Trace::files(bench, &bench.built.class_path, &program.name, root);
            let interpreted = run::read_oracle(&tree);
            for e in &program.expectations {
                let counts = e.methods.iter().map(|m| interpreted.of_method(m)).sum();
                assert_eq!(e.contradicts(counts), None, "{} on {}", program.name, bench.jdk.feature);
            }
            let each = bench.oracle(&[program], &[], ",each");
            assert_eq!(
                interpreted.difference("interpreted", &each, "compiled, each instruction by itself"),
                None,
                "{} on {}",
                program.name,
                bench.jdk.feature
            );
        }
    });
}
