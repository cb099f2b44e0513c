//! Attaching to the JDK's own HTTP server while it serves requests: none of them fails, and what is counted is what was asked for.

use cprof_tests::attach::{Answer, Running};
use cprof_tests::http::{CLIENTS, Client, Load};
use cprof_tests::run::Report;
use cprof_tests::tree::Counts;
use cprof_tests::{OrFail, build, live, run};
use std::path::Path;

const PATH: &str = "/fib/12";
const ANSWER: &str = "144";
/// Calls of `fib` for one request: 2·fib(13) − 1.
const CALLS: u64 = 2 * LEAVES - 1;
/// Those that call no other: fib(13).
const LEAVES: u64 = 233;
/// Bytecodes of `fib` for one request: 6 in a call that calls no other, 13 in one that does.
const BYTECODES: u64 = 6 * LEAVES + 13 * (CALLS - LEAVES);

const HANDLE: &str = "HttpServe$Fib.handle(Lcom/sun/net/httpserver/HttpExchange;)V";

fn assert_ok(answer: &Answer) {
    assert_eq!(answer.get("error"), None, "{answer:?}");
}

/// The calls of the handler.
fn handled(profile: &Path) -> u64 {
    live::calls(profile, "HttpServe$Fib", "handle")
}

/// Fails unless the profile has exactly what these requests cost.
fn assert_requests(profile: &Path, requests: u64, when: &str) {
    let tree = Report::read(profile).tree;
    let calls = |method: &str| tree.of_method(method).calls;
    assert_eq!(calls(HANDLE), requests, "{when}");
    assert_eq!(calls("HttpServe.page(I)Ljava/lang/String;"), requests, "{when}");
    let expected = Counts { calls: CALLS * requests, thrown: 0, bytecodes: BYTECODES * requests };
    assert_eq!(tree.of_method("HttpServe.fib(I)I"), expected, "{when}");
}

fn attached_under_load(how: &str, oldest: u32) {
    for bench in run::benches().into_iter().filter(|bench| bench.jdk.feature >= oldest) {
        let jdk = format!("JDK {} {how}", bench.jdk.feature);
        let directory = build::fresh(&format!("servers-{how}-{}", bench.jdk.feature));
        let file = |name: &str| directory.join(name);
        let mut java = bench.jdk.command("java");
        // Otherwise the server waits for 40 ms with each second part of an answer.
        java.args(["-Xmx128m", "-Dsun.net.httpserver.nodelay=true", "-cp", &bench.built.class_path, "HttpServe"]);
        if !how.is_empty() {
            java.arg(how);
        }
        let mut server = Running::start(java, &directory);
        let port = server.ask("port").parse().or_fail("the port");
        let load = Load::start(port, PATH, ANSWER);
        load.go_on(2000);
        let before = load.go_on(2000);
        load.longest();

        // In mid-load: attach, look in both ways, go on.
        let at_first = load.answered();
        let attach = server.command(&format!("out={}", file("load.cprof").display()));
        assert_ok(&attach);
        let attached = load.answered();
        let coming = load.longest();
        load.go_on(500);
        // A request that was being served when the agent came is not counted.
        let at_least = load.answered() - attached - CLIENTS;
        assert_ok(&server.command(&format!("command=snapshot,out={}", file("now.cprof").display())));
        let at_most = load.answered() + CLIENTS - at_first;
        let now = handled(&file("now.cprof"));
        assert!((at_least..=at_most).contains(&now), "{jdk}: {now}, not from {at_least} to {at_most}");
        let outside = file("outside.cprof");
        let ending = live::cprof(&["snapshot", &server.pid().to_string(), "-q", "-o", outside.to_str().expect("a text")]);
        let warns = ending.stderr.lines().filter(|line| !line.contains("frames were active when cprof came")).count();
        assert_eq!((ending.code, warns), (0, 0), "{jdk}: {}", ending.stderr);
        let seen = handled(&outside);
        assert!((now..=load.answered() + CLIENTS - at_first).contains(&seen), "{jdk}: {seen} after {now}");
        let looking = load.longest();
        let during = load.go_on(2000);
        load.longest();

        // Leave, and come again, in mid-load.
        assert_ok(&server.command("command=detach"));
        assert!(handled(&file("load.cprof")) >= seen, "{jdk}");
        let leaving = load.longest();
        load.go_on(1000);
        let after = load.go_on(2000);
        assert_ok(&server.command(&format!("out={}", file("both.cprof").display())));
        load.go_on(500);
        let requests = load.end();

        // All is quiet: what is asked for from here is what is counted.
        assert_ok(&server.command(&format!("command=snapshot,out={}", file("quiet.cprof").display())));
        let mut client = Client::connect(port);
        let mut ask = |requests: u64| (0..requests).for_each(|_| assert_eq!(client.get(PATH), ANSWER));
        ask(137);
        assert_ok(&server.command("command=detach"));
        assert_eq!(handled(&file("both.cprof")) - handled(&file("quiet.cprof")), 137, "{jdk}");
        ask(50);
        assert_ok(&server.command(&format!("out={}", file("third.cprof").display())));
        ask(211);
        assert_ok(&server.command("command=detach"));
        ask(50);
        assert_requests(&file("third.cprof"), 211, &jdk);
        assert_eq!(server.end(), (String::new(), String::new()), "{jdk}");
        let (pause, total) = (&attach["pause_ms"], &attach["total_ms"]);
        println!("{jdk}: {requests} requests; per second {before:.0} before, {during:.0} attached, {after:.0} afterwards");
        println!("  attaching took {total} ms and stopped the threads for {pause} ms at most");
        println!("  longest request: {coming:.0?} while it came, {looking:.0?} with snapshots, {leaving:.0?} while it left");
    }
}

#[test]
fn an_http_server_under_load_counts_every_request_and_fails_none() {
    attached_under_load("", 17);
}

#[test]
fn so_it_does_with_a_virtual_thread_for_each_request() {
    attached_under_load("virtual", 21);
}
