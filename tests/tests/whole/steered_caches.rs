//! A program that pauses counting and takes snapshots, while method caches are simulated: what ran in a pause changes the caches,
//! but neither its misses nor its cycles are in the profile, and a snapshot has those up to it.

use cprof_tests::caches::CACHES;
use cprof_tests::evaluated::{Recording, difference};
use cprof_tests::processor::{Timing, simulate};
use cprof_tests::run::Bench;
use cprof_tests::trace::Trace;
use cprof_tests::{build, run};
use std::collections::BTreeMap;

const SIPUSH: u8 = 17;
const RETURN: u8 = 177;
const PUTSTATIC: u8 = 179;
const INVOKESTATIC: u8 = 184;
const MEASURED: &str = "Phases.measured()V";

/// What the profile has at the snapshot and at the end, and what ran in all.
fn expected(bench: &Bench, class_path: &str) -> [Trace; 3] {
    let mut end = Trace::record(bench, class_path, "Phases", MEASURED.trim_end_matches("()V"));
    for method in ["pause()V", "resume()V", "snapshot(Ljava/lang/String;)Z"] {
        // Under cprof it calls the agent, which is no part of a profile.
        end.cut(&format!("cprof.CProf.{method}"));
    }
    let [pause, resume, snapshot, pause_again, resume_again] =
        ["pause", "resume", "snapshot", "pauseAgain", "resumeAgain"].map(|method| {
            let name = format!("Phases.{method}()V");
            let entered = end.events.iter().position(|e| end.contexts[e.context].name == name);
            // The first thing it does is to call the API.
            entered.unwrap_or_else(|| panic!("{name} did not run")) + 1
        });
    let whole = end.clone();
    let mut early = end.clone();
    for trace in [&mut early, &mut end] {
        trace.leave_out(pause..resume);
        // What both do in the pause, and the argument of what runs in it.
        trace.forget("Phases.pause()V", &[RETURN]);
        trace.forget("Phases.resume()V", &[INVOKESTATIC]);
        trace.forget(MEASURED, &[SIPUSH, INVOKESTATIC, INVOKESTATIC]);
    }
    early.leave_out(snapshot..early.events.len());
    early.forget("Phases.snapshot()V", &[PUTSTATIC, RETURN]);
    early.forget(MEASURED, &[SIPUSH, SIPUSH, INVOKESTATIC, INVOKESTATIC, INVOKESTATIC, INVOKESTATIC, RETURN]);
    end.leave_out(pause_again..resume_again);
    end.forget("Phases.pauseAgain()V", &[RETURN]);
    end.forget("Phases.resumeAgain()V", &[INVOKESTATIC]);
    end.forget(MEASURED, &[SIPUSH, INVOKESTATIC, INVOKESTATIC]);
    [early, end, whole]
}

#[test]
fn pauses_are_left_out_and_snapshots_end_where_they_are_taken() {
    run::on_every_jdk(|bench| {
        let directory = build::fresh(&format!("steered-caches-{}", bench.jdk.feature));
        let class_path = build::with_api(&bench.jdk);
        let traces = expected(bench, &class_path);
        let timing = Timing::read(1, 2);
        let mut simulated = BTreeMap::new();
        for caches in [&["4k/16"][..], &["512/4"], &CACHES, &["lru:512/4", "1k/4"]] {
            let files = ["snapshot.cprof", "end.cprof"].map(|name| Recording { file: directory.join(name) });
            let mut java = bench.java(&[]);
            java.arg(format!("-Dsnapshot={}", files[0].file.display()));
            let options = format!("cache={},root=Phases.measured,quiet", caches.join("+"));
            java.arg(build::agent_option(&options, &files[1].file)).args(["-cp", &class_path, "Phases"]);
            assert!(build::must(&mut java).ends_with(" true\n"), "no snapshot");
            for cache in caches {
                let all = || traces.each_ref().map(|trace| simulate(trace, &timing, cache).without_zeros());
                let expected = simulated.entry(*cache).or_insert_with(all);
                for (expected, recording) in expected.iter().zip(&files) {
                    let found = recording.on(&["--target", "jop", "--cache", cache]).without_zeros();
                    let what = recording.file.file_name();
                    assert_eq!(difference(expected, &found), None, "{what:?} on {}, {cache} of {caches:?}", bench.jdk.feature);
                }
                let [early, end, whole] = expected.each_ref().map(|run| run.sums.misses);
                assert!(
                    *cache == "16k/64" || early + 1000 < end && end + 1000 < whole,
                    "{cache}: {early}, {end}, {whole} misses"
                );
            }
        }
    });
}
