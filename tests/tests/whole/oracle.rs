//! The oracle itself: the closed-form counts in the programs' heads hold under it, and neither the compilers, nor a second run, nor
//! a breakpoint on every instruction by itself change what it counts.

use cprof_tests::compare::certain;
use cprof_tests::trace::Trace;
use cprof_tests::{OrFail, program, run};

/// Programs whose counts do not depend on what was loaded before.
const STEADY: &[&str] = &["Finally", "Generated", "Leaves", "Loops", "Recursion", "Rethrow", "Straight", "Synchronized"];

/// The same, and with other instructions that throw, jump, or merely go on.
const ODD: &[&str] = &["ImplicitExceptions", "Megamorphic", "Switches", "Wide"];

/// Programs without hidden classes, whose names are other ones in each run; what is thrown in them is caught in some frame.
const FOLLOWED: &[&str] = &["Finally", "Rethrow"];

#[test]
fn the_oracle_counts_what_was_counted_by_hand_with_and_without_compilers() {
    run::on_every_jdk(|bench| {
        for program in &program::named(&bench.jdk, STEADY) {
            let [root] = &program.roots[..] else { panic!("{} has several roots", program.name) };
            // The run whose events other tests follow.
            let [tree, _] = Trace::files(bench, &bench.built.class_path, &program.name, root, "");
            let interpreted = run::read_oracle(&tree);
            for e in &program.expectations {
                let counts = e.methods.iter().map(|m| interpreted.of_method(m)).sum();
                assert_eq!(e.contradicts(counts), None, "{} on {}", program.name, bench.jdk.feature);
            }
            let compiled = bench.oracle(&[program], &[], "");
            assert_eq!(
                interpreted.difference("interpreted", &compiled, "compiled"),
                None,
                "{} on {}",
                program.name,
                bench.jdk.feature
            );
        }
    });
}

#[test]
fn instructions_counted_together_count_as_each_by_itself() {
    run::on_jdks_in_turn(|bench, is_due| {
        let programs = program::named(&bench.jdk, &[STEADY, ODD].concat());
        for (_, program) in programs.iter().enumerate().filter(|(i, _)| is_due(*i)) {
            let [together, each] = ["", ",each"].map(|options| certain(&bench.oracle(&[program], &["-Xint"], options)));
            let difference = together.difference("together", &each, "each by itself");
            assert_eq!(difference, None, "{} on {}", program.name, bench.jdk.feature);
        }
        for (_, main) in FOLLOWED.iter().enumerate().filter(|(i, _)| is_due(*i)) {
            let followed = ["", ",each"].map(|options| {
                let files = Trace::files(bench, &bench.built.class_path, main, &format!("{main}.measured"), options);
                files.map(|file| std::fs::read_to_string(&file).or_fail(file.display()))
            });
            // Not shown: they have a million lines.
            assert!(followed[0] == followed[1], "{main} on {}: other opcodes, or other events", bench.jdk.feature);
        }
    });
}
