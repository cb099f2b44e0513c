//! HotSpot's compilers take every woven method that they would take without cprof.

use cprof_tests::jdk::Jdk;
use cprof_tests::run::{self, Ending};
use cprof_tests::{OrFail, build};
use std::collections::BTreeSet;

/// What they say of a method that they give up (C1 and C2, JDK 17 and 25). They give up others for a time, whose classes are being
/// loaded.
const REFUSALS: [&str; 5] = [
    "exception handler covers itself",
    "error while joining with exception handler",
    "unbalanced monitors",
    "cannot parse",
    "invalid parsing",
];

/// Programs, and what is compiled of each: monitors as scalac and javac release them, `finally`.
const TELLING: [(&str, &str); 3] =
    [("Generated", "AssembledMonitors::lock "), ("Synchronized", "Synchronized::blocks "), ("Finally", "Finally::plain ")];

/// What is compiled of a program, in full, and what is given up.
fn compiled(jdk: &Jdk, class_path: &str, program: &str, agent: Option<String>) -> (String, BTreeSet<String>) {
    let mut java = jdk.command("java");
    // The program waits for the compilers, so that it does not end before them.
    java.args(agent).args(["-Xbatch", "-XX:+PrintCompilation", "-cp", class_path, program]);
    let ending = Ending::from(java.output().or_fail("starting java"));
    assert_eq!(ending.code, 0, "JDK {}, {program}: {}", jdk.feature, ending.stderr);
    // TIME ID FLAGS LEVEL NAME (SIZE bytes) COMPILE SKIPPED: WHY
    let refused = ending.stdout.lines().filter(|line| REFUSALS.iter().any(|why| line.contains(why)));
    let names = refused.filter_map(|line| line.split_once(" (")?.0.split_whitespace().last().filter(|name| name.contains("::")));
    let names = names.map(str::to_owned).collect();
    (ending.stdout, names)
}

#[test]
fn no_method_is_left_to_the_interpreter() {
    run::on_every_jdk(|bench| {
        let out = build::fresh(&format!("compilers-{}", bench.jdk.feature)).join("a.cprof");
        for (program, method) in TELLING {
            let start = |agent| compiled(&bench.jdk, &bench.built.class_path, program, agent);
            let (_, plain) = start(None);
            // They have what C1 compiles from nobody.
            let expected = if program == "Generated" { 2 } else { 0 };
            assert_eq!(plain.len(), expected, "JDK {}, {program}: {plain:?}", bench.jdk.feature);
            for options in ["", ",sites=on", ",bba=block"] {
                let (lines, refused) = start(Some(build::agent_option(&format!("quiet{options}"), &out)));
                let context = format!("JDK {}, {program}{options}", bench.jdk.feature);
                assert_eq!(refused, plain, "{context}");
                assert!(lines.lines().any(|line| line.contains(method)), "{context}: {method}was not compiled");
            }
        }
    });
}
