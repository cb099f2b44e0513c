//! Attaching to a running JVM: after it, every context below the request method is counted as if the agent had been there from
//! the start.

use cprof_tests::attach::{Answer, Running};
use cprof_tests::run::{self, Bench, Ending, Report};
use cprof_tests::tree::{Counts, Tree};
use cprof_tests::{OrFail, build, until};
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
        until(what, || running.status("Threads") <= threads + 4);
        assert_eq!(running.end(), (String::new(), String::new()));
    }
}

/// A method that waits all the while is left in the recording after the one in which it was entered, and makes that one's context
/// the thread's.
#[test]
fn methods_that_outlive_recordings_leave_nothing_of_them() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-outlived-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        let large = directory.join("large").display().to_string();
        let mut running = Running::start(bench.program(&["Outlived", &large]), &directory);
        for _ in 0..5 {
            running.done(&format!("out={}", out.display()));
            // The program waits for its next line in a woven method, and does not wake while cprof is away.
            assert_eq!(running.ask("a"), "97");
            assert_eq!(running.ask("b"), "98");
            running.done("command=detach");
            // Or the next recording is where the last but one was.
            std::thread::sleep(Duration::from_millis(300));
        }
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

/// A program that defines a hidden class, whose initialiser takes `patience` milliseconds, or as long as it is told; attached to,
/// and in the middle of it.
fn defining(bench: &Bench, directory: &Path, patience: u32) -> (Running, String) {
    let mut java = bench.program(&["Hides"]);
    // What is freed is no more what it was (mallopt(3)).
    java.env("MALLOC_PERTURB_", "85");
    let mut running = Running::start(java, directory);
    let attach = format!("root=Hides.requested,out={}", directory.join("round.cprof").display());
    running.done(&attach);
    assert_eq!(running.ask(&format!("define {patience}")), "begun");
    (running, attach)
}

#[test]
fn hidden_classes_of_an_earlier_attach_with_other_patterns_are_listed() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-patterns-{}", bench.jdk.feature));
        let (mut running, attach) = defining(&bench, &directory, 0);
        assert_eq!(running.ask("finish"), "finished");
        running.done("command=detach");
        let out = directory.join("round.cprof");
        let mut listed = |attach: &str| {
            running.done(attach);
            running.done("command=detach");
            Report::read(&out).gaps.into_iter().any(|(what, why)| what.starts_with("Hides$Template") && why.contains("root="))
        };
        assert!(!listed(&attach), "JDK {}: the same patterns", bench.jdk.feature);
        assert!(listed(&format!("out={}", out.display())), "JDK {}: no root any more", bench.jdk.feature);
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
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

/// Where its frame is, the code tells that it had from the beginning.
#[test]
fn a_hidden_class_of_an_earlier_attach_with_other_options_is_counted_to_the_bytecode() {
    for bench in run::benches() {
        let name = format!("JDK {}", bench.jdk.feature);
        let directory = build::fresh(&format!("attach-waiting-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        let mut running = Running::start(bench.program(&["Hides"]), &directory);
        let mut first = true;
        for options in
            ["", "sites=on,", "cache=2k/8,", "bba=block,", "exclude=Hides$*,", "include=Hides,", "sites=on,cache=2k/8,"]
        {
            running.done(&format!("{options}out={}", out.display()));
            if std::mem::take(&mut first) {
                assert_eq!(running.ask("prepare"), "prepared");
            }
            assert_eq!(running.ask("wait"), "waits");
            running.done("command=detach");
            assert_eq!(running.ask("go"), "goes on");
            // iload_1, invokestatic, invokevirtual, istore_2, invokestatic.
            let counted = Report::read(&out).tree.of_method("Hides$Waiting.applyAsInt(I)I");
            assert_eq!((counted.calls, counted.bytecodes), (1, 5), "{name}, {options}");
        }
        assert_eq!(running.end(), (String::new(), String::new()), "{name}");
    }
}

#[test]
fn a_hidden_class_that_is_being_defined_while_cprof_leaves_is_itself_later() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-defining-{}", bench.jdk.feature));
        let (mut running, attach) = defining(&bench, &directory, 300);
        let left = running.done("command=detach");
        assert!(left.contains_key("hidden_classes_left"), "{left:?}");
        assert_eq!(running.ask("finish"), "finished");
        running.done(&attach);
        assert_eq!(running.ask("1000"), "332833500");
        running.done("command=detach");
        let tree = Report::read(&directory.join("round.cprof")).tree;
        assert_eq!(tree.of_method("Hides.requested(Ljava/util/function/IntUnaryOperator;I)I").calls, 1);
        assert_eq!(tree.of_method("Hides$Template.applyAsInt(I)I").calls, 1000, "{tree:?}");
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

#[test]
fn a_hidden_class_that_nobody_can_wait_for_keeps_cprof_from_coming_back() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-undefined-{}", bench.jdk.feature));
        let (mut running, attach) = defining(&bench, &directory, 0);
        // Nor does the profile get anywhere. The tree's memory stays, but what is in it is nobody's any more.
        let left = running.command("command=detach,out=/nowhere/app.cprof");
        assert_eq!(left.get("hidden_classes_left"), None, "{left:?}");
        let way = left["error"].split_once("the recording stays in ").and_then(|(_, rest)| rest.split_once(';'));
        let (recording, way) = way.unwrap_or_else(|| panic!("{left:?}"));
        assert!(way.contains(&format!("cprof recover {recording}")), "{left:?}");
        let recovered = directory.join("recovered.cprof");
        let mut recover = Command::new(build::cprof());
        let recover = recover.args(["recover", recording, "-o"]).arg(&recovered).output().or_fail("cprof recover");
        // There was no call of the root.
        let said = String::from_utf8_lossy(&recover.stderr);
        assert!(said.contains("nothing could be recovered") && !said.contains("still records"), "{said}");
        build::must(Command::new(build::cprof()).args(["clean", recording]));
        assert!(!recovered.exists() && !Path::new(recording).exists());
        // The VM frees what no agent is to use any more.
        assert_eq!(running.ask("collect"), "collected");
        assert_eq!(running.ask("finish"), "finished");
        assert_eq!(running.ask("1000"), "332833500");
        let refused = running.command(&attach);
        assert!(refused.get("error").is_some_and(|why| why.contains("start this JVM anew")), "{refused:?}");
        assert_eq!(running.ask("1000"), "332833500");
        running.end();
    }
}

#[test]
fn a_class_that_is_being_loaded_when_cprof_comes_is_counted() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-loading-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        let mut running = Running::start(bench.program(&["Midway"]), &directory);
        assert_eq!(running.ask("load"), "loading");
        running.done(&format!("out={}", out.display()));
        assert_eq!(running.ask("finish"), "loaded");
        assert_eq!(running.ask("1000"), "1000");
        running.done("command=detach");
        assert_eq!(Report::read(&out).tree.of_method("Midway$Late.tick(I)I").calls, 1000, "JDK {}", bench.jdk.feature);
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

/// Its code goes on in what was the recording's memory, or there would be none when it is next asked to count.
#[test]
fn a_class_that_is_being_loaded_when_cprof_leaves_harms_nobody() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-left-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        let mut running = Running::start(bench.program(&["Midway"]), &directory);
        running.done(&format!("max-memory=64m,out={}", out.display()));
        assert_eq!(running.ask("load"), "loading");
        running.done("command=detach");
        assert_eq!(running.ask("finish"), "loaded");
        assert_eq!(running.ask("spin"), "spinning");
        for memory in ["64m", "2g", "1g"] {
            running.done(&format!("max-memory={memory},out={}", out.display()));
            assert_eq!(running.ask("1000"), "1000");
            running.done("command=detach");
            assert_eq!(Report::read(&out).tree.of_method("Midway$Late.tick(I)I").calls, 1000, "JDK {}", bench.jdk.feature);
        }
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

/// To give a class its code back is to link it, which needs one that is not there. None of its code runs either.
#[test]
fn a_class_that_cannot_be_linked_stays_woven_and_harms_nobody() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-unlinked-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        let attach = format!("out={}", out.display());
        let mut running = Running::start(bench.program(&["Unlinked"]), &directory);
        running.done(&attach);
        assert_eq!(running.ask("load"), "load");
        let left = running.done("command=detach");
        assert!(left["not_restored"].starts_with("Unlinked$Needy: it cannot be linked"), "{left:?}");
        assert_eq!(left.get("notice"), None, "the tree's memory is given back: {left:?}");
        assert_eq!(running.ask("complete"), "complete");
        assert_eq!(running.ask("100"), "101");
        running.done(&attach);
        assert_eq!(running.ask("1000"), "1001");
        let left = running.done("command=detach");
        assert_eq!(left.get("not_restored"), None, "{left:?}");
        let tree = Report::read(&out).tree;
        assert_eq!(tree.of_method("Unlinked$Needy.either(I)LUnlinked$Base;").calls, 1000, "JDK {}", bench.jdk.feature);
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

/// The VM links a class to retransform it; that is not the moment to weave it once more.
#[test]
fn a_class_that_was_not_linked_when_cprof_came_is_counted_once() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-not-linked-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        let attach = format!("include=Unlinked$Needy,out={}", out.display());
        let mut running = Running::start(bench.program(&["Unlinked"]), &directory);
        assert_eq!(running.ask("load"), "load");
        let answer = running.done(&attach);
        let covered = |answer: &Answer| {
            ["covered_classes", "covered_methods"].map(|key| answer[key].parse::<u32>().or_fail(format_args!("{answer:?}")))
        };
        let without = covered(&answer);
        let left = running.done("command=detach");
        assert_eq!(left.get("not_restored"), None, "it was not changed, as it cannot be linked: {left:?}");
        assert_eq!(running.ask("complete"), "complete");
        let answer = running.done(&attach);
        let with = covered(&answer);
        assert_eq!([with[0] - without[0], with[1] - without[1]], [1, 3], "JDK {}", bench.jdk.feature);
        assert_eq!(running.ask("1000"), "1001");
        running.done("command=detach");
        let tree = Report::read(&out).tree;
        let counts = ["either(I)LUnlinked$Base;", "applyAsInt(I)I"].map(|m| tree.of_method(&format!("Unlinked$Needy.{m}")).calls);
        assert_eq!(counts, [1000, 1], "JDK {}", bench.jdk.feature);
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

/// It has the code of the recording that was, and other methods have its id in the one that is.
#[test]
fn a_method_that_was_waited_for_meanwhile_counts_for_no_other() {
    for (bench, flags) in run::benches().iter().flat_map(|bench| [&[][..], &["-Xint"]].map(|flags| (bench, flags))) {
        let directory = build::fresh(&format!("attach-waits-{}", bench.jdk.feature));
        let (first, second) = (directory.join("first.cprof"), directory.join("second.cprof"));
        let mut running = Running::start(bench.program(&[flags, &["Waits"]].concat()), &directory);
        running.done(&format!("out={}", first.display()));
        assert_eq!(running.ask("hold"), "held");
        running.done("command=detach");
        running.done(&format!("include=Waits,out={}", second.display()));
        assert_eq!(running.ask("100"), "100");
        assert_eq!(running.ask("release"), "600");
        assert_eq!(running.ask("1000"), "1000");
        running.done("command=detach");
        let report = Report::read(&second);
        let at = format!("JDK {} {flags:?}", bench.jdk.feature);
        assert_eq!(report.tree.of_method("Waits.work(I)I"), Counts { calls: 1100, thrown: 0, bytecodes: 1100 * 99 }, "{at}");
        // What it does there is left out, and said; nothing else is harmed.
        assert_eq!(report.tree.of_method("Waits.step(I)I").calls, 0, "{at}");
        let harmed = report.warnings.iter().any(|warning| warning.contains("damaged") || warning.contains("no chunk"));
        let said = report.warnings.iter().any(|warning| warning.contains("not in the class log"));
        assert!(said && !harmed, "{at}: {:?}", report.warnings);
        assert_eq!(running.end(), (String::new(), String::new()), "{at}");
    }
}

/// Interpreted: then it is the loader that has no stack left, not the compiler's choice which frames there are.
#[test]
fn a_loader_that_had_no_stack_to_answer_is_asked_again() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-cramped-{}", bench.jdk.feature));
        let out = directory.join("it.cprof");
        let mut running = Running::start(bench.program(&["-Xint", "Cramped"]), &directory);
        running.done(&format!("out={}", out.display()));
        let calls: u64 = running.ask("5").parse().or_fail("its answer");
        running.done("command=detach");
        let report = Report::read(&out);
        assert_eq!(report.tree.of_method("Cramped$Later.run()V").calls, calls, "JDK {}", bench.jdk.feature);
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

#[test]
fn a_system_loader_that_holds_its_lock_is_not_asked_while_threads_stand_still() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("attach-loader-{}", bench.jdk.feature));
        let out = directory.join("round.cprof");
        // The VM warns that such a loader does without the archive.
        let mut running =
            Running::start(bench.program(&["-Xshare:off", "-Djava.system.class.loader=Slowly", "Slowly"]), &directory);
        for _ in 0..3 {
            running.done(&format!("root=Slowly.requested,out={}", out.display()));
            assert_eq!(running.ask("100"), "4950");
            running.done("command=detach");
            assert_eq!(Report::read(&out).tree.of_method("Slowly.requested(I)I").calls, 1, "JDK {}", bench.jdk.feature);
        }
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
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
