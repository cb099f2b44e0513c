//! Class loaders that come and go: nothing is kept of them, and nothing keeps them.

use cprof_profile::names;
use cprof_tests::attach::Running;
use cprof_tests::{build, run};

/// Where memory is the same whatever the collector thinks of it, but for what is left of classes.
const LITTLE_ROOM: [&str; 4] = ["-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:MaxMetaspaceSize=48m"];

#[test]
fn of_a_class_loader_that_is_gone_nothing_is_kept() {
    const ROUNDS: u64 = 3;
    run::on_every_jdk(|bench| {
        let name = format!("JDK {}", bench.jdk.feature);
        let directory = build::fresh(&format!("loaders-gone-{}", bench.jdk.feature));
        let out = directory.join("it.cprof");
        let agent = build::agent_option("quiet", &out);
        let mut running = Running::start(bench.program(&[&LITTLE_ROOM[..], &[&agent, "Churns"]].concat()), &directory);
        let mut after = |loaders| {
            running.ask(loaders);
            running.ask("collect");
            running.status("VmRSS")
        };
        // The JVM takes its time to clear up its own names at first.
        let before = [after("3000"), after("3000")][1];
        // Several rounds, as one alone may take what the JVM gives back in another.
        let later: Vec<u64> = (0..ROUNDS).map(|_| after("3000")).collect();
        let more = later.last().expect("a round").saturating_sub(before);
        println!("{name}: {before} kB, then {later:?}");
        // A name each, no more than that, would be 21 MB in each round.
        assert!(more < ROUNDS * 10_500, "{name}: {before} kB, then {later:?} after each 3,000 loaders more");
        assert_eq!(running.end(), (String::new(), String::new()), "{name}");
        let profile = cprof_profile::file::read(&out).unwrap();
        let lambdas = profile.classes.iter().filter(|class| names::stable(&class.name, true).ends_with("$$Lambda"));
        let of_them = lambdas.filter(|class| class.name.starts_with("Churned")).count();
        assert_eq!(of_them, 1, "{name}: one class, however many of each loader");
    });
}

#[test]
fn classes_can_be_collected_while_cprof_comes() {
    const LOADERS: u64 = 4000;
    run::on_every_jdk(|bench| {
        let name = format!("JDK {}", bench.jdk.feature);
        let directory = build::fresh(&format!("loaders-attach-{}", bench.jdk.feature));
        let collected = || {
            let mut running = Running::start(bench.program(&["Churns"]), &directory);
            running.ask(&format!("keep {LOADERS}"));
            running.ask(&format!("collect until {}", running.next_reply().display()));
            running.done(&format!("out={}", directory.join("it.cprof").display()));
            let collected: u64 = running.ask("collected").parse().unwrap();
            running.done("command=detach");
            assert_eq!(running.end(), (String::new(), String::new()), "{name}");
            collected
        };
        // A whole collection must come between the last loader asked and the answer to the attach. If cprof kept the classes,
        // none would collect them.
        let enough = (1..=3).any(|attempt| {
            let classes = collected();
            println!("{name}, attempt {attempt}: {classes} classes");
            classes > LOADERS / 2
        });
        assert!(enough, "{name}: most classes were kept");
    });
}

/// `-Xcheck:jni` tells on standard output of references that nobody announced, and of exceptions that nobody looked for.
#[test]
fn nothing_is_wrong_with_how_jni_is_used() {
    run::on_every_jdk(|bench| {
        let name = format!("JDK {}", bench.jdk.feature);
        let directory = build::fresh(&format!("loaders-checked-{}", bench.jdk.feature));
        let mut running = Running::start(bench.program(&["-Xcheck:jni", "Churns"]), &directory);
        running.ask("keep 1500");
        for _ in 0..2 {
            let (out, now) = (directory.join("it.cprof"), directory.join("now.cprof"));
            running.done(&format!("out={}", out.display()));
            running.done(&format!("command=snapshot,out={}", now.display()));
            running.done("command=detach");
        }
        assert_eq!(running.end(), (String::new(), String::new()), "{name}");
    });
}
