//! Attaching to a running JVM: after it, every context below the request method is counted as if the agent had been there from
//! the start.

use cprof_tests::attach::Running;
use cprof_tests::run::{self, Bench, Ending, Report};
use cprof_tests::tree::Tree;
use cprof_tests::{build, within};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const ROOT: &str = "root=Serve.request";
const REQUESTS: &str = "25 12";

fn java(bench: &Bench, agent: Option<&str>, how: &str) -> Command {
    let mut java = bench.jdk.command("java");
    if let Some(options) = agent {
        java.arg(build::agent_with(options));
    }
    java.args(["-Xmx128m", "-cp", &bench.built.class_path, "Serve"]);
    if !how.is_empty() {
        java.arg(how);
    }
    java
}

/// What these requests cost when the JVM was started with the agent.
fn launched(bench: &Bench, directory: &Path, how: &str) -> Tree {
    let out = directory.join("launched.cprof");
    let mut running = Running::start(java(bench, Some(&format!("{ROOT},quiet,out={}", out.display())), how), directory);
    running.ask(REQUESTS);
    assert_eq!(running.end(), (String::new(), String::new()));
    Report::read(&out).tree
}

/// Attaches, has the requests served, detaches, and compares.
fn round(running: &mut Running, out: &Path, expected: &Tree) {
    let answer = running.done(&format!("{ROOT},out={}", out.display()));
    assert!(answer["covered_classes"].parse::<u32>().is_ok_and(|n| n > 200), "{answer:?}");
    running.ask(REQUESTS);
    running.done("command=detach");
    let tree = Report::read(out).tree;
    assert!(!tree.is_empty());
    assert_eq!(tree.difference("attached", expected, "launched"), None);
}

fn equal_to_launched(how: &str, oldest: u32) {
    for bench in run::benches_since(oldest) {
        let directory = build::fresh(&format!("attach-{how}-{}", bench.jdk.feature));
        let expected = launched(&bench, &directory, how);
        let mut running = Running::start(java(&bench, None, how), &directory);
        running.ask("2000 12");
        for i in 0..3 {
            round(&mut running, &directory.join(format!("attached-{i}.cprof")), &expected);
            // With the original code in between, compiled anew.
            running.ask("2000 12");
        }
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

#[test]
fn requests_count_as_at_launch() {
    equal_to_launched("", 17);
}

#[test]
fn requests_in_threads_that_end_count_as_at_launch() {
    equal_to_launched("threads", 17);
}

#[test]
fn requests_in_virtual_threads_count_as_at_launch() {
    equal_to_launched("virtual", 21);
}

#[test]
fn snapshots_are_taken_while_it_counts() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-snapshot-{}", bench.jdk.feature));
        let mut running = Running::start(java(&bench, None, ""), &directory);
        assert_eq!(running.command("command=status")["state"], "detached");
        let (now, end) = (directory.join("now.cprof"), directory.join("end.cprof"));
        running.done(&format!("{ROOT},out={}", end.display()));
        assert_eq!(running.command("command=status")["state"], "attached");
        running.ask("10 12");
        running.done(&format!("command=snapshot,out={}", now.display()));
        running.ask("5 12");
        // The JVM ends with the agent in it.
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
        let calls = |file: &Path| Report::read(file).tree.of_method("Serve.request(I)I").calls;
        assert_eq!((calls(&now), calls(&end)), (10, 15));
    }
}

#[test]
fn what_cannot_be_done_is_said_in_the_reply_alone() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-errors-{}", bench.jdk.feature));
        let mut running = Running::start(java(&bench, None, ""), &directory);
        let mut error = |text: &str| running.command(text).remove("error").unwrap_or_else(|| panic!("{text} was done"));
        assert!(error("command=detach").contains("not attached"));
        assert!(error("command=fly").contains("detach, snapshot and status"));
        assert!(error("colour=red").contains("colour"));
        running.done(&format!("out={}", directory.join("a.cprof").display()));
        let twice = running.command("sites=on");
        assert!(twice["error"].contains("already") && twice["error"].contains("detach"), "{twice:?}");
        let nowhere = running.command("command=detach,out=/nonexistent/a.cprof");
        assert!(nowhere["error"].contains("/nonexistent/a.cprof") && nowhere["error"].contains("cprof recover"), "{nowhere:?}");
        let recording = nowhere["error"].rsplit(' ').next().expect("a path").to_owned();
        assert_eq!(running.command("command=status")["state"], "detached");
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
        std::fs::remove_dir_all(&recording).expect("the recording was left");
    }
}

/// HotSpot unloads the agent then; what it had defined in the JVM by that time stays.
#[test]
fn after_a_failed_attempt_another_succeeds() {
    for bench in run::benches_before(24) {
        let directory = build::fresh(&format!("attach-guarded-{}", bench.jdk.feature));
        let mut java = bench.jdk.command("java");
        java.args(["-Xmx128m", "-Djava.security.manager=allow", "-cp", &bench.built.class_path, "Guarded"]);
        let mut running = Running::start(java, &directory);
        let out = directory.join("it.cprof");
        let attach = format!("root=Guarded.request,out={}", out.display());
        for _ in 0..2 {
            let refused = running.command(&attach);
            assert!(refused["error"].contains("it must be able to load libcprof.so once more"), "{refused:?}");
        }
        assert_eq!(running.ask("3"), "3");
        running.done(&attach);
        assert_eq!(running.ask("4"), "4");
        running.done("command=detach");
        assert_eq!(Report::read(&out).tree.of_method("Guarded.request(I)I").calls, 4);
        let (stdout, stderr) = running.end();
        assert_eq!(stdout, "");
        assert!(stderr.lines().all(|line| line.starts_with("WARNING: ")), "the JVM's, of security managers: {stderr}");
    }
}

/// As in a run-time image of few modules: HotSpot says on standard output that it lacks JFR when an event is retransformed.
#[test]
fn a_jvm_without_a_flight_recorder_prints_nothing_of_it() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-few-modules-{}", bench.jdk.feature));
        let how = if bench.jdk.feature >= 21 { "virtual" } else { "threads" };
        let mut running = Running::start(bench.program(&["--limit-modules", "java.base", "Serve", how]), &directory);
        running.ask("3 12");
        let out = directory.join("it.cprof");
        for _ in 0..2 {
            running.done(&format!("{ROOT},out={}", out.display()));
            running.ask("5 12");
            running.done("command=detach");
            running.ask("5 12");
            assert_eq!(Report::read(&out).tree.of_method("Serve.request(I)I").calls, 5, "JDK {}", bench.jdk.feature);
        }
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

/// Memory that every round takes and none gives back would be many times as much after twenty. The JVM's own compilers and what
/// they make settle in the first few.
#[test]
fn rounds_do_not_add_up() {
    const ROUNDS: u64 = 20;
    const EARLY: u64 = 5;
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-rounds-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        // All of the heap is there from the start.
        let java = bench.program(&["-Xms128m", "-XX:+AlwaysPreTouch", "Serve", "threads"]);
        let mut running = Running::start(java, &directory);
        let mut early = None;
        for round in 1..=ROUNDS {
            running.done(&format!("{ROOT},out={}", out.display()));
            running.ask("50 12");
            running.done("command=detach");
            running.ask("50 12");
            if round == EARLY {
                early = Some((running.status("VmRSS"), running.files(), running.status("Threads")));
            }
        }
        let (memory, files, threads) = early.expect("there was such a round");
        let (grown, rounds) = (running.status("VmRSS").saturating_sub(memory), ROUNDS - EARLY);
        println!("JDK {}: {memory} kB after {EARLY} rounds, {grown} kB more after {rounds} more", bench.jdk.feature);
        assert!(grown < rounds * 3000, "JDK {}: {memory} kB, and {grown} kB more after {rounds} rounds", bench.jdk.feature);
        assert!(running.files() <= files + 2, "{} files, {files} after {EARLY} rounds", running.files());
        // The last requests' own may not be gone yet, and the VM's compiler has more where there is more to do.
        let what = format!("threads of JDK {} to end, of which there were {threads}", bench.jdk.feature);
        within(Duration::from_secs(60), what, || {
            let now = running.status("Threads");
            if now <= threads + 4 { Ok(()) } else { Err(format!("there are {now}")) }
        });
        assert_eq!(running.end(), (String::new(), String::new()));
    }
}

/// Hidden classes that were there before, methods that the interpreter has code of its own for, events without a recorder.
#[test]
fn what_the_user_left_out_is_no_gap() {
    for bench in run::benches() {
        let name = format!("JDK {}", bench.jdk.feature);
        let directory = build::fresh(&format!("attach-left-out-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        let mut running = Running::start(bench.program(&["Hides"]), &directory);
        // The JDK's own lambdas are hidden classes, and cprof has never seen these.
        assert_eq!(running.ask("prepare"), "prepared");
        for (options, complete) in [("include=Hides*,", false), ("include=Hides,", true), ("", false)] {
            let answer = running.done(&format!("{options}out={}", out.display()));
            assert_eq!(
                (answer["classes_not_covered"] == "0", answer["methods_not_covered"] == "0"),
                (complete, !options.is_empty()),
                "{name}, {options}: {answer:?}"
            );
            running.done("command=detach");
            let gaps = Report::read(&out).gaps;
            assert_eq!(gaps.is_empty(), complete, "{name}, {options}: {gaps:?}");
        }
        assert_eq!(running.end(), (String::new(), String::new()), "{name}");
        for (options, complete) in [("include=Serve,", true), ("include=Serve,include=Serv,", true), ("", false)] {
            let agent = format!("{options}quiet,out={}", out.display());
            let running = Running::start(java(&bench, Some(&agent), ""), &directory);
            assert_eq!(running.end(), (String::new(), String::new()), "{name}");
            let Report { gaps, warnings, .. } = Report::read(&out);
            assert_eq!(gaps.is_empty(), complete, "{name} from its start, {options}: {gaps:?}");
            let fits_none =
                warnings.iter().any(|warning| warning.starts_with("include=Serv fits no class: it takes whole names"));
            assert_eq!(fits_none, options.contains("Serv,"), "{name}, {options}: {warnings:?}");
        }
        for (option, is_left_out) in [("exclude", true), ("include", false)] {
            let agent = format!("root=Serve.request,{option}=Serve,quiet,out={}", out.display());
            let running = Running::start(java(&bench, Some(&agent), ""), &directory);
            assert_eq!(running.end(), (String::new(), String::new()), "{name}");
            let warnings = Report::read(&out).warnings;
            let told = warnings.iter().any(|w| w.starts_with("no calls of root=Serve.request are counted"));
            assert_eq!(told, is_left_out, "{name}, {option}: {warnings:?}");
        }
    }
}

#[test]
fn what_the_user_left_out_is_seen_and_not_touched() {
    for bench in run::benches() {
        let name = format!("JDK {}", bench.jdk.feature);
        let directory = build::fresh(&format!("attach-untouched-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        let mut running = Running::start(bench.program(&["LeftOut"]), &directory);
        let mut lambda = running.ask("lambda");
        for (options, untouched) in [("include=LeftOut$Counted,", true), ("", false), ("include=LeftOut$Counted,", true)] {
            running.done(&format!("{options}out={}", out.display()));
            let linked = running.ask("lambda");
            assert_eq!(linked == lambda, untouched, "{name}, {options}");
            assert_eq!(running.ask("100"), "measured");
            running.done("command=detach");
            // Changing it back links it once more.
            lambda = running.ask("lambda");
            let mut report = Command::new(build::cprof());
            report.arg("report").arg(&out).args(["--root", "LeftOut$Counted.measured", "--format", "json"]);
            let report: serde_json::Value = serde_json::from_str(&build::must(&mut report)).expect("JSON");
            let natives = report["methods"].as_array().expect("rows").iter().filter(|row| row["native"] == true);
            let mut natives: Vec<_> =
                natives.map(|row| (row["method"].as_str().expect("a name"), row["calls"].as_u64().expect("a number"))).collect();
            natives.sort_unstable();
            // Those that `Own.mix` calls are counted with it.
            let hashes = if untouched { 100 } else { 200 };
            assert_eq!(natives, [("getClass", 100), ("identityHashCode", hashes)], "{name}, {options}");
        }
        assert_eq!(running.end(), (String::new(), String::new()), "{name}");
    }
}

/// Runs `Commands`, whose answers are in the directory.
fn commands(bench: &Bench, what: &str) -> (Ending, PathBuf) {
    let directory = build::fresh(&format!("commands-{what}-{}", bench.jdk.feature));
    let mut java = bench.jdk.command("java");
    java.args(["-cp", &build::with_api(&bench.jdk), "Commands", what]).args([&build::agent(), &directory]);
    (run::end(java), directory)
}

/// HotSpot's attach listener is one thread, but its management hands commands over on any.
#[test]
fn of_two_that_attach_at_once_one_does() {
    for bench in run::benches() {
        for round in 0..3 {
            let (ending, directory) = commands(&bench, "two");
            let what = format!("JDK {}, round {round}: {ending:?}", bench.jdk.feature);
            assert_eq!((ending.code, ending.stdout.as_str()), (0, "704982704\n"), "{what}");
            let replies = ["two-0", "two-1", "detach"].map(|name| {
                std::fs::read_to_string(directory.join(name).with_extension("reply"))
                    .unwrap_or_else(|e| panic!("{name}: {e}; {what}"))
            });
            let refused = replies.iter().position(|reply| reply.contains("error: cprof is attached to this JVM already"));
            let refused = refused.unwrap_or_else(|| panic!("{replies:?}, {what}"));
            assert_eq!(replies.iter().filter(|reply| reply.contains("error: ")).count(), 1, "{replies:?}, {what}");
            let profile = Report::read(&directory.join(format!("two-{}.cprof", 1 - refused)));
            assert_eq!(profile.tree.of_method("Commands.step(I)I").calls, 100_000, "{what}");
        }
    }
}

#[test]
fn what_an_attached_jvm_could_not_do_is_in_its_last_profile() {
    for bench in run::benches() {
        let (ending, directory) = commands(&bench, "told");
        assert_eq!((ending.code, ending.stdout.as_str()), (0, "false\n"), "JDK {}: {ending:?}", bench.jdk.feature);
        let warnings = Report::read(&directory.join("told.cprof")).warnings;
        let told =
            warnings.iter().filter(|warning| warning.starts_with("no snapshot: ") && warning.contains("/nonexistent")).count();
        assert_eq!(told, 1, "JDK {}: {warnings:?}", bench.jdk.feature);
    }
}

#[test]
fn frames_of_virtual_threads_that_were_active_before_are_told() {
    for bench in run::benches_since(21) {
        let directory = build::fresh(&format!("parked-{}", bench.jdk.feature));
        let out = directory.join("parked.cprof");
        let mut running = Running::start(bench.program(&["Parked"]), &directory);
        let attached = running.command(&format!("include=Parked*,out={}", out.display()));
        assert!(attached["active_frames"].parse::<u32>().is_ok_and(|n| n >= 20), "{attached:?}");
        assert_eq!(running.ask("go on"), "done");
        running.done("command=detach");
        let warnings = Report::read(&out).warnings;
        let told = warnings.iter().any(|w| w.contains("frames were active when cprof came") && w.contains("Parked.parked"));
        assert!(told, "JDK {}: {warnings:?}", bench.jdk.feature);
        running.end();
    }
}
