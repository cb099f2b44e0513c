//! `cprof attach` and `cprof detach`: several at once, interrupted, on JVMs that stand still or end meanwhile; and what they say
//! about JVMs that cannot be attached to.

use cprof_tests::attach::{socket, trigger};
use cprof_tests::live::{Workers, calls, command, cprof, recording};
use cprof_tests::run::Ending;
use cprof_tests::{OrFail, build, run, signal, text, until};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Calls of `tick` after an attach: some of them at least are in the profile, though what is printed is read a little later.
const TICKS: u64 = 20_000;

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
