//! Stack overflows that are caught where they happen.

use cprof_tests::run::{self, Ending, Report};
use cprof_tests::{OrFail, build};

#[test]
fn what_the_deepest_frame_catches_is_counted() {
    const ROUNDS: &str = "20";
    for bench in run::benches() {
        for mode in ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:+TieredCompilation"] {
            for options in ["", "recursion=fold,", "cache=4k/16+lru:4k/16,"] {
                let context = format!("JDK {}, {mode}, {options}", bench.jdk.feature);
                let directory = build::fresh(&format!("overflow-{}", bench.jdk.feature));
                let out = directory.join("deepest.cprof");
                let mut java = bench.jdk.command("java");
                java.arg(format!("-agentpath:{}={options}quiet,out={}", build::agent().display(), out.display()));
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
    }
}
