//! Recordings of JVMs that are killed, crash, or run on; damaged ones.

use cprof_tests::live::{Workers, calls, cprof, recording};
use cprof_tests::run::Bench;
use cprof_tests::{OrFail, build, run, text};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often the kill test kills; `scripts/kill` sets more.
fn kills() -> u64 {
    std::env::var("CPROF_KILLS").ok().map_or(6, |n| n.parse().or_fail("CPROF_KILLS"))
}

/// Some number below `limit`, another one in every run.
fn random(limit: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).or_fail("the time").as_nanos() as u64;
    ((now ^ now >> 17).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % limit
}

#[test]
fn whatever_the_moment_of_kill_9_the_profile_is_whole_and_up_to_date() {
    for bench in run::benches() {
        let out = build::fresh(&format!("killed-{}", bench.jdk.feature)).join("it.cprof");
        for kill in 0..kills() {
            let mut workers = Workers::start(&bench, Some("quiet"), &[], &["busy"]);
            // Every third while the JVM starts.
            if kill % 3 != 0 {
                workers = workers.started();
            }
            let moment = Duration::from_micros(random(600_000));
            std::thread::sleep(moment);
            let pid = workers.pid();
            let (_, ticks) = workers.kill();
            let context = format!("JDK {}, kill {kill}, {moment:?}, {ticks} ticks", bench.jdk.feature);
            let Some(directory) = recording(pid) else {
                assert_eq!(ticks, 0, "{context}: nothing was left");
                continue;
            };
            let recovered = cprof(&["recover", text(&directory), "-o", text(&out)]);
            if ticks == 0 && recovered.code == 1 {
                // Killed before the first record was written, or the first call counted.
                let says = |what| recovered.stderr.contains(what);
                assert!(
                    says("has no beginning") || says("holds nothing") || says("cut short") || says("nothing could be recovered"),
                    "{context}: {}",
                    recovered.stderr
                );
            } else {
                assert_eq!(recovered.code, 0, "{context}: {}", recovered.stderr);
                assert!(recovered.stderr.contains("agree with each other"), "{context}: {}", recovered.stderr);
                for loss in ["left out", "damaged", "incomplete"] {
                    assert!(!recovered.stderr.contains(loss), "{context}: {}", recovered.stderr);
                }
                let counted = calls(&out, "Workers", "tick");
                // All that was printed was counted before; and no more than the next line's.
                assert!((ticks..=ticks + 1000).contains(&counted), "{context}: counted {counted}");
            }
            let cleaned = cprof(&["clean", text(&directory)]);
            assert_eq!((cleaned.code, directory.exists()), (0, false), "{context}: {}", cleaned.stderr);
        }
    }
}

/// Also while a process lives that native code has forked, as Python's `multiprocessing` does where it embeds a JVM.
#[test]
fn a_crash_in_native_code_leaves_everything_up_to_it() {
    for bench in run::benches() {
        let out = build::fresh(&format!("crashed-{}", bench.jdk.feature)).join("it.cprof");
        let flags = ["-XX:ErrorFile=/dev/null", "-XX:-CreateCoredumpOnCrash", "--enable-native-access=ALL-UNNAMED"];
        let workers = Workers::start(&bench, Some("quiet"), &flags, &["abort"]);
        let pid = workers.pid();
        let (ending, ticks) = workers.wait();
        assert_eq!((ending.code, ticks), (-libc::SIGABRT, 21_000), "{}", ending.stderr);
        let recovered = cprof(&["recover", &pid.to_string(), "-o", text(&out)]);
        assert_eq!(recovered.code, 0, "{}", recovered.stderr);
        assert_eq!(calls(&out, "Workers", "tick"), 21_000);
        let report = cprof(&["report", text(&out)]);
        assert!(report.stdout.contains("recovered after the program was killed"), "{}", report.stdout);
        let piped = Command::new(build::cprof()).args(["recover", &pid.to_string(), "-o", "-"]).output().expect("it starts");
        assert!(piped.stdout == std::fs::read(&out).expect("the profile"), "{}", String::from_utf8_lossy(&piped.stderr));
        assert_eq!(cprof(&["clean", &pid.to_string()]).code, 0);
        assert_eq!(cprof(&["clean", &pid.to_string()]).code, 1, "nothing is left");
    }
}

#[test]
fn snapshots_go_forward_and_the_program_does_not_notice() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("snapshots-{}", bench.jdk.feature));
        let workers = Workers::start(&bench, Some("quiet"), &[], &["busy"]).started();
        let pid = workers.pid().to_string();
        let mut last = 0;
        for i in 0..4 {
            let out = directory.join(format!("{i}.cprof"));
            let before = workers.ticks();
            // Two at once.
            let (one, two) = std::thread::scope(|scope| {
                let other = scope.spawn(|| cprof(&["snapshot", &pid, "-q", "-o", text(&directory.join("other.cprof"))]));
                let one = cprof(&["snapshot", &pid, "-q", "-o", text(&out)]);
                (one, other.join().expect("it only starts a command"))
            });
            assert_eq!((one.code, two.code), (0, 0), "{}{}", one.stderr, two.stderr);
            assert_eq!(one.stderr, "", "nothing to warn of");
            let counted = calls(&out, "Workers", "tick");
            assert!(counted >= before && counted >= last, "{counted} after {last}, {before} printed");
            last = counted;
        }
        assert!(last > 0);
        let report = cprof(&["report", text(&directory.join("3.cprof"))]);
        assert!(report.stdout.contains("read while the program ran"), "{}", report.stdout);
        let refused = cprof(&["recover", &pid]);
        assert!(refused.code == 1 && refused.stderr.contains("is alive"), "{}", refused.stderr);
        let directory = recording(workers.pid()).expect("it records");
        let refused = cprof(&["clean", &pid]);
        assert!(refused.code == 1 && refused.stderr.contains("in use") && directory.exists(), "{}", refused.stderr);
        let (ending, ticks) = workers.kill();
        assert_eq!(ending.stderr, "", "the program's output is its own");
        assert!(ticks >= last.saturating_sub(1000));
        assert_eq!(cprof(&["clean", text(&directory)]).code, 0);
    }
}

#[test]
fn list_and_top_show_what_runs() {
    for bench in run::benches() {
        let workers = Workers::start(&bench, Some("quiet"), &[], &[]).started();
        let bare = Workers::start(&bench, None, &["-XX:-UsePerfData"], &[]).started();
        let (pid, bare_pid) = (workers.pid(), bare.pid());
        let list = cprof(&["list", "--format", "csv"]);
        let line = |pid: u32| list.stdout.lines().find(|l| l.starts_with(&format!("{pid},"))).unwrap_or_default().to_owned();
        assert!(line(pid).contains(&format!(",{}.", bench.jdk.feature)), "{}", list.stdout);
        assert!(line(pid).ends_with(",records,Workers"), "{}", list.stdout);
        assert!(line(bare_pid).contains(&format!(",{}.", bench.jdk.feature)), "{}", list.stdout);
        assert!(line(bare_pid).ends_with(",no,Workers"), "{}", list.stdout);
        // The JVM's start is over, or its methods would be above the program's.
        workers.go_on(100_000);
        let top = cprof(&["top", &pid.to_string(), "--every", "300ms"]);
        assert_eq!(top.code, 0, "{}", top.stderr);
        assert!(top.stdout.contains(&format!("JVM {pid}, Workers, ")) && !top.stdout.contains('\x1b'), "{}", top.stdout);
        assert!(
            top.stdout.lines().any(|l| l.ends_with("Workers.work(Random)") || l.ends_with("Workers.deep(int)")),
            "{}",
            top.stdout
        );
        let not = cprof(&["top", &bare_pid.to_string()]);
        assert!(not.code == 1 && not.stderr.contains("not being recorded"), "{}", not.stderr);
        let (_, directory) = (workers.kill(), recording(pid).expect("it was killed"));
        let stale = cprof(&["list", "--stale", "--format", "json"]);
        assert!(stale.stdout.contains(text(&directory)), "{}", stale.stdout);
        assert_eq!(cprof(&["clean", text(&directory)]).code, 0);
        let stale = cprof(&["list", "--stale", "--format", "json"]);
        assert!(!stale.stdout.contains(text(&directory)), "{}", stale.stdout);
    }
}

/// A copy of a recording, for damage.
fn copy(from: &Path, name: &str) -> std::path::PathBuf {
    let to = build::fresh(name).join(from.file_name().expect("it has a name"));
    DirBuilder::new().mode(0o700).create(&to).or_fail(to.display());
    fs::copy(from.join("classes"), to.join("classes")).or_fail("copying the class log");
    fs::write(to.join("arena"), used(from)).or_fail("copying the arena");
    to
}

/// The part of an arena that is in use: its file is as long as it may ever become.
fn used(recording: &Path) -> Vec<u8> {
    let arena = File::open(recording.join("arena")).or_fail("the arena");
    let mut top = [0; 8];
    const TOP: u64 = 96; // docs/recording.md
    arena.read_exact_at(&mut top, TOP).or_fail("the arena's header");
    let mut bytes = Vec::new();
    arena.take(u64::from_le_bytes(top)).read_to_end(&mut bytes).or_fail("reading the arena");
    bytes
}

#[test]
fn damaged_recordings_give_what_is_in_them_or_a_message() {
    let bench: Bench = run::benches().into_iter().next().expect("a JDK");
    let workers = Workers::start(&bench, Some("quiet"), &[], &[]).started();
    let pid = workers.pid();
    workers.kill();
    let original = recording(pid).expect("it was killed");
    let damaged = copy(&original, "damaged-recording");
    let out = damaged.with_file_name("it.cprof");
    let recover = |what: String| {
        let _ = fs::remove_file(&out); // it need not be there
        let ending = cprof(&["recover", text(&damaged), "-o", text(&out)]);
        assert!(matches!(ending.code, 0 | 1), "{what}: exit {}: {}", ending.code, ending.stderr);
        assert!(ending.stderr.lines().all(|line| line.starts_with("cprof: ")), "{what}: {}", ending.stderr);
        assert_eq!(ending.code == 0, out.exists(), "{what}: {}", ending.stderr);
        ending
    };
    assert_eq!(recover("whole".into()).code, 0);
    let len = fs::metadata(original.join("classes")).or_fail("the log").len();
    for eighths in (0..8).rev() {
        OpenOptions::new()
            .write(true)
            .open(damaged.join("classes"))
            .or_fail("the log")
            .set_len(len * eighths / 8)
            .or_fail("cutting");
        let ending = recover(format!("class log cut to {eighths}/8"));
        assert_eq!(ending.code == 0, eighths > 0, "{}", ending.stderr);
        assert!(eighths == 0 || ending.stderr.contains("left out"), "{eighths}: {}", ending.stderr);
    }
    fs::copy(original.join("classes"), damaged.join("classes")).or_fail("restoring the log");
    for at in [40_000_000, 34_000_000, 33_900_000, 300_000, 4096, 100, 0] {
        OpenOptions::new().write(true).open(damaged.join("arena")).or_fail("the arena").set_len(at).or_fail("cutting");
        recover(format!("arena cut to {at}"));
    }
    let whole = used(&original);
    for round in 0..20 {
        let mut bytes = whole.clone();
        for i in 0..50 {
            let at = (round * 7919 + i * 104_729 * 31) % bytes.len();
            bytes[at] ^= 0xff;
        }
        fs::write(damaged.join("arena"), &bytes).or_fail("writing the damaged arena");
        recover(format!("damaged, round {round}"));
    }
    assert_eq!(cprof(&["clean", text(&original)]).code, 0);
}
