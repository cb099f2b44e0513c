//! A snapshot is a moment of the program: whatever a thread is doing then, what is counted of it is what it has executed up to
//! there.

use cprof_tests::run::{Ending, Report};
use cprof_tests::tree::Counts;
use cprof_tests::{OrFail, build, jdk};

/// Of each method that `Caught`'s worker calls: the bytecodes of its calls, which take turns.
const METHODS: [(&str, &[u64]); 6] = [
    ("Caught.round()V", &[25]),
    ("Caught.choose(I)I", &[4, 30]),
    ("Caught.loop(I)I", &[66]),
    ("Caught.select(I)I", &[4, 6, 8]),
    ("Caught$Derived.<init>(I)V", &[6]),
    ("Caught$Base.<init>(I)V", &[8]),
];

const SNAPSHOTS: usize = 15;

/// What so many whole calls execute.
fn bytecodes(calls: u64, each: &[u64]) -> u64 {
    let turns = each.len() as u64;
    calls / turns * each.iter().sum::<u64>() + each[..(calls % turns) as usize].iter().sum::<u64>()
}

fn check(profile: &std::path::Path) {
    let tree = Report::read(profile).tree;
    let rounds = tree.of_method("Caught.round()V").calls;
    for (method, each) in METHODS {
        let Counts { calls, thrown, bytecodes: counted } = tree.of_method(method);
        assert_eq!(thrown, 0, "exceptional exits of {method} in {}", profile.display());
        if method != "Caught.round()V" {
            let a_round = each.len() as u64;
            let possible = rounds.saturating_sub(1) * a_round..=rounds * a_round;
            assert!(possible.contains(&calls), "{calls} calls of {method} in {rounds} rounds, {}", profile.display());
        }
        // The last of the calls has begun, and may have ended.
        let possible = bytecodes(calls.saturating_sub(1), each) + u64::from(calls > 0)..=bytecodes(calls, each);
        assert!(
            possible.contains(&counted),
            "{counted} bytecodes of {method}: {calls} calls have executed {possible:?}; {}",
            profile.display()
        );
    }
}

fn caught(flags: &[&str], options: &str) {
    for (worker, jdks) in [("platform", jdk::all()), ("virtual", jdk::since(21))] {
        for jdk in jdks {
            let name = format!("caught-{worker}-{}-{}{options}", jdk.feature, flags.concat());
            let directory = build::fresh(&name.replace(['=', ',', '.', '-'], "-"));
            let snapshots: Vec<_> = (0..SNAPSHOTS).map(|i| directory.join(format!("{i}.cprof"))).collect();
            let end = directory.join("end.cprof");
            let mut java = jdk.command("java");
            java.arg(build::agent_option(&format!("quiet{options}"), &end));
            java.args(flags).args(["-cp", &build::with_api(&jdk), "Caught", worker]).args(&snapshots);
            let ending: Ending = java.output().or_fail(format_args!("starting {java:?}")).into();
            let expected = format!("{SNAPSHOTS}\n");
            assert_eq!((ending.stdout.as_str(), ending.stderr.as_str(), ending.code), (expected.as_str(), "", 0), "{name}");
            snapshots.iter().chain([&end]).for_each(|profile| check(profile));
        }
    }
}

#[test]
fn interpreted_threads_are_caught_between_two_bytecodes() {
    caught(&["-Xint"], "");
}

#[test]
fn compiled_threads_are_caught_between_two_bytecodes() {
    caught(&[], ",root=Caught.work");
}

#[test]
fn threads_are_caught_between_two_bytecodes_at_call_sites() {
    caught(&["-Xint"], ",sites=on,bba=block");
}
