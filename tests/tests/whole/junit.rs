//! `@BytecodeBudget` in the real JUnit, fetched from Maven Central by `scripts/jars`: run with `--ignored`.

use cprof_tests::jdk::Jdk;
use cprof_tests::run::Ending;
use cprof_tests::{OrFail, build, program, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The console launcher.
fn launcher() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/jars");
    let folder = build::must(Command::new(script).arg("tests/junit/pom.xml"));
    let jars = std::fs::read_dir(folder.trim()).or_fail(folder.trim()).flatten().map(|e| e.path());
    let is = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("junit-platform-console-standalone-"));
    jars.into_iter().find(is).expect("the launcher is in tests/junit/pom.xml")
}

fn class_path(classes: &Path) -> String {
    let jars = ["cprof-junit.jar", "cprof-api.jar"].map(build::release);
    format!("{}:{}:{}", classes.display(), jars[0].display(), jars[1].display())
}

/// How many tests passed, failed and were aborted, and all that was printed.
fn outcome(jdk: &Jdk, classes: &Path, flags: &[String]) -> ([u32; 3], String) {
    let mut java = jdk.command("java");
    java.args(flags).arg("-jar").arg(launcher()).args(["execute", "--disable-ansi-colors", "--class-path", &class_path(classes)]);
    let ending: Ending = java.args(["--select-class", "Budgets"]).output().or_fail("starting JUnit").into();
    let number = |what: &str| {
        let line = ending.stdout.lines().find(|l| l.contains(&format!(" tests {what}")));
        let line = line.unwrap_or_else(|| panic!("no tests {what} in\n{}{}", ending.stdout, ending.stderr));
        line.trim_matches(['[', ']', ' ']).split(' ').next().expect("a number").parse().or_fail(line)
    };
    (["successful", "failed", "aborted"].map(number), format!("{}{}", ending.stdout, ending.stderr))
}

#[test]
#[ignore = "needs JUnit's jar from Maven Central"]
fn budgets_of_test_methods() {
    run::on_every_jdk(|bench| budgets_on(&bench.jdk));
}

fn budgets_on(jdk: &Jdk) {
    let directory = build::fresh(&format!("junit-{}", jdk.feature));
    let source = program::directory().join("junit/Budgets.java");
    let path = format!("{}:{}", launcher().display(), class_path(&directory));
    build::must(jdk.command("javac").args(["-g", "-cp", &path, "-d"]).arg(&directory).arg(source));
    let agent = build::agent_option("quiet", &directory.join("end.cprof"));
    let parallel = ["enabled=true", "mode.default=concurrent", "config.strategy=fixed", "config.fixed.parallelism=4"]
        .map(|setting| format!("-Djunit.jupiter.execution.parallel.{setting}"));
    for more in [&[][..], &parallel] {
        let flags = [&[agent.clone(), "-Dcprof.budgets=require".to_owned()], more].concat();
        let (counts, text) = outcome(jdk, &directory, &flags);
        assert_eq!(counts, [4, 4, 0], "JDK {}, {more:?}: {text}", jdk.feature);
        for message in [
            "beyond executed 283 bytecodes; its budget is at most 282",
            "cheaper executed 283 bytecodes; its budget is at least 284",
            "for its own reason",
            "no execution keeps to a budget of at least 20 and at most 10 bytecodes",
        ] {
            assert!(text.contains(message), "JDK {}, {more:?}: no {message:?} in {text}", jdk.feature);
        }
    }
    // Who runs the agent wants to know that it counts something else, and need not count JUnit.
    for (options, expected) in [("root=Nobody.nothing", [0, 8, 0]), ("root=Budgets*.*", [4, 4, 0])] {
        let (counts, text) = outcome(jdk, &directory, &[format!("{agent},{options}")]);
        assert_eq!(counts, expected, "JDK {}, {options}: {text}", jdk.feature);
        assert_eq!(text.contains("the agent did not count Budgets: see its options root, "), counts[0] == 0, "{text}");
    }
    let (counts, text) = outcome(jdk, &directory, &[format!("{agent},depth=3")]);
    assert_eq!(counts, [0, 8, 0], "JDK {}, depth=3: {text}", jdk.feature);
    assert!(text.contains("the agent could not read its counts"), "{text}");
    for (flags, expected) in [
        (vec![], [6, 2, 0]),
        (vec!["-Dcprof.budgets=skip".to_owned()], [0, 1, 7]),
        (vec!["-Dcprof.budgets=require".to_owned()], [0, 8, 0]),
    ] {
        let (counts, text) = outcome(jdk, &directory, &flags);
        assert_eq!(counts, expected, "JDK {} without the agent, {flags:?}: {text}", jdk.feature);
    }
}
