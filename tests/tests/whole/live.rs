//! Recordings of JVMs that are killed, crash, or run on; and what `cprof` says about JVMs it cannot attach to.

use cprof_tests::attach::{socket, trigger};
use cprof_tests::live::{Workers, calls, command, cprof, recording};
use cprof_tests::run::{Bench, Ending};
use cprof_tests::{OrFail, build, run, signal, text, until};
use serde_json::Value;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Calls of `tick` after an attach: some of them at least are in the profile, though what is printed is read a little later.
const TICKS: u64 = 20_000;

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

/// The command has a library of its own beside it, which knows nothing of what another copy counts.
#[test]
fn a_jvm_is_told_by_the_copy_of_the_agent_that_it_has() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("copies-{}", bench.jdk.feature));
        let (copy, out) = (directory.join("libcprof.so"), directory.join("it.cprof"));
        fs::copy(build::agent(), &copy).or_fail(copy.display());
        let workers = Workers::start(&bench, None, &[], &[]).started();
        let pid = workers.pid().to_string();
        let attached = cprof(&["attach", &pid, "--agent", text(&copy), "-o", text(&directory.join("end.cprof"))]);
        assert_eq!(attached.code, 0, "JDK {}: {}", bench.jdk.feature, attached.stderr);
        for command in [&["snapshot", &pid, "--exact"][..], &["detach", &pid], &["attach", &pid, "--for", "200ms"]] {
            let _ = fs::remove_file(&out); // the first time it is not there
            let ending = cprof(&[command, &["-o", text(&out)]].concat());
            assert_eq!(ending.code, 0, "JDK {}, {command:?}: {}", bench.jdk.feature, ending.stderr);
            assert!(calls(&out, "Workers", "tick") > 0, "{command:?}");
        }
    }
}

#[test]
fn of_two_who_attach_at_once_one_does() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("two-attach-{}", bench.jdk.feature));
        let workers = Workers::start(&bench, None, &[], &["busy"]).started();
        let pid = workers.pid().to_string();
        let out = [0, 1].map(|i| directory.join(format!("{i}.cprof")));
        let (first, second) = (out[0].as_path(), out[1].as_path());
        let endings = std::thread::scope(|scope| {
            let other = scope.spawn(|| cprof(&["attach", &pid, "-o", text(second)]));
            [cprof(&["attach", &pid, "-o", text(first)]), other.join().expect("it only starts a command")]
        });
        let refused = endings.iter().find(|ending| ending.code != 0).expect("not both");
        assert!(refused.code == 1 && refused.stderr.contains("already, with options"), "{endings:?}");
        assert!(endings.iter().any(|ending| ending.code == 0), "{endings:?}");
        workers.go_on(TICKS);
        // And of two who detach.
        let endings = std::thread::scope(|scope| {
            let other = scope.spawn(|| cprof(&["detach", &pid]));
            [cprof(&["detach", &pid]), other.join().expect("it only starts a command")]
        });
        assert_eq!(endings.iter().filter(|ending| ending.code == 0).count(), 1, "{endings:?}");
        assert_eq!(out.iter().filter(|out| out.exists()).count(), 1);
        assert!(out.iter().filter(|out| out.exists()).all(|out| calls(out, "Workers", "tick") > 0));
        drop(workers);
    }
}

/// Interrupted while the JVM does not answer, and once more before that could be met: then cprof has not left either.
#[test]
fn an_interrupted_detach_hands_its_profile_over() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("interrupted-{}", bench.jdk.feature));
        let (attached, out) = (directory.join("attached.cprof"), directory.join("detached.cprof"));
        let workers = Workers::start(&bench, None, &[], &[]).started();
        let pid = workers.pid();
        let ending = cprof(&["attach", &pid.to_string(), "-o", text(&attached)]);
        assert_eq!(ending.code, 0, "{ending:?}");
        workers.go_on(TICKS);
        let finished = (1..=10).find_map(|attempt| {
            stop(pid);
            let mut detach = run::heeding_signals(&command(&["detach", &pid.to_string(), "-o", text(&out)]));
            let detaching = detach.stderr(Stdio::piped()).spawn().or_fail("starting cprof detach");
            std::thread::sleep(Duration::from_millis(100 * attempt));
            signal(detaching.id(), libc::SIGINT);
            signal(pid, libc::SIGCONT);
            let ending = Ending::from(detaching.wait_with_output().or_fail("waiting for cprof detach"));
            // Otherwise the interrupt came too early to be met.
            (ending.code == 0).then_some(ending)
        });
        let ending = finished.expect("one of them meets its interrupt");
        assert!(ending.stderr.contains("detached from JVM") && ending.stderr.contains("interrupted: waiting"), "{ending:?}");
        assert!(calls(&out, "Workers", "tick") > 0 && !attached.exists());
    }
}

#[test]
fn a_detach_that_is_interrupted_twice_says_where_its_profile_will_be() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("interrupted-twice-{}", bench.jdk.feature));
        let workers = Workers::start(&bench, None, &[], &[]).started();
        let pid = workers.pid();
        let said = (1..=20).any(|attempt| {
            // It may be attached still.
            let _ = cprof(&["attach", &pid.to_string(), "-o", text(&directory.join("attached.cprof"))]);
            workers.go_on(TICKS);
            let mut detach =
                run::heeding_signals(&command(&["detach", &pid.to_string(), "-o", text(&directory.join("it.cprof"))]));
            let detaching = detach.stderr(Stdio::piped()).spawn().or_fail("starting cprof detach");
            std::thread::sleep(Duration::from_millis(15 * attempt));
            stop(pid);
            for _ in 0..2 {
                std::thread::sleep(Duration::from_millis(100));
                signal(detaching.id(), libc::SIGTERM);
            }
            let Ending { code, stderr: said, .. } = detaching.wait_with_output().or_fail("waiting for cprof detach").into();
            signal(pid, libc::SIGCONT);
            let place = said.split_once("that will be in ").and_then(|(_, rest)| rest.split_once(", as the JVM sees"));
            // Otherwise it was done already, or the JVM was stopped too early.
            let Some(place) = place.map(|(place, _)| Path::new(place)) else { return false };
            assert_eq!(code, 128 + libc::SIGTERM, "{said}");
            let written = (0..20).any(|_| {
                std::thread::sleep(Duration::from_millis(100));
                place.exists()
            });
            assert!(if written { calls(place, "Workers", "tick") > 0 } else { recording(pid).is_some() }, "{said}");
            fs::remove_dir_all(place.parent().expect("a directory")).or_fail(place.display());
            written
        });
        assert!(said, "none of them was asking");
        workers.kill();
    }
}

#[test]
fn interrupts_end_an_attach_to_a_jvm_that_does_not_answer() {
    let times: [&[&str]; 2] = [&[], &["--for", "1m"]];
    for (bench, time) in run::benches().iter().flat_map(|bench| times.map(|time| (bench, time))) {
        let workers = Workers::start(bench, None, &[], &[]).started();
        stop(workers.pid());
        let mut attach = run::heeding_signals(&command(&[&["attach", &workers.pid().to_string()], time].concat()));
        let mut attaching = attach.stderr(Stdio::piped()).spawn().or_fail("starting cprof attach");
        // Long before it gives up by itself.
        let ended = (0..50).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            signal(attaching.id(), libc::SIGINT);
            attaching.try_wait().or_fail("asking for cprof attach").is_some()
        });
        signal(workers.pid(), libc::SIGCONT);
        let _ = attaching.kill(); // it should be gone
        assert!(ended, "JDK {} {time:?}", bench.jdk.feature);
        // Interrupted, cprof leaves it, as it does for any JVM that has the signal still to come.
        let left = trigger(workers.pid());
        let (ending, ticks) = workers.kill();
        let _ = fs::remove_file(left); // it may have been interrupted before it made it
        assert!(ticks > 0 && ending.stderr.lines().all(|line| line.starts_with("WARNING: ")), "{ending:?}");
    }
}

/// Stops a process, and waits until all its threads stand still: one that does not yet may take a later signal first.
fn stop(pid: u32) {
    signal(pid, libc::SIGSTOP);
    let stands = |task: fs::DirEntry| {
        // A thread that has ended stands still.
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        status.lines().find_map(|line| line.strip_prefix("State:")).is_none_or(|state| state.trim().starts_with('T'))
    };
    until(format_args!("process {pid} to stop"), || {
        fs::read_dir(format!("/proc/{pid}/task")).or_fail("reading its threads").flatten().all(stands)
    });
}

/// Whether a signal to a process that is stopped is still to come.
fn is_pending(pid: u32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).or_fail("reading its status");
    let signals = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).expect("signals of all its threads");
    u64::from_str_radix(signals.trim(), 16).or_fail(signals) >> (signal - 1) & 1 == 1
}

#[test]
fn a_target_that_ends_while_it_is_attached_to_is_said_to_have_ended() {
    for bench in run::benches() {
        let workers = Workers::start(&bench, None, &[], &[]).started();
        let pid = workers.pid();
        // It does not answer, so that the command waits, and when it does the JVM is gone.
        stop(pid);
        let ending = std::thread::scope(|scope| {
            let attaching = scope.spawn(|| cprof(&["attach", &pid.to_string()]));
            until("cprof to wake it", || is_pending(pid, libc::SIGQUIT));
            assert!(trigger(pid).exists());
            workers.kill();
            attaching.join().expect("it only starts a command")
        });
        assert!(ending.code == 1 && ending.stderr.contains("ended before it answered"), "{ending:?}");
        assert!(!trigger(pid).exists());
    }
}

#[test]
fn a_jvm_that_ends_while_it_is_attached_to_spares_an_older_profile() {
    const OLDER: &str = "an older profile";
    run::on_every_jdk(|bench| {
        let out = build::fresh(&format!("spared-{}", bench.jdk.feature)).join("it.cprof");
        // Coming takes a second or so: it ends before, in the midst of that, and after.
        for wait in [50, 200, 400, 700, 1500] {
            std::fs::write(&out, OLDER).or_fail(out.display());
            let workers = Workers::start(bench, None, &[], &[]).started();
            let pid = workers.pid();
            let ending = std::thread::scope(|scope| {
                let attaching = scope.spawn(|| cprof(&["attach", &pid.to_string(), "-o", text(&out)]));
                std::thread::sleep(Duration::from_millis(wait));
                signal(pid, libc::SIGTERM);
                let _ = workers.wait(); // by the signal
                attaching.join().expect("it only starts a command")
            });
            if std::fs::read(&out).or_fail(out.display()) == OLDER.as_bytes() {
                assert_ne!(
                    ending.code, 0,
                    "JDK {}, {wait} ms: it was attached to, and wrote nothing: {ending:?}",
                    bench.jdk.feature
                );
                assert_eq!(recording(pid), None, "JDK {}, {wait} ms: {ending:?}", bench.jdk.feature);
            } else {
                let report = cprof(&["report", text(&out), "--format", "json"]);
                let totals = serde_json::from_str::<Value>(&report.stdout).or_fail(&report.stderr)["totals"].clone();
                assert!(totals["bytecodes"].as_u64() > Some(0), "JDK {}, {wait} ms: {ending:?} {totals}", bench.jdk.feature);
            }
        }
    });
}

/// An `attach --for` waits for a JVM that is stopped when the time is up: nobody else would end what it counts.
#[test]
fn a_jvm_that_is_stopped_when_the_time_is_up_is_waited_for() {
    run::on_every_jdk(|bench| {
        let directory = build::fresh(&format!("timed-stopped-{}", bench.jdk.feature));
        let out = directory.join("it.cprof");
        let workers = Workers::start(bench, None, &[], &["busy"]).started();
        let pid = workers.pid().to_string();
        let mut attach = run::heeding_signals(&command(&["attach", &pid, "--for", "1h", "-o", text(&out)]));
        let attaching = attach.stderr(Stdio::piped()).spawn().or_fail("starting cprof attach");
        until("a recording to be read", || recording(workers.pid()).is_some() && cprof(&["snapshot", &pid, "-o", "-"]).code == 0);
        stop(workers.pid());
        // Its time is up.
        signal(attaching.id(), libc::SIGINT);
        std::thread::sleep(Duration::from_secs(4));
        signal(workers.pid(), libc::SIGCONT);
        let ending = Ending::from(attaching.wait_with_output().or_fail("waiting for cprof attach"));
        assert!(ending.code == 0 && ending.stderr.contains("detached; the JVM stood still"), "{ending:?}");
        assert!(calls(&out, "Workers", "tick") > 0 && recording(workers.pid()).is_none());
    });
}

/// An `attach --for` whose recording somebody ended leaves the next one alone.
#[test]
fn the_time_of_one_attach_does_not_end_another() {
    run::on_every_jdk(|bench| {
        let directory = build::fresh(&format!("timed-{}", bench.jdk.feature));
        let out = ["timed", "detached", "next"].map(|name| directory.join(name).with_extension("cprof"));
        let [timed, detached, next] = out.each_ref().map(|path| text(path));
        let workers = Workers::start(bench, None, &[], &["busy"]).started();
        let pid = workers.pid().to_string();
        let mut timing = run::heeding_signals(&command(&["attach", &pid, "--for", "1h", "-o", timed]));
        let timing = timing.stderr(Stdio::piped()).spawn().or_fail("starting cprof attach");
        until("a recording", || recording(workers.pid()).is_some());
        // It waits for its turn where the first has not quite come.
        assert_eq!(cprof(&["detach", &pid, "-o", detached]).code, 0);
        let attached = cprof(&["attach", &pid, "-o", next]);
        assert_eq!(attached.code, 0, "{attached:?}");
        // Its time is up.
        signal(timing.id(), libc::SIGINT);
        let ending = Ending::from(timing.wait_with_output().or_fail("waiting for cprof attach"));
        assert!(ending.code == 1 && ending.stderr.contains("another attach's"), "{ending:?}");
        assert!(!out[0].exists());
        // Weaving comes first: counts are of the time since then, whoever reads them.
        let came = recording(workers.pid()).and_then(|path| path.to_str()?.rsplit('-').next()?.parse::<u64>().ok());
        let snapshot = directory.join("snapshot.cprof");
        assert_eq!(cprof(&["snapshot", &pid, "-o", text(&snapshot)]).code, 0);
        let left = cprof(&["detach", &pid]);
        assert!(left.code == 0 && left.stderr.contains("; the JVM stood still for "), "{left:?}");
        let [since, since_too] = [&snapshot, &out[2]].map(|profile| {
            let report = cprof(&["report", text(profile), "--format", "json"]);
            serde_json::from_str::<Value>(&report.stdout).or_fail(&report.stderr)["run"]["started_ms"].as_u64()
        });
        assert!(since == since_too && since > came && came.is_some(), "{came:?} {since:?} {since_too:?}");
    });
}

/// Nobody reads the agent's answers any more: the program's standard error is all that is left.
#[test]
fn an_attached_jvm_says_at_its_end_where_it_wrote_instead() {
    run::on_every_jdk(|bench| {
        let directory = build::fresh(&format!("elsewhere-{}", bench.jdk.feature));
        let gone = directory.join("gone");
        std::fs::create_dir(&gone).or_fail(gone.display());
        let out = gone.join(format!("elsewhere-{}-{}.cprof", bench.jdk.feature, std::process::id()));
        let workers = Workers::start(bench, None, &[], &[]).started();
        let attached = cprof(&["attach", &workers.pid().to_string(), "-o", text(&out)]);
        assert_eq!(attached.code, 0, "{attached:?}");
        std::fs::remove_dir(&gone).or_fail(gone.display());
        signal(workers.pid(), libc::SIGTERM);
        let (ending, _) = workers.wait();
        let said = ending.stderr.lines().find(|line| line.contains("cannot write")).unwrap_or_default();
        let written = said.split("it was written to ").nth(1).and_then(|rest| rest.strip_suffix(" instead")).unwrap_or_default();
        assert!(calls(Path::new(written), "Workers", "tick") > 0, "{ending:?}");
        std::fs::remove_file(written).or_fail(written);
    });
}

#[test]
fn a_jvm_that_was_stopped_prints_nothing_when_it_goes_on() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("stopped-{}", bench.jdk.feature));
        let workers = Workers::start(&bench, None, &["-XX:+DisplayVMOutputToStderr"], &[]).started();
        let pid = workers.pid();
        let out = directory.join("it.cprof");
        let attach = || cprof(&["attach", &pid.to_string(), "-o", text(&out)]);
        stop(pid);
        let silent = attach();
        assert!(silent.code == 1 && silent.stderr.contains("did not answer within"), "{silent:?}");
        // The signal is still to come.
        let trigger = trigger(pid);
        assert!(trigger.exists());
        signal(pid, libc::SIGCONT);
        until("it to listen", || socket(pid).exists());
        let attached = attach();
        assert_eq!((attached.code, trigger.exists()), (0, false), "{attached:?}");
        // What cannot be written is refused before anything is done.
        for command in [&["detach"][..], &["snapshot", "--exact"]] {
            let refused = cprof(&[command, &[&pid.to_string(), "-o", "/nowhere/x.cprof"]].concat());
            assert!(refused.code == 1 && refused.stderr.contains("/nowhere is no directory"), "{refused:?}");
        }
        assert_eq!(cprof(&["detach", &pid.to_string()]).code, 0);
        // It listens now, whatever it does.
        stop(pid);
        let stopped = attach();
        assert!(stopped.code == 1 && stopped.stderr.contains("is stopped"), "{stopped:?}");
        signal(pid, libc::SIGCONT);
        assert_eq!((attach().code, cprof(&["detach", &pid.to_string()]).code), (0, 0));
        let (ending, _) = workers.kill();
        assert!(!ending.stderr.contains("Full thread dump"), "{}", ending.stderr);
    }
}

/// The JVM has another working directory, and a model of that name in it.
#[test]
fn a_model_is_looked_for_where_the_command_is() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("model-here-{}", bench.jdk.feature));
        let model = |iadd| {
            let head = "base = \"jop\"\ntitle = \"mine\"\naccuracy = \"coarse\"\n[sources]\nm = \"measured\"\n";
            format!("{head}[bytecodes]\nsource = \"m\"\niadd = {iadd}\n")
        };
        let workers = Workers::start(&bench, None, &[], &[]).started();
        let (here, pid) = (directory.join("here"), workers.pid().to_string());
        let theirs = fs::read_link(format!("/proc/{pid}/cwd")).or_fail("the JVM's working directory");
        fs::create_dir_all(&here).or_fail("a directory");
        let name = format!("model-{}.toml", build::unique());
        for (place, iadd) in [(&here, 7), (&theirs, 9)] {
            fs::write(place.join(&name), model(iadd)).or_fail("a model");
        }
        let mut attach = Command::new(build::cprof());
        attach.current_dir(&here).args(["attach", &pid, "--for", "100ms", "--target", &format!("./{name}"), "-o", "it.cprof"]);
        build::must(&mut attach);
        fs::remove_file(theirs.join(&name)).or_fail("removing the other model");
        let run = cprof_profile::file::read(&here.join("it.cprof")).or_fail("the profile").run;
        assert_eq!((run.target, &*run.model[0].text), (here.join(&name).display().to_string(), &*model(7)));
        workers.kill();
    }
}

#[test]
fn what_cannot_be_attached_to_is_named_with_the_way_out() {
    let refused = |pid: u32, more: &[&str], says: &str| {
        let ending = cprof(&[&["attach", &pid.to_string()], more].concat());
        assert!(ending.code == 1 && ending.stderr.contains(says), "{says}: exit {}: {}", ending.code, ending.stderr);
    };
    refused(1 << 23, &[], "there is no process");
    refused(std::process::id(), &[], "is not a HotSpot JVM");
    for bench in run::benches() {
        let workers = Workers::start(&bench, None, &["-XX:+DisableAttachMechanism"], &[]).started();
        refused(workers.pid(), &[], "-XX:+DisableAttachMechanism");
        let (ending, _) = workers.kill();
        assert_eq!(ending.stderr, "", "it was left in peace");
        let workers = Workers::start(&bench, None, &["-XX:-UsePerfData", "-XX:+DisableAttachMechanism"], &[]).started();
        refused(workers.pid(), &[], "-XX:+DisableAttachMechanism");
        drop(workers);
        let workers = Workers::start(&bench, None, &["-XX:-EnableDynamicAgentLoading"], &[]).started();
        refused(workers.pid(), &["--agent", "/nowhere/libcprof.so"], "sees no file /nowhere/libcprof.so");
        refused(workers.pid(), &["--agent", "nowhere.so"], &std::path::absolute("nowhere.so").expect("a path").to_string_lossy());
        refused(workers.pid(), &["--include", &"x".repeat(2000)], "too long");
        refused(workers.pid(), &[], "-XX:+EnableDynamicAgentLoading");
        let (ending, _) = workers.kill();
        assert!(!ending.stderr.contains("Full thread dump"), "{}", ending.stderr);
    }
}

#[test]
fn a_jvm_without_metaspace_for_woven_classes_is_left_alone() {
    for bench in run::benches() {
        let workers = Workers::start(&bench, None, &["-XX:MaxMetaspaceSize=14m"], &[]).started();
        let pid = workers.pid().to_string();
        let refused = cprof(&["attach", &pid, "--for", "200ms"]);
        let says = ["has 1", "of metaspace left", "-XX:MaxMetaspaceSize=14.0 MB", "--include"];
        assert!(refused.code == 1 && says.iter().all(|part| refused.stderr.contains(part)), "{}", refused.stderr);
        let out = build::fresh(&format!("metaspace-{}", bench.jdk.feature)).join("it.cprof");
        let some = cprof(&["attach", &pid, "--for", "1s", "--include", "Workers*", "-o", text(&out)]);
        assert_eq!(some.code, 0, "JDK {}: {}", bench.jdk.feature, some.stderr);
        assert!(calls(&out, "Workers", "tick") > 0);
        let (ending, _) = workers.kill();
        assert!(!ending.stderr.contains("OutOfMemoryError"), "{}", ending.stderr);
    }
}
