//! However a program ends, its profile is written; and only a wrong option keeps it from starting.

use cprof_tests::run::{Bench, Ending, Report, end};
use cprof_tests::tree::Counts;
use cprof_tests::{OrFail, build, run};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn java(bench: &Bench, options: &str, main: &str) -> Command {
    let mut java = bench.jdk.command("java");
    java.arg(build::agent_with(options));
    java.args(["-cp", &bench.built.class_path, main]);
    java
}

/// `Spins` runs until a signal comes, with 1000 calls counted and one frame active.
fn signalled(signal: i32) {
    for bench in run::benches() {
        let directory = build::fresh(&format!("signal-{signal}-{}", bench.jdk.feature));
        let out = directory.join("spins.cprof");
        let java = java(&bench, &format!("quiet,root=Spins.measured,out={}", out.display()), "Spins");
        let mut child =
            run::heeding_signals(&java).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().or_fail("starting java");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).or_fail("reading what Spins prints");
        assert_eq!(line, "ready\n");
        cprof_tests::signal(child.id(), signal);
        let ending = Ending::from(child.wait_with_output().or_fail("waiting for java"));
        assert_eq!(ending.code, 128 + signal, "JDK {}: {}", bench.jdk.feature, ending.stderr);
        assert_only_the_profile(&directory, &out);
        let tree = Report::read(&out).tree;
        assert_eq!(tree.of_method("Spins.step(I)I"), Counts { calls: 1000, thrown: 0, bytecodes: 4000 });
        assert_eq!(tree.of_method("Spins.measured()I").calls, 1);
        assert_eq!(tree.of_method("Spins.measured()I").thrown, 0);
    }
}

/// As some who start commands have it: nobody could wait for the JVM then.
#[test]
fn the_jvms_end_is_met_where_that_of_children_is_ignored() {
    let bench = run::benches().pop().expect("a JDK");
    let out = build::fresh("ignored-children").join("it.cprof");
    let mut run = Command::new(build::cprof());
    run.args(["run", "-o"]).arg(&out).arg("--").arg(bench.jdk.command("java").get_program());
    run.args(["-cp", &bench.built.class_path, "Plain"]);
    let mut ignoring = Command::new("env");
    ignoring.arg("--ignore-signal=CHLD");
    let ending = end(run::under(ignoring, &run));
    assert!(ending.code == 7 && ending.stderr.contains("more with"), "{ending:?}");
}

/// As shells start jobs in the background: HotSpot heeds SIGQUIT all the same. And a link is written behind, not replaced.
#[test]
fn a_job_in_the_background_dumps_its_threads_and_keeps_the_link_to_its_profile() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("background-{}", bench.jdk.feature));
        let (latest, out) = (directory.join("latest.cprof"), directory.join("first.cprof"));
        std::os::unix::fs::symlink("first.cprof", &latest).or_fail(latest.display());
        let mut shell = Command::new("sh");
        let ignoring = "trap '' INT QUIT; exec \"$@\"";
        shell.args(["-c", ignoring, "sh"]).arg(build::cprof()).args(["run", "--quiet", "--root", "Spins.measured", "-o"]);
        shell.arg(&latest).arg("--").arg(bench.jdk.command("java").get_program()).args(["-cp", &bench.built.class_path, "Spins"]);
        shell.env("CPROF_AGENT", build::agent());
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().or_fail("starting cprof run");
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut until = |wanted: &str| {
            let mut line = String::new();
            while !line.contains(wanted) {
                line.clear();
                assert_ne!(said.read_line(&mut line).or_fail("reading what Spins prints"), 0, "no {wanted:?}");
            }
        };
        until("ready");
        cprof_tests::signal(child.id(), libc::SIGQUIT);
        until("Full thread dump");
        until("JNI global ref");
        cprof_tests::signal(child.id(), libc::SIGTERM);
        let ending = Ending::from(child.wait_with_output().or_fail("waiting for cprof run"));
        assert_eq!(ending.code, 128 + libc::SIGTERM, "JDK {}: {}", bench.jdk.feature, ending.stderr);
        assert!(latest.is_symlink() && !out.is_symlink());
        assert_eq!(Report::read(&out).tree.of_method("Spins.step(I)I").calls, 1000);
    }
}

/// Nothing half-written lies beside the profile.
fn assert_only_the_profile(directory: &Path, out: &Path) {
    let files: Vec<_> = std::fs::read_dir(directory).or_fail(directory.display()).flatten().map(|e| e.path()).collect();
    assert_eq!(files, [out]);
}

/// What a program prints that was started without two standard streams goes nowhere, and so not into the files that took their
/// places.
#[test]
fn closed_standard_streams_take_no_files() {
    for bench in run::benches() {
        for closed in ["<&- >&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"] {
            let directory = build::fresh(&format!("closed-{}", bench.jdk.feature));
            let out = directory.join("plain.cprof");
            let java = java(&bench, &format!("out={}", out.display()), "Plain");
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec \"$@\" {closed}"), "sh"]);
            let ending = end(run::under(shell, &java));
            assert_eq!(ending.code, 7, "JDK {}, {closed}: {ending:?}", bench.jdk.feature);
            assert_only_the_profile(&directory, &out);
            assert_eq!(Report::read(&out).tree.of_method("Plain.fails(I)I").calls, 30, "JDK {}, {closed}", bench.jdk.feature);
        }
    }
}

#[test]
fn sigterm_writes_the_profile() {
    signalled(libc::SIGTERM);
}

#[test]
fn sigint_writes_the_profile() {
    signalled(libc::SIGINT);
}

#[test]
fn sighup_writes_the_profile() {
    signalled(libc::SIGHUP);
}

#[test]
fn exit_halt_and_uncaught_exceptions_write_the_profile() {
    for bench in run::benches() {
        for (main, code) in [("ExitDeep", 3), ("HaltDeep", 4), ("Uncaught", 1), ("Straight", 0)] {
            let directory = build::fresh(&format!("ends-{main}-{}", bench.jdk.feature));
            let out = directory.join("it.cprof");
            let ending = end(java(&bench, &format!("out={}", out.display()), main));
            assert_eq!(ending.code, code, "{main}: {}", ending.stderr);
            assert!(ending.stderr.contains("cprof report"), "{main} tells how to see the profile: {}", ending.stderr);
            assert_only_the_profile(&directory, &out);
            assert!(Report::read(&out).tree.of_method(&format!("{main}.main([Ljava/lang/String;)V")).calls == 1, "{main}");
        }
    }
}

#[test]
fn a_class_that_is_being_initialised_does_not_hold_up_the_end() {
    for bench in run::benches() {
        let out = build::fresh(&format!("initialises-{}", bench.jdk.feature)).join("it.cprof");
        let ending = end(java(&bench, &format!("quiet,out={}", out.display()), "InitialisesAtExit"));
        assert_eq!((ending.code, ending.stdout.as_str()), (0, "main ends\n"), "{}", ending.stderr);
        assert_eq!(Report::read(&out).tree.of_method("InitialisesAtExit$Worker.run()V").calls, 1);
    }
}

#[test]
fn wrong_options_are_named_and_the_jvm_does_not_start() {
    const WRONG: &[(&str, &str)] = &[
        ("nonsense", "nonsense"),
        ("out", "out"),
        ("out=", "out"),
        ("quiet=yes", "quiet"),
        ("sites=maybe", "sites"),
        ("bba=exact", "bba"),
        ("depth=-1", "depth"),
        ("depth=many", "depth"),
        ("recursion=none", "recursion"),
        ("max-memory=12q", "max-memory"),
        ("max-nodes=x", "max-nodes"),
        ("root=NoMethod", "root"),
        ("out=a,out=b", "out"),
        ("depth=3,recursion=fold,depth=4", "depth"),
    ];
    for bench in run::benches() {
        for (options, named) in WRONG {
            let ending = end(java(&bench, options, "Straight"));
            assert_ne!(ending.code, 0, "{options}: {}", ending.stdout);
            assert!(!ending.stdout.contains("Straight"), "{options}: the program ran");
            let message = ending.stderr.lines().find(|l| l.contains("cprof")).unwrap_or_default();
            assert!(message.contains(named), "{options}: the message names it: {}", ending.stderr);
        }
    }
}

#[test]
fn two_copies_of_the_agent_are_one_too_many() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("copies-{}", bench.jdk.feature));
        let copy = directory.join("libcprof.so");
        std::fs::copy(build::agent(), &copy).or_fail("copying the agent");
        let out = directory.join("a.cprof");
        let mut java = java(&bench, &format!("out={}", out.display()), "Straight");
        java.env("JAVA_TOOL_OPTIONS", build::library_option(&copy, "", &out));
        let ending = end(java);
        assert_ne!(ending.code, 0, "{}", ending.stdout);
        assert!(!ending.stdout.contains("Straight"), "the program ran");
        assert!(ending.stderr.contains(&format!("another copy of it, {}, is in this JVM", copy.display())), "{}", ending.stderr);
    }
}

#[test]
fn output_that_cannot_be_written_is_reported_and_the_program_runs() {
    for bench in run::benches() {
        for out in ["/nowhere/at/all/it.cprof", "/proc/it.cprof"] {
            let ending = end(java(&bench, &format!("out={out}"), "Straight"));
            assert_eq!(ending.stdout, "Straight 449985000\n", "{out}: {}", ending.stderr);
            assert_eq!(ending.code, 0, "{out}: {}", ending.stderr);
            assert!(ending.stderr.contains(out), "the message names {out}: {}", ending.stderr);
        }
    }
}

#[test]
fn without_out_the_file_is_in_the_working_directory_and_named_after_the_process() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("default-{}", bench.jdk.feature));
        let mut java = java(&bench, "", "Straight");
        let child = java.current_dir(&directory).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().or_fail("starting java");
        let out = directory.join(format!("cprof-{}.cprof", child.id()));
        let ending = Ending::from(child.wait_with_output().or_fail("waiting for java"));
        assert_eq!((ending.code, ending.stdout.as_str()), (0, "Straight 449985000\n"), "{}", ending.stderr);
        assert_eq!(ending.stderr.lines().count(), 1, "one line at the end: {}", ending.stderr);
        assert_only_the_profile(&directory, &out);
    }
}

#[test]
fn threads_that_attach_have_their_names() {
    for bench in run::benches() {
        let out = build::directory().join(format!("names-{}.cprof", bench.jdk.feature));
        assert_eq!(end(java(&bench, &format!("quiet,out={}", out.display()), "Straight")).code, 0);
        let mut report = Command::new(build::cprof());
        let table = build::must(report.arg("report").arg(&out).args(["--threads", "--format", "csv"]));
        assert!(table.contains("\nDestroyJavaVM,"), "JDK {}: {table}", bench.jdk.feature);
        assert!(!table.contains("unnamed"), "JDK {}: {table}", bench.jdk.feature);
    }
}

/// Threads that are caught amid cprof's code run on until they are out of it, and may load a class on the way.
#[test]
fn classes_that_are_loaded_while_the_profile_is_taken_are_in_it() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("defines-{}", bench.jdk.feature));
        let out = directory.join("defines.cprof");
        for _ in 0..5 {
            let agent = build::agent_option("quiet", &out);
            let ending = end(bench.program(&["-Xint", &agent, "Defines"]));
            assert_eq!(ending.code, 7, "JDK {}: {}", bench.jdk.feature, ending.stderr);
            let report = Report::read(&out);
            assert!(!report.warnings.iter().any(|warning| warning.contains("left out")), "{:?}", report.warnings);
        }
    }
}
