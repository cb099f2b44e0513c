//! Stack overflows that are caught where they happen.

use cprof_tests::run::{self, Ending, Report, end};
use cprof_tests::{OrFail, build};
use std::process::Command;

#[test]
fn what_the_deepest_frame_catches_is_counted() {
    const ROUNDS: &str = "20";
    run::on_every_jdk(|bench| {
        for mode in ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:+TieredCompilation"] {
            for options in ["", "recursion=fold,", "cache=4k/16+lru:4k/16,"] {
                let context = format!("JDK {}, {mode}, {options}", bench.jdk.feature);
                let directory = build::fresh(&format!("overflow-{}", bench.jdk.feature));
                let out = directory.join("deepest.cprof");
                let mut java = bench.jdk.command("java");
                java.arg(build::agent_option(&format!("{options}quiet"), &out));
                java.args([mode, "-cp", &bench.built.class_path, "Deepest", ROUNDS]);
                let ending = Ending::from(java.output().or_fail("starting java"));
                assert_eq!((ending.code, ending.stderr.as_str()), (0, ""), "{context}");
                let own: Vec<u64> = ending.stdout.split_whitespace().map(|n| n.parse().or_fail(n)).collect();
                let f = Report::read(&out).tree.of_method("Deepest.f(I)I");
                // Nine each, of which the last is not executed where seven of the handler are.
                assert_eq!((f.calls, f.bytecodes), (own[0], 9 * own[0] + 6 * own[1]), "{context}: {ending:?}");
                assert_eq!((own[1].to_string().as_str(), f.thrown), (ROUNDS, 0), "{context}");
            }
        }
    });
}

#[test]
fn every_finally_block_runs_and_every_exit_is_counted() {
    run::on_jdks_in_turn(|bench, is_due| {
        // With C2 alone, what is called for exceptions stays in the interpreter longest; in the last three all does.
        const MODES: [&str; 6] = [
            "-XX:-TieredCompilation",
            "-XX:TieredStopAtLevel=1",
            "-XX:+TieredCompilation",
            "-Xint",
            "-XX:TieredStopAtLevel=0",
            "-XX:CompileThresholdScaling=1000",
        ];
        for (m, mode) in MODES.into_iter().enumerate() {
            // With some of them, contexts where the stack ends are there already.
            let options = ["", "depth=20,", "root=Held.down,", "max-nodes=2000,", "sites=on,", "cache=4k/16,"];
            // Each mode with each of the options on one of the JDKs.
            for options in options.into_iter().enumerate().filter(|(o, _)| is_due(m + o)).map(|(_, text)| text) {
                let context = format!("JDK {}, {mode}, {options}", bench.jdk.feature);
                let out = build::fresh(&format!("held-{}", bench.jdk.feature)).join("held.cprof");
                let mut java = bench.jdk.command("java");
                java.arg(build::agent_option(&format!("{options}quiet"), &out));
                let ending =
                    Ending::from(java.args([mode, "-cp", &bench.built.class_path, "Held"]).output().or_fail("starting java"));
                assert_eq!((ending.code, ending.stderr.as_str()), (0, ""), "{context}");
                let [entered, left] = ending.stdout.split_whitespace().map(|n| n.parse().or_fail(n)).collect::<Vec<u64>>()[..]
                else {
                    panic!("{context}: {ending:?}")
                };
                assert_eq!(left, entered, "{context}: finally blocks did not run");
                let down = Report::read(&out).tree.of_method("Held.down(I)I");
                assert_eq!((down.calls, down.thrown), (entered, entered), "{context}");
            }
        }
    });
}

/// What a handler of uncaught exceptions throws leaves the first method of a virtual thread as well.
#[test]
fn what_leaves_a_virtual_thread_is_counted() {
    const FIRST: &str = "java.lang.VirtualThread$VThreadContinuation$1.run()V";
    for bench in run::benches_since(21) {
        for options in ["", ",sites=on,cache=4k/16"] {
            let out = build::fresh("unhandled").join("it.cprof");
            let mut java = bench.program(&[]);
            java.arg(build::agent_option(&format!("quiet{options}"), &out));
            java.arg("Unhandled");
            let ending = end(java);
            assert_eq!(ending.code, 0, "{ending:?}");
            let report = Report::read(&out);
            assert_eq!(report.warnings, Vec::<String>::new(), "JDK {}{options}", bench.jdk.feature);
            for method in [FIRST, "java.lang.VirtualThread.run(Ljava/lang/Runnable;)V", "Unhandled.fails()V"] {
                let counts = report.tree.of_method(method);
                assert_eq!((counts.calls, counts.thrown), (100, 100), "JDK {}{options}: {method}", bench.jdk.feature);
            }
            let told = build::must(Command::new(build::cprof()).arg("report").arg(&out));
            assert!(!told.contains("incomplete"), "JDK {}{options}: {told}", bench.jdk.feature);
        }
    }
}

/// The exception comes at any moment, as when a name is written to the tree; what the thread does after it is in the same tree.
#[test]
fn a_thread_that_is_stopped_leaves_its_tree_whole() {
    // JDK 20 took `Thread.stop` away.
    for bench in run::benches_before(20) {
        for options in ["", ",cache=4k/16"] {
            let out = build::fresh("stops").join("it.cprof");
            let mut java = bench.program(&["-Xint"]);
            java.arg(build::agent_option(&format!("quiet,max-memory=2g{options}"), &out));
            java.arg("Stops");
            let ending = end(java);
            assert_eq!((ending.code, ending.stdout.as_str(), ending.stderr.as_str()), (0, "Stops\n", ""), "{options}");
            let mut report = Report::read(&out);
            // Room that a thread had just taken, and nothing was in.
            report.warnings.retain(|warning| !warning.contains("are no chunk and were stepped over"));
            assert_eq!(report.warnings, Vec::<String>::new(), "{options}");
            let stopped = report.tree.of_method("Stops.steps(I)V").calls;
            assert!(stopped > 0, "{options}");
        }
    }
}
