//! Attaching amid something: classes that are hidden, being defined or loaded, or not linked, when cprof comes or leaves; methods
//! that wait all the while; loaders that cannot answer.

use cprof_tests::attach::{Answer, Running};
use cprof_tests::run::{self, Bench, Report};
use cprof_tests::tree::Counts;
use cprof_tests::{OrFail, build};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

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
        assert!(
            left["not_restored"].starts_with("Unlinked$Needy: cannot be linked, and what is not linked cannot run"),
            "{left:?}"
        );
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
