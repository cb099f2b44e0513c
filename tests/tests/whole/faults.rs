//! Panics, errors and lack of memory at every point of the agent, one at a time: the program ends as it does without cprof, and
//! the fault is told.

use cprof_tests::attach::Running;
use cprof_tests::faults::{self, Fault, Orders};
use cprof_tests::run::{Bench, Ending, Report, end};
use cprof_tests::{OrFail, build, live, run};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Faults until a round without any shows whether all is well.
const BETWEEN: usize = 3;
/// JVMs at a time.
const WORKERS: usize = 2;
/// What is passed with these classes alone need not have all others woven, again and again.
const SOME: &str = ",include=Serve*,include=java.util.*,include=java.lang.invoke.*";
/// Quick to start.
const FLAGS: [&str; 2] = ["-XX:TieredStopAtLevel=1", "-Xmx64m"];

/// A class is ready to run. In a JVM that has linked all its classes in rounds before, the first one comes while the agent
/// leaves: the profile is written, and nothing is lost any more.
const PREPARE: &str = "class prepare";

/// The recording has ended, and its memory is given up: the last that the agent does, which may need no more memory.
const GIVEN_UP: &str = "arena private";

/// A class is woven ahead of the VM.
const AHEAD: &str = "weave ahead";

/// Whether it need not be told: it costs nothing that a profile could lack.
fn is_harmless(fault: &Fault) -> bool {
    match &*fault.point {
        // Some memory of the VM's stays taken.
        "JVMTI Deallocate" => true,
        // It is copied instead.
        "class log mmap" => fault.kind == "error",
        // References stay a little longer.
        "JNI PushLocalFrame" => fault.kind == "error",
        _ => false,
    }
}

/// Whether something that is said names this fault.
fn names(fault: &Fault, text: &str) -> bool {
    match fault.kind {
        "panic" => text.contains(&format!("fault ordered at {}", fault.point)),
        "memory" => text.contains("no memory"),
        _ => text.contains(&fault.point) || text.contains("os error 12") || text.contains("cannot be"),
    }
}

/// Shows at once what was wrong: all of it is shown again at the end, and that takes a while.
fn tell(what: String) -> String {
    println!("{what}");
    what
}

/// What a profile says beside its counts, if there is one.
fn said_by(profile: &Path) -> Vec<String> {
    if !profile.exists() {
        return Vec::new();
    }
    let report = Report::read(profile);
    report.gaps.into_iter().map(|(what, why)| format!("{what}: {why}")).chain(report.warnings).collect()
}

fn plain(bench: &Bench) -> Command {
    let mut java = bench.jdk.command("java");
    java.args(FLAGS).args(["-cp", &bench.built.class_path]);
    java
}

/// Runs the program under cprof.
fn launch(bench: &Bench, orders: &Orders, out: &Path) -> Ending {
    let _ = std::fs::remove_file(out); // it need not be there
    let mut java = plain(bench);
    orders.apply(&mut java);
    java.arg(build::library_option(&faults::agent(), "root=Plain.main", out));
    java.arg("Plain");
    end(java)
}

fn launched(bench: &Bench, jdk: usize, jdks: usize) -> Vec<String> {
    let directory = build::fresh(&format!("faults-launch-{}", bench.jdk.feature));
    let expected = {
        let mut java = plain(bench);
        java.arg("Plain");
        end(java)
    };
    assert_eq!((expected.code, expected.stderr.as_str()), (7, ""));
    let (orders, out) = (Orders::new(&directory, "list"), directory.join("list.cprof"));
    orders.list();
    launch(bench, &orders, &out);
    let usual: BTreeSet<String> = said_by(&out).into_iter().collect();
    let listed = orders.listed();
    // Or what is in it would be woven by the VM's thread, unnoticed.
    let can_be_ahead = bench.jdk.feature <= 25 && std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    assert!(!can_be_ahead || listed.iter().any(|f| f.point == AHEAD), "the JDK's image cannot be read: {listed:?}");
    let faults = faults::share(listed, jdk, jdks);
    assert!(faults.len() > 30, "{faults:?}");
    let one = |worker: usize, fault: &Fault| {
        let orders = Orders::new(&directory, &format!("orders-{worker}"));
        let out = directory.join(format!("out-{worker}.cprof"));
        let attempt = || {
            orders.fault(fault);
            launch(bench, &orders, &out)
        };
        let mut ending = attempt();
        if !orders.happened() {
            // Some points are passed by chance, after a collection of garbage for one.
            ending = attempt();
        }
        let mut wrong = Vec::new();
        if (ending.code, &ending.stdout) != (expected.code, &expected.stdout) {
            wrong.push(format!("the program ended with {}: {}{}", ending.code, ending.stdout, ending.stderr));
        }
        let said: Vec<String> = said_by(&out).into_iter().filter(|line| !usual.contains(line)).collect();
        let told = ending.stderr.lines().filter(|line| line.starts_with("cprof: ")).chain(said.iter().map(String::as_str));
        if !orders.happened() {
            // How often this one is passed depends on who comes first.
            if fault.point != AHEAD {
                wrong.push("it did not happen".into());
            }
        } else if !is_harmless(fault) && !told.clone().any(|text| names(fault, text)) {
            wrong.push(format!("it is not told: {:?}", told.collect::<Vec<_>>()));
        }
        wrong.into_iter().map(|what| tell(format!("JDK {}, {fault:?}: {what}", bench.jdk.feature))).collect::<Vec<_>>()
    };
    in_parallel(&faults, one)
}

/// Does something for each fault, several at a time. Answers all that was wrong.
fn in_parallel(faults: &[Fault], one: impl Fn(usize, &Fault) -> Vec<String> + Sync) -> Vec<String> {
    let one = &one;
    std::thread::scope(|scope| {
        let work =
            |worker: usize| move || faults.iter().skip(worker).step_by(WORKERS).flat_map(|f| one(worker, f)).collect::<Vec<_>>();
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(work(worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a test of a fault failed")).collect()
    })
}

/// A program that is attached to again and again.
struct Target {
    running: Running,
    orders: Orders,
    sum: i64,
    /// What a request adds.
    each: i64,
}

impl Target {
    const REQUEST: &str = "2 12";

    fn start(bench: &Bench, directory: &Path, name: &str) -> Target {
        let orders = Orders::new(directory, name);
        let directory = directory.join(format!("{name}-files"));
        std::fs::create_dir_all(&directory).or_fail(directory.display());
        let mut java = plain(bench);
        orders.apply(&mut java);
        java.args(["Serve", "threads"]);
        let mut running = Running::start_for(java, &directory, &faults::agent());
        let each = number(&running.ask(Target::REQUEST));
        Target { running, orders, sum: each, each }
    }

    /// Has it work; whether it does so rightly.
    fn works(&mut self) -> bool {
        self.sum += self.each;
        number(&self.running.ask(Target::REQUEST)) == self.sum
    }

    /// Attaches, has it work, takes a snapshot, detaches; answers all that is said. None: the program does wrong.
    /// `more`: options for the first, each with a comma before it.
    fn round(&mut self, out: &Path, more: &str) -> Option<Vec<String>> {
        let _ = std::fs::remove_file(out); // it need not be there
        let mut said = Vec::new();
        let mut works = true;
        let snapshot = out.with_extension("snapshot");
        for command in [
            format!("root=Serve.request,out={}{more}", out.display()),
            format!("command=snapshot,out={}", snapshot.display()),
            "command=detach".into(),
        ] {
            let (jvm, reply) = self.running.tell(&command);
            said.extend(reply.map_or_else(|| vec![jvm], |text| text.lines().map(str::to_owned).collect()));
            works &= self.works();
        }
        said.extend(said_by(out));
        works.then_some(said)
    }

    /// Ends the program, which must have printed nothing else. Answers what was wrong.
    fn end(self, context: &str) -> Option<String> {
        let (stdout, stderr) = self.running.end();
        (!stdout.is_empty() || !stderr.is_empty()).then(|| tell(format!("{context}: the program printed {stdout:?} {stderr:?}")))
    }
}

fn number(answer: &str) -> i64 {
    answer.parse().or_fail(format_args!("the program's answer {answer:?}"))
}

fn attached(bench: &Bench, jdk: usize, jdks: usize) -> Vec<String> {
    let directory = build::fresh(&format!("faults-attach-{}", bench.jdk.feature));
    let out = directory.join("list.cprof");
    let mut usual = BTreeSet::new();
    let mut list = |name, more| {
        let mut target = Target::start(bench, &directory, name);
        target.orders.list();
        usual.extend(target.round(&out, more).expect("it works"));
        target.orders.listed()
    };
    let (mut narrow, mut wide) = (list("narrow", SOME), list("wide", ""));
    // What is passed a hundred times with few classes may be passed less often the next time.
    narrow.retain(|fault| fault.nth == 1);
    wide.retain(|fault| !narrow.contains(fault));
    let with = |faults, more| faults::share(faults, jdk, jdks).into_iter().map(move |fault| (fault, more));
    let faults: Vec<(Fault, &str)> = with(wide, "").chain(with(narrow, SOME)).collect();
    let with_all = faults.iter().filter(|(_, more)| more.is_empty()).count();
    println!("faults with all classes: {with_all}, with some: {}", faults.len() - with_all);
    assert!(faults.len() > 30, "{faults:?}");
    let usual = &usual;
    let of_worker = |worker: usize| {
        let mut wrong = Vec::new();
        let out = directory.join(format!("out-{worker}.cprof"));
        let mut targets = 0;
        let mut start = || {
            targets += 1;
            Target::start(bench, &directory, &format!("orders-{worker}-{targets}"))
        };
        let mut target = start();
        let share: Vec<_> = faults.iter().skip(worker).step_by(WORKERS).collect();
        for (i, (fault, more)) in share.iter().enumerate() {
            let context = format!("JDK {}, attach, {fault:?}", bench.jdk.feature);
            target.orders.fault(fault);
            let mut round = target.round(&out, more);
            if round.is_some() && !target.orders.happened() {
                // Done only by the first attach to a JVM, or not done any more since the last fault.
                wrong.extend(std::mem::replace(&mut target, start()).end(&context));
                target.orders.fault(fault);
                round = target.round(&out, more);
            }
            match round {
                None => wrong.push(tell(format!("{context}: the program does wrong"))),
                Some(_) if !target.orders.happened() => wrong.push(tell(format!("{context}: it did not happen"))),
                Some(said)
                    if [PREPARE, GIVEN_UP].contains(&&*fault.point)
                        && fault.kind == "memory"
                        && said.iter().any(|text| text.starts_with("restored_classes: ")) => {}
                Some(said) if !is_harmless(fault) && !said.iter().any(|text| !usual.contains(text) && names(fault, text)) => {
                    wrong.push(tell(format!("{context}: it is not told: {said:?}")));
                }
                Some(_) => {}
            }
            // Whatever they were, the next attach counts rightly, or says why it cannot.
            if i % BETWEEN != 0 && i + 1 < share.len() {
                continue;
            }
            target.orders.none();
            let again = target.round(&out, SOME);
            let refused = again.as_ref().is_some_and(|said| said.iter().any(|line| line.starts_with("error: ")));
            if again.is_none() || !refused && Report::read(&out).tree.of_method("Serve.request(I)I").calls != 4 {
                wrong.push(tell(format!("{context}, or one of the {BETWEEN} last: the next attach counts wrongly: {again:?}")));
            }
            if again.is_none() || refused {
                wrong.extend(std::mem::replace(&mut target, start()).end(&context));
            }
        }
        wrong.extend(target.end("the last"));
        wrong
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || of_worker(worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a test of a fault failed")).collect()
    })
}

fn on_all_jdks(test: fn(&Bench, usize, usize) -> Vec<String>) {
    let benches = run::benches();
    let wrong: Vec<String> = benches.iter().enumerate().flat_map(|(i, bench)| test(bench, i, benches.len())).collect();
    assert!(wrong.is_empty(), "{} of the faults:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_program_that_was_started_with_the_agent_does_not_notice() {
    on_all_jdks(launched);
}

/// The flags that the agent sets in a JVM of a feature release, as `-XX:+PrintFlagsFinal` shows them.
fn set_flags(shown: &str, feature: u32) -> Vec<&str> {
    const NAMES: [&str; 6] = [
        "DisableIntrinsic",
        "DontCompileHugeMethods",
        "EliminateAutoBox",
        "InlineSmallCode",
        "OptimizeStringConcat",
        "Tier4InvocationThreshold",
    ];
    let names: Vec<_> = NAMES.into_iter().chain((feature >= 25).then_some("UseFPUForSpilling")).collect();
    let lines: Vec<_> = shown.lines().filter(|line| line.split_whitespace().any(|word| names.contains(&word))).collect();
    assert_eq!(lines.len(), names.len(), "{shown}");
    lines
}

#[test]
fn a_start_that_failed_leaves_the_jvms_flags_as_they_were() {
    let fault = |point: &str, kind| Fault { point: point.to_owned(), kind, nth: 1 };
    for bench in run::benches() {
        let directory = build::fresh(&format!("faults-flags-{}", bench.jdk.feature));
        let flags = |agent: Option<String>, orders: &Orders| {
            let mut java = plain(&bench);
            orders.apply(&mut java);
            java.args(agent).args(["-XX:+UnlockDiagnosticVMOptions", "-XX:+PrintFlagsFinal", "-version"]);
            end(java)
        };
        let orders = Orders::new(&directory, "orders");
        let agent = build::library_option(&faults::agent(), "", &directory.join("it.cprof"));
        let (expected, set) = (flags(None, &orders).stdout, flags(Some(agent.clone()), &orders).stdout);
        let feature = bench.jdk.feature;
        let unchanged = set_flags(&set, feature).iter().filter(|line| set_flags(&expected, feature).contains(line)).count();
        assert_eq!(unchanged, 0, "a start that succeeds sets them: {set}");
        for fault in
            [fault("load", "panic"), fault("JVMTI AddCapabilities", "error"), fault("JVMTI SetEventNotificationMode", "error")]
        {
            orders.fault(&fault);
            let failed = flags(Some(agent.clone()), &orders);
            assert!(failed.stderr.contains("runs on without being profiled"), "{fault:?}: {}", failed.stderr);
            assert_eq!(set_flags(&failed.stdout, feature), set_flags(&expected, feature), "JDK {feature}, {fault:?}");
        }
    }
}

/// The end comes before anything is woven, in the middle, when counting is on but not said to be, and when it is.
#[test]
fn a_jvm_that_ends_while_it_is_attached_to_writes_a_profile_or_says_that_it_does_not() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("faults-end-{}", bench.jdk.feature));
        for (point, nth, counted) in
            [("weave loaded", 1, false), ("weave", 300, false), ("switched on", 1, false), ("describe", 1, true)]
        {
            let name = point.replace(' ', "-");
            let (orders, out) = (Orders::new(&directory, &name), directory.join(format!("{name}.cprof")));
            let mut java = plain(&bench);
            orders.apply(&mut java);
            java.args(["Serve", "threads"]);
            let mut running = Running::start_for(java, &directory, &faults::agent());
            let pid = running.pid();
            orders.fault(&Fault { point: point.to_owned(), kind: "end", nth });
            let (said, reply) = running.tell(&format!("root=Serve.request,out={}", out.display()));
            let context = format!("JDK {}, {point}: {said:?} {reply:?}", bench.jdk.feature);
            drop(running);
            assert!(orders.happened(), "{context}: it did not end there");
            assert_eq!(out.exists(), counted, "{context}");
            let reply = reply.expect("it waits for the answer");
            assert_eq!(reply.contains("error: this JVM is about to end"), !counted, "{context}");
            assert_eq!(live::recording(pid), None, "{context}");
        }
    }
}

/// Threads stand still while stacks are looked at for a profile, which here takes a second.
#[test]
fn the_longest_stop_is_told_when_it_is_that_of_the_profile() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("faults-stop-{}", bench.jdk.feature));
        let out = directory.join("it.cprof");
        let mut target = Target::start(&bench, &directory, "orders");
        let attached = target.running.tell(&format!("out={}", out.display()));
        assert!(target.works(), "{attached:?}");
        for command in [format!("command=snapshot,out={}.snapshot", out.display()), "command=detach".into()] {
            target.orders.fault(&Fault { point: "frames".to_owned(), kind: "slow", nth: 1 });
            let (said, reply) = target.running.tell(&command);
            let longest = reply.as_ref().and_then(|r| r.lines().find_map(|line| line.strip_prefix("pause_ms: ")));
            let context = format!("JDK {}, {command}: {said:?} {reply:?}", bench.jdk.feature);
            assert!(target.orders.happened(), "{context}: it was not slow");
            assert!(longest.is_some_and(|longest| number(longest) >= 1000), "{context}");
        }
        assert_eq!(target.end("stops"), None);
    }
}

/// A command that is to end what it begins does so, too, when it cannot hear that it has begun.
#[test]
fn who_attaches_for_a_time_and_hears_no_answer_leaves_again() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("faults-unheard-{}", bench.jdk.feature));
        let out = directory.join("it.cprof");
        let mut target = Target::start(&bench, &directory, "orders");
        target.orders.fault(&Fault { point: "reply write".to_owned(), kind: "error", nth: 1 });
        let pid = target.running.pid().to_string();
        let mut attach = live::command(&["attach", &pid, "--for", "1h", "--root", "Serve.request"]);
        attach.arg("--agent").arg(faults::agent()).arg("--out").arg(&out);
        let attached: Ending = attach.output().or_fail("starting cprof attach").into();
        let context = format!("JDK {}: {attached:?}", bench.jdk.feature);
        assert!(target.orders.happened(), "{context}: the answer was written");
        assert!(attached.code == 1 && attached.stderr.contains("left no answer"), "{context}");
        assert!(attached.stderr.contains(&format!("what it had counted is in {}", out.display())) && out.exists(), "{context}");
        assert!(target.works(), "{context}");
        let again = target.running.tell("command=detach").1;
        assert!(again.as_ref().is_some_and(|said| said.contains("error: ")), "{context}: it counted still: {again:?}");
        let (_, said) = target.running.end();
        assert!(said.lines().all(|line| line.contains("the answer cannot be written")), "{context}: {said}");
    }
}

#[test]
fn a_program_that_is_attached_to_does_not_notice() {
    on_all_jdks(attached);
}
