//! The public Java API: application code compiled against `cprof-api.jar` steers its profile under the agent, and runs as well
//! without.

use cprof_tests::jdk::{self, Jdk};
use cprof_tests::run::{self, Ending, Report};
use cprof_tests::tree::Tree;
use cprof_tests::{OrFail, build};
use std::path::Path;

/// Runs the program; `snapshot` is what it asks to write.
fn steered(jdk: &Jdk, class_path: &str, flags: &[String], snapshot: &Path) -> Ending {
    let mut java = jdk.command("java");
    java.args(flags).args(["-cp", class_path, "Steered"]).arg(snapshot);
    java.output().or_fail(format_args!("starting {java:?}")).into()
}

fn calls(tree: &Tree, method: &str) -> u64 {
    tree.of_method(&format!("Steered.{method}(I)I")).calls
}

#[test]
fn without_the_agent_the_api_does_nothing() {
    for jdk in jdk::all() {
        let directory = build::fresh(&format!("api-without-{}", jdk.feature));
        let snapshot = directory.join("snapshot.cprof");
        let ending = steered(&jdk, &build::with_api(&jdk), &[], &snapshot);
        assert_eq!((ending.stdout.as_str(), ending.stderr.as_str(), ending.code), ("100 false\n", "", 0));
        assert!(!snapshot.exists());
    }
}

#[test]
fn under_the_agent_a_program_pauses_resumes_and_takes_snapshots() {
    for jdk in jdk::all() {
        let directory = build::fresh(&format!("api-with-{}", jdk.feature));
        let (snapshot, out) = (directory.join("snapshot.cprof"), directory.join("end.cprof"));
        let agent = build::agent_option("quiet", &out);
        let ending = steered(&jdk, &build::with_api(&jdk), &[agent], &snapshot);
        assert_eq!((ending.stdout.as_str(), ending.stderr.as_str(), ending.code), ("100 true\n", "", 0));
        for (profile, late) in [(&snapshot, 0), (&out, 40)] {
            let tree = Report::read(profile).tree;
            assert_eq!(calls(&tree, "counted"), 40, "{}", profile.display());
            assert_eq!(calls(&tree, "leftOut"), 0, "{}", profile.display());
            assert_eq!(calls(&tree, "late"), late, "{}", profile.display());
            assert_eq!(calls(&tree, "step"), 40 + late, "{}", profile.display());
        }
    }
}

/// Its threads run on for a moment when the JVM has died, and get nothing from it any more.
#[test]
fn a_program_that_ends_while_it_pauses_and_resumes_is_told_nothing() {
    for jdk in jdk::all() {
        let directory = build::fresh(&format!("api-restless-{}", jdk.feature));
        for time in 0..5 {
            let out = directory.join(format!("{time}.cprof"));
            let mut java = jdk.command("java");
            java.arg(build::agent_option("quiet", &out));
            java.args(["-cp", &build::with_api(&jdk), "Restless"]);
            let ending = Ending::from(java.output().or_fail(format_args!("starting {java:?}")));
            assert_eq!((ending.stderr.as_str(), ending.code), ("", 0), "JDK {}", jdk.feature);
            assert_eq!(Report::read(&out).tree.of_method("Restless.main([Ljava/lang/String;)V").calls, 1);
        }
    }
}

#[test]
fn whatever_is_asked_in_a_pause_and_however_many_there_were_they_are_left_out() {
    for jdk in jdk::all() {
        let directory = build::fresh(&format!("api-often-{}", jdk.feature));
        let (snapshot, out) = (directory.join("snapshot.cprof"), directory.join("end.cprof"));
        let mut java = jdk.command("java");
        java.arg(build::agent_option("quiet", &out));
        java.args(["-cp", &build::with_api(&jdk), "Often"]).arg(&snapshot);
        // Five bytecodes a call; three calls, and four behind each pause.
        let lines: String = (0..5).map(|round| format!("{} true\n", 5 * (3 + 7 * round))).collect();
        assert_eq!(build::must(&mut java), format!("{lines}{}\n", 5 * 35), "JDK {}", jdk.feature);
        for (profile, calls) in [(&snapshot, 31), (&out, 35)] {
            assert_eq!(Report::read(profile).tree.of_method("Often.work()V").calls, calls, "JDK {}", jdk.feature);
        }
    }
}

/// What the thread's frames are below one without a context is found from the thread's own.
#[test]
fn a_thread_that_asks_below_a_redefined_method_is_counted_to_the_bytecode() {
    for jdk in jdk::all() {
        let directory = build::fresh(&format!("api-redefined-{}", jdk.feature));
        let (snapshot, out) = (directory.join("snapshot.cprof"), directory.join("end.cprof"));
        let agents =
            [build::agent_option("quiet", &out), format!("-javaagent:{}", build::agent_jar(&jdk, "Redefined").display())];
        let mut java = jdk.command("java");
        java.args(agents).args(["-cp", &build::with_api(&jdk), "Redefined"]).arg(&snapshot);
        assert_eq!(build::must(&mut java), "main is as it was\n", "JDK {}", jdk.feature);
        // `sum++` and its kin are four bytecodes, a call with its argument two, one without one; the snapshot's answer is popped.
        for (profile, outer, inner) in [(&snapshot, 4 + 2, 4 + 2), (&out, 4 + 2 + 4 + 1, 4 + 2 + 1 + 4 + 1 + 4 + 1)] {
            let tree = Report::read(profile).tree;
            let counted =
                ["outer", "inner"].map(|name| tree.of_method(&format!("Redefined$Calls.{name}(Ljava/lang/String;)V")).bytecodes);
            assert_eq!(counted, [outer, inner], "JDK {}, {}", jdk.feature, profile.display());
        }
    }
}

#[test]
fn threads_may_ask_at_the_same_time() {
    for jdk in jdk::all() {
        let out = build::fresh(&format!("api-concurrent-{}", jdk.feature)).join("end.cprof");
        let mut java = jdk.command("java");
        java.arg(build::agent_option("quiet", &out));
        // Four bytecodes a call.
        assert_eq!(build::must(java.args(["-cp", &build::with_api(&jdk), "Concurrent"])), format!("{}\n", 4 * 6 * 20));
    }
}

/// Where the VM has no continuations, virtual threads are threads of another class, and stop and are found in another way.
#[test]
fn virtual_threads_ask_and_are_counted_to_the_bytecode_with_and_without_continuations() {
    for jdk in jdk::since(21) {
        for continuations in ["-XX:+VMContinuations", "-XX:-VMContinuations"] {
            let directory = build::fresh(&format!("api-bound-{}", jdk.feature));
            let (snapshot, out) = (directory.join("snapshot.cprof"), directory.join("end.cprof"));
            let mut java = jdk.command("java");
            java.args(["-XX:+UnlockExperimentalVMOptions", continuations]);
            java.arg(build::agent_option("quiet", &out));
            java.args(["-cp", &build::with_api(&jdk), "Bound"]).arg(&snapshot);
            // A thread that stops itself never goes on.
            let ending = run::end_within("300", &java);
            let what = format!("JDK {}, {continuations}", jdk.feature);
            assert_eq!((ending.stdout.as_str(), ending.stderr.as_str(), ending.code), ("true\n", "", 7), "{what}");
            // aload_0, invokevirtual; then goto over the handler, invokestatic, return.
            for (profile, bytecodes) in [(&snapshot, 2 * 20), (&out, 5 * 20)] {
                let waits = Report::read(profile).tree.of_method("Bound.await(Ljava/util/concurrent/CountDownLatch;)V");
                assert_eq!((waits.calls, waits.bytecodes), (20, bytecodes), "{what}, {}", profile.display());
            }
        }
    }
}

/// Virtual threads are not looked for in the heap: HotSpot may collect garbage for such a walk (escapeBarrier.cpp), with all threads
/// stopped, one of them in the critical region that the collection waits for (gcLocker.cpp).
#[test]
fn snapshots_are_taken_of_virtual_threads_while_a_collection_has_to_wait() {
    for jdk in jdk::since(21) {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC"] {
            let directory = build::fresh(&format!("api-critical-{}", jdk.feature));
            let (snapshot, out) = (directory.join("snapshot.cprof"), directory.join("end.cprof"));
            let mut java = jdk.command("java");
            java.args([collector, "-Xmn4m"]);
            java.arg(build::agent_option("quiet", &out));
            java.args(["-cp", &build::with_api(&jdk), "Critical"]).arg(&snapshot);
            let ending = run::end_within("300", &java);
            let what = format!("JDK {}, {collector}", jdk.feature);
            assert_eq!((ending.stdout, ending.stderr.as_str(), ending.code), ("true\n".repeat(10), "", 0), "{what}");
            // aload_0, invokevirtual; then goto over the handler, return.
            for (profile, bytecodes) in [(&snapshot, 2 * 3000), (&out, 4 * 3000)] {
                let report = Report::read(profile);
                let waits = report.tree.of_method("Critical.await(Ljava/util/concurrent/CountDownLatch;)V");
                assert_eq!((waits.calls, waits.bytecodes), (3000, bytecodes), "{what}, {}", profile.display());
            }
        }
    }
}

#[test]
fn a_snapshot_that_cannot_be_written_is_answered_false_and_explained() {
    for jdk in jdk::all() {
        let directory = build::fresh(&format!("api-unwritable-{}", jdk.feature));
        let agent = build::agent_option("quiet", &directory.join("end.cprof"));
        for (out, why) in
            [(directory.join("nowhere/snapshot.cprof"), "nowhere"), ("-".into(), "standard output, which is the program's")]
        {
            let ending = steered(&jdk, &build::with_api(&jdk), std::slice::from_ref(&agent), &out);
            assert_eq!((ending.stdout.as_str(), ending.code), ("100 false\n", 0), "{}", ending.stderr);
            assert!(ending.stderr.contains("no snapshot") && ending.stderr.contains(why), "{}", ending.stderr);
        }
    }
}
