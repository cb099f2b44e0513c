//! Methods that benchmarks have the compilers treat as blackholes: the JVM finds them empty, as it wants them.

use cprof_tests::run::{Ending, Report};
use cprof_tests::{OrFail, build, run};

#[test]
fn they_stay_empty_and_are_told() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("blackholes-{}", bench.jdk.feature));
        let file = directory.join("commands");
        std::fs::write(&file, "quiet\nblackhole Leaves empty\n").or_fail("writing compiler commands");
        let given = vec!["-XX:CompileCommand=quiet".to_owned(), "-XX:CompileCommand=blackhole,Leaves::empty".to_owned()];
        let in_file = vec![format!("-XX:CompileCommandFile={}", file.display())];
        for (how, options) in [("given", given), ("file", in_file)] {
            let start = |agent: Option<String>| {
                let mut java = bench.jdk.command("java");
                java.args(agent).arg("-XX:+UnlockExperimentalVMOptions").args(&options);
                java.args(["-cp", &bench.built.class_path, "Leaves"]);
                Ending::from(java.output().or_fail("starting java"))
            };
            let out = directory.join(format!("{how}.cprof"));
            let plain = start(None);
            let counted = start(Some(build::agent_option("quiet", &out)));
            assert_eq!(
                (counted.code, &counted.stdout),
                (0, &plain.stdout),
                "JDK {}, {how}: {}",
                bench.jdk.feature,
                counted.stderr
            );
            let report = Report::read(&out);
            let told = |(what, why): &(String, String)| what == "Leaves.empty()V" && why.contains("treat as a blackhole");
            assert!(report.gaps.iter().any(told), "JDK {}, {how}: {:?}", bench.jdk.feature, report.gaps);
            assert_eq!(report.tree.of_method("Leaves.empty()V").calls, 0);
            assert_eq!(report.tree.of_method("Leaves.constant()I").bytecodes, 60_000);
        }
    }
}
