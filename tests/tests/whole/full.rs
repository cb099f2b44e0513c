//! Full file systems, each a small tmpfs that only the JVM of the test sees: the program does as it does elsewhere, the counts of
//! its methods are the same, and what happened is said.

use cprof_tests::attach::Running;
use cprof_tests::faults::{self, Fault, Orders};
use cprof_tests::run::{Bench, Ending, Report, end};
use cprof_tests::tree::Counts;
use cprof_tests::{OrFail, build, is_without, run, text};
use std::path::Path;
use std::process::Command;

/// Of the program: a little of everything, in more contexts (with the JVM's start) than an arena's first step has room for.
const METHODS: [&str; 3] = ["Plain.fib(I)I", "Plain.fails(I)I", "Plain.main([Ljava/lang/String;)V"];

/// Puts a command where a tmpfs of this size is mounted at `place`.
fn with_tmpfs(command: &Command, size: &str, place: &Path) -> Command {
    let script = r#"mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@""#;
    let mut within = Command::new("unshare");
    within.args(["--mount", "sh", "-c", script, "sh", size]).arg(place);
    run::under(within, command)
}

fn java(bench: &Bench, agent: &Path, out: &Path) -> Command {
    let mut java = bench.jdk.command("java");
    java.arg(build::library_option(agent, "", out));
    java.args(["-Xmx64m", "-cp", &bench.built.class_path, "Plain"]);
    java
}

fn counts(profile: &Path) -> (Vec<Counts>, Report) {
    let report = Report::read(profile);
    (METHODS.iter().map(|method| report.tree.of_method(method)).collect(), report)
}

/// Fails unless the program ended as it does, and says these.
fn assert_ended(bench: &Bench, ending: &Ending, says: &[&str]) {
    let context = format!("JDK {}: {ending:?}", bench.jdk.feature);
    assert_eq!((ending.code, ending.stdout.as_str()), (7, "sum 60\nsum 70\nsum 140\n"), "{context}");
    assert!(says.iter().all(|what| ending.stderr.contains(what)), "{says:?}: {context}");
}

#[test]
fn a_full_dev_shm_costs_what_can_be_recovered_and_no_count() {
    if is_without("mounts") {
        return;
    }
    const SHM: &str = "/dev/shm";
    for bench in run::benches() {
        let directory = build::fresh(&format!("full-{}", bench.jdk.feature));
        let out = directory.join("it.cprof");
        assert_ended(&bench, &end(java(&bench, &build::agent(), &out)), &["wrote"]);
        let (expected, _) = counts(&out);
        assert!(expected.iter().all(|counts| counts.calls > 0));
        let run_in = |size: &str, agent: &Path, orders: Option<&Orders>, says: &[&str]| {
            std::fs::remove_file(&out).or_fail(out.display());
            let mut java = java(&bench, agent, &out);
            if let Some(orders) = orders {
                orders.apply(&mut java);
            }
            assert_ended(&bench, &end(with_tmpfs(&java, size, Path::new(SHM))), says);
            let (found, report) = counts(&out);
            assert_eq!(found, expected, "JDK {}, {size}", bench.jdk.feature);
            report
        };
        // No room for the first step; for no other; and no memory in its place.
        run_in("4m", &build::agent(), None, &["shared memory in /dev/shm cannot be used", "counting in private memory"]);
        run_in("9m", &build::agent(), None, &["shared memory has no room for ", "kept in private memory"]);
        let orders = Orders::new(&directory, "orders");
        orders.fault(&Fault { point: "arena private".into(), kind: "error", nth: 1 });
        let folded = run_in("9m", &faults::agent(), Some(&orders), &["no more memory for calling contexts", "folded"]);
        assert!(folded.tree.of_method("Plain.fib(I)I").calls > 0);
    }
}

/// Other programs use it too, and those that have mapped files there without taking room die when there is none.
#[test]
fn what_an_arena_cannot_have_whole_is_left_to_others() {
    if is_without("mounts") {
        return;
    }
    for bench in run::benches() {
        let out = build::fresh(&format!("full-left-{}", bench.jdk.feature)).join("it.cprof");
        let mut java = bench.jdk.command("java");
        java.arg(build::agent_option("", &out));
        java.args(["-cp", &bench.built.class_path, "Bushes"]);
        let ending = end(with_tmpfs(&java, "30m", Path::new("/dev/shm")));
        let context = format!("JDK {}: {ending:?}", bench.jdk.feature);
        assert!(ending.stderr.contains("kept in private memory") && !ending.stderr.contains("class log"), "{context}");
        let left: u64 = ending.stdout.trim().parse().or_fail(&context);
        assert!(left > 10 << 20, "{context}");
        let calls = |method| Report::read(&out).tree.of_method(method).calls;
        assert_eq!((calls("Bushes.left(I)V"), calls("Bushes.right(I)V")), (65_535, 65_535), "{context}");
    }
}

#[test]
fn a_full_disk_is_named_and_the_profile_is_written_elsewhere() {
    if is_without("mounts") {
        return;
    }
    for bench in run::benches() {
        let directory = build::fresh(&format!("full-disk-{}", bench.jdk.feature));
        let place = directory.join("disk");
        std::fs::create_dir(&place).or_fail(place.display());
        let out = place.join("it.cprof");
        let mut within = with_tmpfs(&java(&bench, &build::agent(), &out), "64k", &place);
        within.current_dir(&directory);
        let ending = end(within);
        assert_ended(&bench, &ending, &[text(&out), "No space left", "instead"]);
        let (elsewhere, _) = counts(&directory.join("it.cprof"));
        assert!(elsewhere.iter().all(|counts| counts.calls > 0), "{elsewhere:?}");
    }
}

#[test]
fn what_is_in_no_file_stays_until_its_profile_is_written() {
    if is_without("mounts") {
        return;
    }
    for bench in run::benches() {
        let directory = build::fresh(&format!("full-detach-{}", bench.jdk.feature));
        let java = bench.program(&["Serve"]);
        let mut running = Running::start(with_tmpfs(&java, "4m", Path::new("/dev/shm")), &directory);
        let nowhere = directory.join("nowhere").join("it.cprof");
        running.done(&format!("root=Serve.request,out={}", nowhere.display()));
        running.ask("5 12");
        let kept = running.command("command=detach");
        let why = kept.get("error").map_or("", String::as_str);
        assert!(why.contains("nowhere") && why.contains("cprof stays attached"), "JDK {}: {kept:?}", bench.jdk.feature);
        running.ask("5 12");
        let out = directory.join("it.cprof");
        running.done(&format!("command=detach,out={}", out.display()));
        assert_eq!(Report::read(&out).tree.of_method("Serve.request(I)I").calls, 10, "JDK {}", bench.jdk.feature);
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}
