//! Other agents beside cprof, at launch and later, before and after it: what they do goes on as without it, and what they add to
//! the program's code is counted or not, as docs/exactness.md says.

use cprof_tests::attach::Running;
use cprof_tests::guests::{Guests, Outcome, Step, ask};
use cprof_tests::run::{Bench, Ending, Report};
use cprof_tests::tree::Tree;
use cprof_tests::{OrFail, build, program, run};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What the program answers to 25 requests, whoever is in it.
const ANSWER: &str = "11450";

/// JaCoCo cannot be attached: its jar has no agent class for that.
#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn jacoco_covers_the_same_and_its_probes_are_counted() {
    let jar = build::jar("org.jacoco.agent-");
    let jacoco = &*format!("-javaagent:{}=output=none,includes=Serve*:Beside*", jar.display());
    for guests in Guests::all("jacoco") {
        let (plain, probed) = (guests.oracle(&[]), guests.oracle(&[jacoco]));
        assert!(plain.difference("plain", &probed, "probed").is_some());
        let begin = [ask("serve 25"), ask("coverage")];
        let middle = [Step::Measure, ask("coverage"), ask("choose 9"), ask("coverage")];
        let end = [ask("serve 25"), ask("choose -3"), ask("coverage")];
        let steps = [&begin[..], &middle, &end].concat();
        let alone = guests.run(&[jacoco], &steps);
        assert_eq!(alone.answers[0], ANSWER);
        let cprof = &*guests.cprof();
        for both in [[jacoco, cprof], [cprof, jacoco]] {
            let outcome = guests.run(&both, &steps);
            assert_eq!(outcome.answers, alone.answers, "{both:?}");
            guests.assert_trees(&both.join(" "), &outcome.trees, &[&probed]);
        }
        let steps = [&begin[..], &[Step::Attach], &middle, &[Step::Detach], &end].concat();
        let outcome = guests.run(&[jacoco], &steps);
        assert_eq!(outcome.answers, alone.answers, "attached");
        guests.assert_trees("attached to a JVM with JaCoCo", &outcome.trees, &[&probed]);
    }
}

/// What Byte Buddy's advice sees of 5 and 25 requests: 465 calls of `fib` and 4 exceptions in each.
const ADVISED: &str = "13950 entered, 120 thrown";
const NOT_ADVISED: &str = "0 entered, 0 thrown";

#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn byte_buddy_advises_before_and_after() {
    for guests in Guests::all("byte-buddy") {
        let (option, jar) = guests.byte_buddy();
        let (byte_buddy, cprof) = (&*option, &*guests.cprof());
        let advise = Step::Agent(jar.clone(), "");
        let reset = Step::Agent(jar, "reset");
        let (plain, advised) = (&guests.oracle(&[]), &guests.oracle(&[byte_buddy]));
        assert!(plain.difference("plain", advised, "advised").is_some());
        // The first question is of what came before.
        let measure = || vec![ask("advice"), Step::Measure, ask("advice")];
        let check = |what: &str, options: &[&str], steps: &[Step], seen: &[&str], trees: &[&_]| {
            let outcome = guests.run(options, steps);
            let answers: Vec<&str> = outcome.answers.chunks(3).map(|three| three[2].as_str()).collect();
            assert_eq!(answers, seen, "{what}");
            assert!(outcome.answers.chunks(3).all(|three| three[1] == ANSWER), "{what}");
            guests.assert_trees(what, &outcome.trees, trees);
        };
        check("Byte Buddy, then cprof, at launch", &[byte_buddy, cprof], &measure(), &[ADVISED], &[plain]);
        check("cprof, then Byte Buddy, at launch", &[cprof, byte_buddy], &measure(), &[ADVISED], &[plain]);
        let steps = [vec![advise.clone()], measure(), vec![reset.clone()], measure()].concat();
        check("cprof at launch, Byte Buddy comes and leaves", &[cprof], &steps, &[ADVISED, NOT_ADVISED], &[plain, plain]);
        let steps = [vec![Step::Attach], measure(), vec![Step::Detach], measure(), vec![reset.clone()], measure()].concat();
        check(
            "Byte Buddy at launch, cprof comes and leaves",
            &[byte_buddy],
            &steps,
            &[ADVISED, ADVISED, NOT_ADVISED],
            &[advised],
        );
        let steps =
            [vec![advise.clone(), Step::Attach], measure(), vec![reset.clone()], measure(), vec![Step::Detach], measure()];
        check(
            "Byte Buddy comes, cprof comes, Byte Buddy leaves",
            &[],
            &steps.concat(),
            &[ADVISED, NOT_ADVISED, NOT_ADVISED],
            &[advised, plain],
        );
        let steps = [vec![Step::Attach, advise], measure(), vec![Step::Detach], measure(), vec![reset], measure()].concat();
        check("cprof comes, Byte Buddy comes, cprof leaves", &[], &steps, &[ADVISED, ADVISED, NOT_ADVISED], &[plain]);
    }
}

/// How many of these events are in a recording; those of files: of this file.
fn recorded(guests: &Guests, recording: &Path, file: &Path) -> (usize, usize) {
    let mut jfr: Command = guests.bench.jdk.command("jfr");
    // Without stack traces: `jfr` of JDK 17 fails on one whose methods have changed since, by whatever agent (docs/exactness.md).
    let text = build::must(jfr.args(["print", "--stack-depth", "0", "--events", "Served,jdk.FileRead"]).arg(recording));
    let file = file.display().to_string();
    (text.lines().filter(|line| line.starts_with("Served {")).count(), text.lines().filter(|line| line.contains(&file)).count())
}

/// Whether JFR has to add code to constructors of exceptions, in which it counts them; later JDKs have it there.
fn adds_code(guests: &Guests) -> bool {
    let mut javap = guests.bench.jdk.command("javap");
    !build::must(javap.args(["-p", "java.lang.Throwable"])).contains("jfrTracing")
}

#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn jfr_records_the_same() {
    for guests in Guests::all("jfr") {
        let (recording, read) = (guests.file("app.jfr"), guests.file("read"));
        std::fs::write(&read, "a").expect("a new file");
        // From JDK 25 on JFR drops events that come too fast.
        let all = if guests.bench.jdk.feature >= 25 { ",jdk.FileRead#throttle=off" } else { "" };
        let settings = format!("filename={},jdk.FileRead#threshold=0ns{all}", recording.display());
        let option = format!("-XX:StartFlightRecording:{settings}");
        let (jfr, cprof) = (&*option, &*guests.cprof());
        let events = || ask(&format!("events {} 40", read.display()));
        let (plain, beside) = (&guests.oracle(&[]), &guests.oracle(&[jfr]));
        assert!(plain.difference("plain", beside, "beside JFR").is_some());
        // Whether it writes an event depends on the time since the one before.
        let traces = |method: &str| method.contains("ThrowableTracer.traceThrowable(");
        let before = &beside.cut(traces);
        let assert_before = |what: &str, outcome: Outcome| {
            let trees: Vec<Tree> = outcome.trees.iter().map(|tree| tree.cut(traces)).collect();
            guests.assert_trees(what, &trees, &[before]);
        };
        // What is added after cprof is not counted, but what it calls is, wherever that is.
        let adds = adds_code(&guests);
        let assert_after = |what: &str, outcome: Outcome| {
            if !adds {
                return assert_before(what, outcome);
            }
            let trees: Vec<Tree> = outcome.trees.iter().map(|tree| tree.without(traces)).collect();
            guests.assert_trees(what, &trees, &[plain]);
        };
        let outcome = guests.run(&[jfr, cprof], &[events(), Step::Measure, events()]);
        assert_eq!(outcome.answers[1], ANSWER);
        assert_eq!(recorded(&guests, &recording, &read), (80, 80));
        assert_after("both at launch", outcome);

        let steps = [events(), Step::Attach, events(), Step::Measure, Step::Detach, events()];
        let outcome = guests.run(&[jfr], &steps);
        assert_eq!(recorded(&guests, &recording, &read), (120, 120));
        assert_before("cprof comes", outcome);

        let jcmd = |words: &[&str]| Step::Jcmd(words.iter().map(|word| (*word).to_owned()).collect());
        let start: Vec<&str> = ["JFR.start", "name=one"].into_iter().chain(settings.split(',')).collect();
        let steps = [
            vec![Step::Attach, jcmd(&start), events(), Step::Measure, Step::Detach, events()],
            vec![jcmd(&["JFR.stop", "name=one"]), events()],
        ];
        let outcome = guests.run(&[], &steps.concat());
        assert_eq!(recorded(&guests, &recording, &read), (80, 80));
        assert_after("cprof comes, JFR starts, cprof leaves, JFR stops", outcome);
    }
}

/// What JFR adds to a method that it times, no agent has seen: where its frames are is not taken for places in woven code.
#[test]
fn frames_of_methods_that_jfr_times_are_said_to_be_unknown() {
    for bench in run::benches_since(25) {
        let directory = build::fresh(&format!("timed-{}", bench.jdk.feature));
        let out = directory.join("timed.cprof");
        let cprof = build::agent_option("quiet", &out);
        let jfr =
            format!("-XX:StartFlightRecording:method-timing=ExitDeep::down,filename={}", directory.join("timed.jfr").display());
        let ending = Ending::from(bench.program(&[&cprof, &jfr, "-Xlog:jfr*=off", "ExitDeep"]).output().or_fail("starting java"));
        assert_eq!(ending.code, 3, "JDK {}: {}", bench.jdk.feature, ending.stderr);
        let report = Report::read(&out);
        let unknown = |warning: &String| warning.starts_with("101 frames were active and have no context");
        assert!(report.warnings.iter().any(unknown), "JDK {}: {:?}", bench.jdk.feature, report.warnings);
        let of = |method: &str| report.tree.of_method(method);
        assert_eq!(of("ExitDeep.down(I)I").calls, 101);
        assert_eq!((of("ExitDeep.measured()I").calls, of("ExitDeep.measured()I").bytecodes), (1, 2), "they are where they were");
    }
}

/// The code that an agent keeps has cprof's in it if it comes after cprof; the class must not get it twice.
#[test]
fn code_that_another_agent_kept_is_counted_once() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("kept-{}", bench.jdk.feature));
        let keeps = format!("-javaagent:{}=Plain", build::agent_jar(&bench.jdk, "Keeps").display());
        let out = directory.join("kept.cprof");
        let cprof = build::agent_option("quiet", &out);
        let ending = Ending::from(bench.program(&[&cprof, &keeps, "Plain"]).output().or_fail("starting java"));
        assert_eq!(ending.code, 7, "JDK {}: {}", bench.jdk.feature, ending.stderr);
        let report = Report::read(&out);
        assert_eq!(report.tree.of_method("Plain.fails(I)I").calls, 30, "JDK {}", bench.jdk.feature);
        assert!(!report.gaps.iter().any(|(class, _)| class == "Plain"), "JDK {}: {:?}", bench.jdk.feature, report.gaps);
    }
}

/// A server to attach to, the Java agent that keeps code, and where the profile goes.
fn keeping(bench: &Bench, name: &str) -> (Running, PathBuf, PathBuf) {
    let directory = build::fresh(&format!("{name}-{}", bench.jdk.feature));
    let keeps = build::agent_jar(&bench.jdk, "Keeps");
    (Running::start(bench.program(&["Serve"]), &directory), keeps, directory.join("kept.cprof"))
}

/// What it gave back as it was goes when cprof goes.
#[test]
fn kept_code_goes_with_cprof() {
    for bench in run::benches() {
        let (mut running, keeps, out) = keeping(&bench, "kept-on");
        for round in 0..3 {
            running.done(&format!("root=Serve.request,out={}", out.display()));
            running.ask("5 12");
            if round < 2 {
                running.java_agent(&keeps, "Serve");
                running.java_agent(&keeps, "");
            }
            running.ask("5 12");
            let left = running.command("command=detach");
            assert_eq!((left.get("error"), left.get("not_restored")), (None, None), "{left:?}");
            let report = Report::read(&out);
            assert_eq!(report.tree.of_method("Serve.request(I)I").calls, 10, "JDK {}, round {round}", bench.jdk.feature);
            assert!(!report.gaps.iter().any(|(class, _)| class == "Serve"), "JDK {}: {:?}", bench.jdk.feature, report.gaps);
        }
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

/// What it gave back otherwise while cprof was there stays when cprof has left, on JDKs that do not forget what was redefined.
#[test]
fn changed_code_that_cprof_cannot_take_back_counts_when_it_comes_again() {
    for bench in run::benches() {
        let (mut running, keeps, out) = keeping(&bench, "kept-changed");
        let jdk = bench.jdk.feature;
        for round in 0..4 {
            let stays = jdk >= 20 && round < 2;
            let sites = if round == 1 { "sites=on," } else { "" };
            running.done(&format!("{sites}root=Serve.request,out={}", out.display()));
            running.ask("5 12");
            if round == 0 {
                ["Serve", "changed", ""].iter().for_each(|what| running.java_agent(&keeps, what));
            }
            running.ask("5 12");
            let left = running.done("command=detach");
            let kept = left.get("not_restored").map_or("", String::as_str);
            assert_eq!(kept.starts_with("Serve: another agent"), stays, "JDK {jdk}, round {round}: {left:?}");
            let report = Report::read(&out);
            assert_eq!(report.tree.of_method("Serve.request(I)I").calls, 10, "JDK {jdk}, round {round}");
            let told =
                report.gaps.iter().any(|(class, why)| class == "Serve" && why.starts_with("another agent gave it changed"));
            assert_eq!(told, stays || round == 0, "JDK {jdk}, round {round}: {:?}", report.gaps);
            running.ask("5 12");
            if round == 1 {
                running.java_agent(&keeps, "own");
            }
        }
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {jdk}");
    }
}

/// What it gives back when cprof has left nobody sees before cprof comes again.
#[test]
fn code_that_was_kept_of_an_earlier_recording_is_not_counted_for_others() {
    for bench in run::benches() {
        let (mut running, keeps, out) = keeping(&bench, "kept-away");
        let attach = format!("root=Serve.request,out={}", out.display());
        running.command(&attach);
        running.java_agent(&keeps, "Serve");
        running.command("command=detach");
        running.java_agent(&keeps, "");
        running.ask("5 12");
        let again = running.command(&attach);
        let refused =
            again.get("error").is_some_and(|why| why.starts_with("class Serve has code in it that cprof made for an earlier"));
        assert_eq!(refused, bench.jdk.feature >= 20, "JDK {}: {again:?}", bench.jdk.feature);
        running.ask("5 12");
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

/// Nor where its class is not woven by then.
#[test]
fn code_that_was_kept_of_an_earlier_recording_goes_where_nothing_is_woven() {
    for bench in run::benches() {
        let (mut running, keeps, out) = keeping(&bench, "kept-unwoven");
        running.command(&format!("root=Serve.request,out={}", out.display()));
        ["Serve", ""].iter().for_each(|what| running.java_agent(&keeps, what));
        running.command("command=detach");
        // The JVM gives it what it was last redefined with.
        running.java_agent(&keeps, "Serve");
        running.done(&format!("exclude=Serve,out={}", out.display()));
        running.ask("5000 12");
        running.command("command=detach");
        let report = Report::read(&out);
        // Under the ids of the recording before, other methods' contexts would be inconsistent, which reading them notices.
        let left_out = report.warnings.iter().any(|warning| warning.contains("left out"));
        assert!(
            !left_out && report.tree.of_method("Serve.request(I)I").calls == 0,
            "JDK {}: {:?}",
            bench.jdk.feature,
            report.warnings
        );
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}

/// Of a class whose woven code is gone.
const REPLACED: &str = "another agent gave it, or some of its methods, code of its own, without cprof's";

/// Other classes of a name, which a class cannot become, with more methods and with fewer.
const OTHERS: [&str; 2] = [
    "class Plain { int a() { return 1; } int b() { return 2; } int c() { return 3; } int d() { return 4; } int e() { return 5; } int f() { return 6; } \
     int g() { return 7; } }",
    "class Plain { }",
];

/// A class that another agent gives the bytes of its file is not counted, and the profile says so.
#[test]
fn a_class_whose_code_another_agent_replaces_is_listed() {
    for bench in run::benches() {
        let jdk = bench.jdk.feature;
        let directory = build::fresh(&format!("replaced-{jdk}"));
        let jar = build::agent_jar(&bench.jdk, "Replaces");
        let out = directory.join("replaced.cprof");
        let listed = || {
            let report = Report::read(&out);
            let unknown = report.warnings.iter().find(|warning| warning.starts_with("whether another agent"));
            assert_eq!(unknown, None, "JDK {jdk}");
            let replaced = report.gaps.into_iter().filter(|(_, why)| why.starts_with(REPLACED));
            (replaced.map(|(class, _)| class).collect::<Vec<_>>(), report.tree)
        };

        let cprof = build::agent_option("quiet", &out);
        let others = OTHERS.map(|source| {
            let directory = build::fresh(&format!("replaced-by-{}-{jdk}", source.len()));
            let file = directory.join("Plain.java");
            std::fs::write(&file, source).or_fail(file.display());
            build::must(bench.jdk.command("javac").arg("-d").arg(&directory).arg(&file));
            directory.join("Plain.class").display().to_string()
        });
        let [refused, then_replaced] = [format!("Plain {}", others[0]), format!("Plain {} too", others[1])];
        // What JFR makes of its events is not another agent's; nor is a class replaced as something else was refused.
        let jfr = format!("-XX:StartFlightRecording:filename={}", directory.join("replaced.jfr").display());
        let plain: &[&str] = &["Plain"];
        for (replaced, more, told, calls) in [
            ("Plain", &[][..], plain, 0),
            ("Nobody", &[&*jfr, "-Xlog:jfr*=off"], &[], 30),
            (&refused, &[], &[], 30),
            (&then_replaced, &[], plain, 0),
        ] {
            let replaces = format!("-javaagent:{}={replaced}", jar.display());
            let arguments = [&[&*cprof, &replaces], more, plain].concat();
            let ending = Ending::from(bench.program(&arguments).output().or_fail("starting java"));
            assert_eq!(ending.code, 7, "JDK {jdk}: {}", ending.stderr);
            let (classes, tree) = listed();
            assert_eq!(classes, told, "JDK {jdk}");
            assert_eq!(tree.of_method("Plain.fails(I)I").calls, calls, "JDK {jdk}");
        }

        for attached in [false, true] {
            let java = if attached { bench.program(&["Serve"]) } else { bench.program(&[&cprof, "Serve"]) };
            let mut running = Running::start(java, &directory);
            let tell = |running: &mut Running, command: &str| {
                running.done(&format!("{command},out={}", out.display()));
            };
            if attached {
                tell(&mut running, "quiet");
            }
            // The class's code is cprof's, then the file's, and cprof's again.
            for (agent, told, calls) in [("", &[][..], 5), ("Serve", &["Serve"], 5), ("Serve gone", &["Serve"], 10)] {
                if !agent.is_empty() {
                    running.java_agent(&jar, agent);
                }
                running.ask("5 12");
                tell(&mut running, "command=snapshot");
                let (classes, tree) = listed();
                assert_eq!(classes, told, "JDK {jdk}, attached: {attached}, {agent}");
                assert_eq!(tree.of_method("Serve.request(I)I").calls, calls, "JDK {jdk}, attached: {attached}, {agent}");
            }
            assert_eq!(running.end().1, "", "JDK {jdk}, attached: {attached}");
        }
    }
}

/// Of a class of which it replaces one method, the others go on counting.
#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn a_class_of_which_byte_buddy_replaces_a_method_is_listed() {
    for guests in Guests::all("replacing") {
        let (_, jar) = guests.byte_buddy();
        let steps = [ask("serve 25"), Step::Agent(jar, "replace"), ask("serve 25")];
        let outcome = guests.run(&[&guests.cprof()], &steps);
        // Nothing is refused any more.
        assert_eq!((&*outcome.answers[0], &*outcome.answers[1]), (ANSWER, "10350"));
        let report = Report::read(&guests.file("end.cprof"));
        let listed = report.gaps.iter().filter(|(_, why)| why.starts_with(REPLACED)).map(|(class, _)| &**class);
        assert_eq!(listed.collect::<Vec<_>>(), ["Serve"], "JDK {}", guests.bench.jdk.feature);
        let calls = |method: &str| report.tree.of_method(method).calls;
        assert_eq!((calls("Serve.work(I)I"), calls("Serve.refuse(I)I")), (50, 300), "JDK {}", guests.bench.jdk.feature);
    }
}

/// Where the arena of a JVM begins that was started with these options.
fn arena(bench: &Bench, options: &[&str]) -> u64 {
    let running = Running::start(bench.program(&[options, &["Serve"]].concat()), &build::directory());
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", running.pid())).or_fail("reading its maps");
    let arena = maps.lines().find(|line| line.contains("/cprof-") && line.ends_with("/arena")).or_fail(&maps);
    let (begin, _) = arena.split_once('-').or_fail(arena);
    assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    u64::from_str_radix(begin, 16).or_fail(arena)
}

/// Where the arena's best address is taken, it is elsewhere, and contexts and misses are the same.
#[test]
fn the_arena_may_be_anywhere() {
    const SAME_IN_EACH_RUN: &[&str] = &["Finally", "Recursion"];
    run::on_every_jdk(|bench| {
        let occupant = format!("-agentpath:{}", bench.built.native.join("libupcalls.so").display());
        let out = build::directory().join(format!("elsewhere-{}.cprof", bench.jdk.feature));
        let cprof = build::agent_option("quiet", &out);
        let begin = [&[&*cprof][..], &[&occupant, &cprof]].map(|options| arena(bench, options));
        assert!(begin[0] < 2 << 30 && begin[1] > 2 << 30, "JDK {}: {begin:x?}", bench.jdk.feature);
        for program in program::named(&bench.jdk, SAME_IN_EACH_RUN) {
            for options in ["", ",cache=4k/16", ",sites=on,cache=4k/16+lru:1k/4"] {
                let contexts = |flags: &[&str]| {
                    let (_, ending) = bench.cprof(&[&program], flags, options, &out);
                    assert!(!ending.stderr.contains("cprof"), "{}", ending.stderr);
                    let mut report = Command::new(build::cprof());
                    report.arg("report").arg(&out).args(["--tree", "--format", "json"]);
                    if !options.is_empty() {
                        report.args(["--target", "jop", "--cache", "4k/16"]);
                    }
                    let json: Value = serde_json::from_str(&build::must(&mut report)).or_fail("reading the JSON of cprof report");
                    json["contexts"].clone()
                };
                let (low, elsewhere) = (contexts(&[]), contexts(&[&occupant]));
                assert!(low.as_array().is_some_and(|contexts| contexts.len() > 2));
                assert!(low == elsewhere, "{} on {} with{options}", program.name, bench.jdk.feature);
            }
        }
    });
}

/// A connection to a JVM as a debugger's that waits for uncaught exceptions (JDWP, "EventRequest Set").
fn waits_for_exceptions(port: u16) -> TcpStream {
    let mut jvm = TcpStream::connect(("127.0.0.1", port)).or_fail("connecting to the JVM");
    jvm.set_read_timeout(Some(Duration::from_secs(60))).or_fail("waiting for no longer");
    let mut told = |message: &[u8], answer: usize| {
        jvm.write_all(message).or_fail("telling the JVM");
        let mut bytes = vec![0; answer];
        jvm.read_exact(&mut bytes).or_fail("hearing the JVM");
        bytes
    };
    let handshake = b"JDWP-Handshake";
    assert_eq!(told(handshake, handshake.len()), handshake);
    // Length, id, flags, command; an exception, nobody is suspended, one condition: of any class, caught not, uncaught.
    let request = [&[0, 0, 0, 28, 0, 0, 0, 1, 0, 15, 1][..], &[4, 0, 0, 0, 0, 1], &[8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]].concat();
    assert_eq!(told(&request, 15)[8..11], [0x80, 0, 0], "a reply without an error");
    jvm
}

#[test]
fn debuggers_that_wait_for_uncaught_exceptions_meet_none_of_cprofs() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("uncaught-{}", bench.jdk.feature));
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).or_fail("a free port").port();
        let debugger = format!("-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:{port},quiet=y");
        let mut running = Running::start(bench.program(&[&debugger, "Serve"]), &directory);
        let mut events = waits_for_exceptions(port);
        let out = directory.join("debugged.cprof");
        running.done(&format!("root=Serve.request,out={}", out.display()));
        running.ask("25 12");
        running.done("command=detach");
        events.set_nonblocking(true).or_fail("asking without waiting");
        let event = events.read(&mut [0; 64]).map_err(|e| e.kind());
        assert_eq!(event, Err(ErrorKind::WouldBlock), "JDK {}: an exception", bench.jdk.feature);
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
        // Not before: left by its debugger, the JVM's listens anew, and says so on stderr if the JVM ends amid that.
        drop(events);
    }
}

/// A debugger keeps it to itself to stop threads, and ends the JVM if it cannot have that.
#[test]
fn programs_under_a_debugger_are_counted() {
    const DEBUGGER: &str = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0,quiet=y";
    const TOLD: &str = "not all threads could be stopped";
    for bench in run::benches() {
        let directory = build::fresh(&format!("debugger-{}", bench.jdk.feature));
        let out = directory.join("debugged.cprof");
        let cprof = build::agent_option("quiet", &out);
        for [first, second] in [[&*cprof, DEBUGGER], [DEBUGGER, &*cprof]] {
            let ending = Ending::from(bench.program(&[first, second, "Plain"]).output().or_fail("starting java"));
            assert_eq!((ending.code, &*ending.stderr), (7, ""), "JDK {}: {first} {second}", bench.jdk.feature);
            let report = Report::read(&out);
            assert_eq!(report.tree.of_method("Plain.fails(I)I").calls, 30, "JDK {}: {first} {second}", bench.jdk.feature);
            assert!(report.warnings.iter().any(|warning| warning.contains(TOLD)), "{:?}", report.warnings);
        }
        let mut running = Running::start(bench.program(&[DEBUGGER, "Serve"]), &directory);
        let attached = running.done(&format!("root=Serve.request,out={}", out.display()));
        running.ask("25 12");
        let left = running.done("command=detach");
        // Nothing else stands first: the tree's memory is given back.
        for answer in [&attached, &left] {
            let notice = answer.get("notice").map(String::as_str).unwrap_or_default();
            assert!(notice.contains("breakpoints in classes that are loaded are gone"), "{answer:?}");
        }
        assert_eq!(Report::read(&out).tree.of_method("Serve.request(I)I").calls, 25, "JDK {}", bench.jdk.feature);
        running.ask("25 12");
        assert_eq!(running.end(), (String::new(), String::new()), "JDK {}", bench.jdk.feature);
    }
}
