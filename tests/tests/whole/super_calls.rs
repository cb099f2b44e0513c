//! Contexts after a constructor has failed inside `super(...)` or `this(...)`, where woven code has no handler, when the
//! exception is caught by code that is not woven.

use cprof_tests::run::{Ending, Report};
use cprof_tests::{OrFail, build, run};
use std::process::Command;

const EXCLUDED: &str = "SuperFails$Catches";

#[test]
fn calls_of_code_that_is_not_woven_stay_below_its_caller() {
    const WAYS: [(&[&str], &str); 4] =
        [(&["-Xint"], ""), (&[], ",sites=on,bba=block"), (&[], ",cache=2k/8+4k/16"), (&[], ",root=SuperFails.measured")];
    run::on_every_jdk(|bench| {
        let directory = build::fresh(&format!("super-calls-{}", bench.jdk.feature));
        for (flags, options) in WAYS {
            let counted = |more: &str| {
                let out = directory.join("out.cprof");
                let mut java = bench.java(flags);
                java.arg(build::agent_option(&format!("quiet{options}{more}"), &out));
                java.args(["-cp", &bench.built.class_path, "SuperFails"]);
                let ending: Ending = java.output().or_fail(format_args!("starting {java:?}")).into();
                assert_eq!((ending.stderr.as_str(), ending.code), ("", 0), "{options}{more}");
                Report::read(&out).tree
            };
            let roots = ["SuperFails.measured".to_owned()];
            let expected = counted("").below(&roots, |method| method.starts_with(EXCLUDED));
            let found = counted(&format!(",exclude={EXCLUDED}")).below(&roots, |_| false);
            let difference = found.difference("excluded", &expected, "seen through");
            assert_eq!(difference, None, "{flags:?} {options} on {}", bench.jdk.feature);
        }
    });
}

/// Where nodes are not below their callers' there is nothing to be found, and the search ends all the same.
#[test]
fn constructors_fail_outside_of_the_roots_and_where_there_is_no_room() {
    run::on_every_jdk(|bench| {
        for options in [",root=SuperFails.after", ",max-nodes=50", ",root=SuperFails$Base.<init>"] {
            let out = build::fresh(&format!("super-outside-{}", bench.jdk.feature)).join("it.cprof");
            let mut java = bench.program(&[]);
            java.arg(build::agent_option(&format!("quiet{options}"), &out)).arg("SuperFails");
            let mut patient = Command::new("timeout");
            patient.arg("120");
            let ending = run::end(run::under(patient, &java));
            assert_eq!((ending.stderr.as_str(), ending.code), ("", 0), "{options} on {}", bench.jdk.feature);
            assert!(!Report::read(&out).tree.is_empty(), "{options} on {}", bench.jdk.feature);
        }
    });
}
