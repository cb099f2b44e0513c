//! Attaching to servers while they serve requests: none of them fails, and what is counted is what was asked for.

use cprof_tests::attach::Running;
use cprof_tests::load::{CLIENTS, Load};
use cprof_tests::run::{Bench, Report};
use cprof_tests::servers::Server;
use cprof_tests::tree::{Counts, Tree};
use cprof_tests::{OrFail, build, live, text};
use std::path::Path;
use std::time::Duration;

/// Between two requests of a client.
const PAUSE: Duration = Duration::from_millis(1);

/// The requests that were counted.
fn handled(server: Server, profile: &Path) -> u64 {
    let (class, method, _) = server.handler();
    live::calls(profile, class, method)
}

/// Fails unless the profile has exactly what these requests cost.
fn assert_requests(server: Server, profile: &Path, requests: u64, when: &str) {
    let tree = Report::read(profile).tree;
    let (class, method, descriptor) = server.handler();
    assert_eq!(tree.of_method(&format!("{class}.{method}{descriptor}")).calls, requests, "{when}");
    let (method, each) = server.known();
    let expected = Counts { calls: each.calls * requests, thrown: 0, bytecodes: each.bytecodes * requests };
    assert_eq!(tree.of_method(method), expected, "{when}");
}

fn port(running: &mut Running) -> u16 {
    running.ask("port").parse().or_fail("the port")
}

fn attached_under_load(server: Server) {
    for bench in server.benches() {
        let jdk = format!("JDK {} {}", bench.jdk.feature, server.name());
        let directory = build::fresh(&format!("servers-{}-{}", server.name(), bench.jdk.feature));
        let file = |name: &str| directory.join(name);
        let mut running = server.start(&bench, &[], &directory);
        let mut load = server.load(&bench, port(&mut running), PAUSE, &directory);
        load.start();
        let before = load.go_on(2000);
        load.longest();

        // In mid-load: attach, look in both ways, go on.
        let at_first = load.answered();
        let attach = running.done(&format!("out={}", file("load.cprof").display()));
        let attached = load.answered();
        let coming = load.longest();
        load.go_on(500);
        // A request that was being served when the agent came is not counted.
        let at_least = load.answered() - attached - CLIENTS;
        running.done(&format!("command=snapshot,out={}", file("now.cprof").display()));
        let at_most = load.answered() + CLIENTS - at_first;
        let now = handled(server, &file("now.cprof"));
        assert!((at_least..=at_most).contains(&now), "{jdk}: {now}, not from {at_least} to {at_most}");
        let outside = file("outside.cprof");
        let ending = live::cprof(&["snapshot", &running.pid().to_string(), "-q", "-o", text(&outside)]);
        let warns = ending.stderr.lines().filter(|line| !line.contains("frames were active when cprof came")).count();
        assert_eq!((ending.code, warns), (0, 0), "{jdk}: {}", ending.stderr);
        let seen = handled(server, &outside);
        assert!((now..=load.answered() + CLIENTS - at_first).contains(&seen), "{jdk}: {seen} after {now}");
        let looking = load.longest();
        let during = load.go_on(1000);
        load.longest();

        // Leave, and come again, in mid-load.
        running.done("command=detach");
        assert!(handled(server, &file("load.cprof")) >= seen, "{jdk}");
        let leaving = load.longest();
        let after = load.go_on(1000);
        running.done(&format!("out={}", file("both.cprof").display()));
        load.go_on(500);
        let requests = load.stop();

        // All is quiet: what is asked for from here is what is counted.
        running.done(&format!("command=snapshot,out={}", file("quiet.cprof").display()));
        load.ask(137);
        running.done("command=detach");
        assert_eq!(handled(server, &file("both.cprof")) - handled(server, &file("quiet.cprof")), 137, "{jdk}");
        load.ask(50);
        running.done(&format!("out={}", file("third.cprof").display()));
        load.ask(211);
        running.done("command=detach");
        load.ask(50);
        assert_requests(server, &file("third.cprof"), 211, &jdk);
        assert_eq!(running.end(), (String::new(), String::new()), "{jdk}");
        let (pause, total) = (&attach["pause_ms"], &attach["total_ms"]);
        println!(
            "{jdk}: {requests} requests; per second {before:.0} from its start, {during:.0} attached, {after:.0} right afterwards"
        );
        println!("  attaching took {total} ms and stopped the threads for {pause} ms at most");
        println!("  longest request: {coming:.0?} while it came, {looking:.0?} with snapshots, {leaving:.0?} while it left");
    }
}

#[test]
fn an_http_server_under_load_counts_every_request_and_fails_none() {
    attached_under_load(Server::Http);
}

#[test]
fn so_it_does_with_a_virtual_thread_for_each_request() {
    attached_under_load(Server::VirtualHttp);
}

#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn tomcat_under_load_counts_every_request_and_fails_none() {
    attached_under_load(Server::Tomcat);
}

#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn a_database_under_load_counts_every_query_and_fails_none() {
    attached_under_load(Server::Database);
}

/// Requests before anything is compared: what is done once is done by then, and anew after attaching, when call sites are linked
/// again.
const WARM: u64 = 400;
/// Requests that are compared.
const COMPARED: u64 = 100;

/// What [`COMPARED`] requests cost below the handler, with the agent in the JVM already.
fn cost(server: Server, running: &mut Running, load: &mut dyn Load, directory: &Path) -> Tree {
    let mut snapshot = || {
        let file = directory.join("snapshot.cprof");
        running.done(&format!("command=snapshot,out={}", file.display()));
        Report::read(&file).tree
    };
    load.ask(WARM);
    let before = snapshot();
    load.ask(COMPARED);
    let (class, method, _) = server.handler();
    // Hidden classes that are there when cprof comes are not covered; what they call is.
    let hidden = |method: &str| method.starts_with("java.lang.invoke.LambdaForm$");
    snapshot().since(&before).below(&[format!("{class}.{method}")], hidden)
}

fn counts_as_at_launch(server: Server, bench: &Bench) {
    let directory = build::fresh(&format!("servers-launched-{}-{}", server.name(), bench.jdk.feature));
    let (class, method, _) = server.handler();
    let root = format!("root={class}.{method},out={}", directory.join("end.cprof").display());
    let agent = build::agent_with(&format!("{root},quiet"));
    let mut launched = server.start(bench, &[agent], &directory);
    let mut load = server.load(bench, port(&mut launched), Duration::ZERO, &directory);
    let expected = cost(server, &mut launched, &mut *load, &directory);
    assert_eq!(launched.end(), (String::new(), String::new()));
    let (method, each) = server.known();
    assert_eq!(expected.of_method(method).calls, each.calls * COMPARED);

    let mut running = server.start(bench, &[], &directory);
    let mut load = server.load(bench, port(&mut running), Duration::ZERO, &directory);
    load.start();
    load.go_on(2000);
    running.done(&root);
    load.go_on(500);
    load.stop();
    let attached = cost(server, &mut running, &mut *load, &directory);
    let jdk = bench.jdk.feature;
    println!("JDK {jdk} {}: {} contexts, {}", server.name(), expected.len(), expected.total());
    assert_eq!(attached.difference("attached", &expected, "launched"), None, "JDK {jdk} {}", server.name());
    running.done("command=detach");
    assert_eq!(running.end(), (String::new(), String::new()));
}

#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn requests_count_as_at_launch() {
    // Not the database: it looks expressions up by their identity hash codes, in tables whose order depends on what was asked
    // before.
    let server = Server::Tomcat;
    server.benches().iter().for_each(|bench| counts_as_at_launch(server, bench));
}
