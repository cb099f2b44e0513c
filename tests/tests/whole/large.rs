//! Methods that are so large that a jump does not reach its target any more when they are woven.

use cprof_tests::run::{self, Ending, Report};
use cprof_tests::{OrFail, build};
use std::fmt::Write;

/// So many that javac needs no wide jumps, and the woven method does.
const WAYS: u32 = 1400;

/// A loop around [`WAYS`] comparisons, most of them too far from its end for a jump of 16 bits once they are counted; within a
/// `try`, with a local that only it has, or a `synchronized`.
fn far(name: &str, begin: &str, end: &str) -> String {
    let mut text =
        format!("class {name} {{\n static int f(int x) {{ return x & 7; }}\n static int far(int n) {{\n  int sum = 0;\n");
    writeln!(text, "  while (n-- > 0) {{\n   String s = \"s\" + n;\n   {begin}").expect("text");
    (0..WAYS).for_each(|i| writeln!(text, "    if (n == {i}) sum += f(n + {i});").expect("text"));
    writeln!(text, "   {end}\n  }}\n  return sum;\n }}").expect("text");
    writeln!(text, " public static void main(String[] args) {{ System.out.println(far(700)); }}\n}}").expect("text");
    text
}

#[test]
fn jumps_that_do_not_reach_go_a_way_round() {
    let shapes = [
        ("Plainly", "", ""),
        (
            "Tries",
            "try {",
            "if (n == 3) throw new IllegalStateException(s);\n} catch (IllegalStateException e) { sum += s.length(); }",
        ),
        ("Locks", "synchronized (s) {", "}"),
        (
            "Both",
            "try { synchronized (s) {",
            "if (n == 3) throw new IllegalStateException(s);\n} } catch (IllegalStateException e) { sum += s.length(); }",
        ),
    ];
    run::on_jdks_in_turn(|bench, is_due| {
        let directory = build::fresh(&format!("large-{}", bench.jdk.feature));
        let sources = shapes.map(|(name, begin, end)| {
            let source = directory.join(format!("{name}.java"));
            std::fs::write(&source, far(name, begin, end)).or_fail(source.display());
            source
        });
        build::must(bench.jdk.command("javac").args(["-g", "-d"]).arg(&directory).args(sources));
        for (shape, (name, ..)) in shapes.into_iter().enumerate() {
            let java = || {
                let mut java = bench.jdk.command("java");
                java.arg("-cp").arg(&directory);
                java
            };
            let plain = Ending::from(java().arg(name).output().or_fail("starting java"));
            assert_eq!(plain.code, 0, "{name}: {}", plain.stderr);
            // Each shape with each of the options on one of the JDKs.
            let options = ["", ",sites=on,cache=4k/16+1k/4", ",bba=block"].into_iter().enumerate();
            for (_, options) in options.filter(|(o, _)| is_due(shape + o)) {
                let out = directory.join("far.cprof");
                let agent = build::agent_option(&format!("quiet,root={name}.far{options}"), &out);
                let counted = Ending::from(java().args([&agent, name]).output().or_fail("starting java"));
                assert_eq!(counted, plain, "JDK {}, {name}, {options:?}", bench.jdk.feature);
                let report = Report::read(&out);
                let mine = |what: &str| report.tree.of_method(&format!("{name}.{what}(I)I"));
                assert_eq!((mine("far").calls, mine("f").calls), (1, 700), "JDK {}, {name}, {options:?}", bench.jdk.feature);
                assert!(!report.gaps.iter().any(|(method, _)| method.starts_with(name)), "{name}: {:?}", report.gaps);
            }
        }
    });
}
