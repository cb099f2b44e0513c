//! Programs that use what virtual threads are made of by themselves.

use cprof_tests::run::{Ending, Report};
use cprof_tests::{OrFail, build, program, run};

/// Whether a warning is of continuations.
fn is_of_continuations(warning: &str) -> bool {
    warning.contains("jdk.internal.vm.Continuation")
}

/// What they call is counted, and that contexts may be others is said, of the first class only.
#[test]
fn what_is_not_known_of_continuations_is_told() {
    const EXPORT: &str = "--add-exports=java.base/jdk.internal.vm=ALL-UNNAMED";
    for bench in run::benches_since(21) {
        let jdk = bench.jdk.feature;
        let directory = build::fresh(&format!("continuations-{jdk}"));
        let mut javac = bench.jdk.command("javac");
        build::must(javac.args([EXPORT, "-d"]).arg(&directory).args(program::sources_of("continuations")));
        let out = directory.join("continuations.cprof");
        let mut java = bench.jdk.command("java");
        java.arg(build::agent_option("quiet", &out));
        let ending = Ending::from(java.args([EXPORT, "-cp"]).arg(&directory).arg("Generates").output().or_fail("starting java"));
        assert_eq!((ending.code, &*ending.stdout, &*ending.stderr), (0, "90\n", ""), "JDK {jdk}");
        let report = Report::read(&out);
        assert_eq!(report.tree.of_method("Generates.twice(I)I").calls, 10, "JDK {jdk}");
        assert_eq!(report.tree.of_method("Generates.generate()V").calls, 1, "JDK {jdk}");
        let told: Vec<_> = report.warnings.iter().filter(|warning| is_of_continuations(warning)).collect();
        assert!(told.len() == 1 && told[0].starts_with("Generates uses "), "JDK {jdk}: {told:?}");
    }
}

/// Virtual threads use them, too.
#[test]
fn of_virtual_threads_nothing_is_told() {
    for bench in run::benches_since(21) {
        let out = build::fresh(&format!("no-continuations-{}", bench.jdk.feature)).join("virtual.cprof");
        let (report, _) = bench.cprof(&program::named(&bench.jdk, &["VirtualThreads"]).iter().collect::<Vec<_>>(), &[], "", &out);
        assert!(!report.warnings.iter().any(|warning| is_of_continuations(warning)), "{:?}", report.warnings);
    }
}
