//! What attaching to a busy server costs, measured once: a line of JSON for each JDK. `scripts/bench --only attach` makes tables of many.
//!
//! ```text
//! cargo run --release -p cprof-tests --example attach-figures -- SERVER SECONDS [MINUTES]
//! ```
//!
//! SERVER is http, tomcat or h2; requests are counted for SECONDS at a time. Two JVMs run the same server, and are asked in turns: cprof comes
//! to one of them and leaves, and never to the other, by which is seen what the machine did meanwhile. After cprof has left, both are asked
//! for so many MINUTES more.

use cprof_tests::attach::Running;
use cprof_tests::load::Load;
use cprof_tests::run::Bench;
use cprof_tests::servers::Server;
use cprof_tests::{OrFail, build};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Windows that pass before anything is measured, and before what is measured is called steady: the compilers are busy until then.
const WARM: u32 = 4;

/// A server and its clients, which do not pause between requests.
struct Busy {
    server: Running,
    load: Box<dyn Load>,
    window: Duration,
}

impl Busy {
    fn start(server: Server, bench: &Bench, window: Duration, directory: &Path) -> Busy {
        let mut running = server.start(bench, &[], directory);
        let port = running.ask("port").parse().or_fail("the port");
        let load = server.load(bench, port, Duration::ZERO, directory);
        Busy { server: running, load, window }
    }

    /// Requests per second when nothing else changes.
    fn steady(&mut self) -> f64 {
        self.load.start();
        std::thread::sleep(self.window / 4);
        let rate = self.load.rate(self.window);
        self.load.stop();
        assert!(rate > 0.0, "no request was answered in {:?}: this machine is too busy to measure anything", self.window);
        rate
    }

    fn warm_up(&mut self) {
        self.load.start();
        std::thread::sleep(self.window * WARM);
        self.load.stop();
    }

    /// Sends the agent a command in mid-load, and waits until the compilers are done with what came of it. `before`: requests per second.
    fn command(&mut self, command: &str, before: f64) -> Value {
        self.load.start();
        std::thread::sleep(self.window / 4);
        self.load.longest();
        let (begin, answered) = (Instant::now(), self.load.answered());
        let answer = self.server.command(command);
        let during = (self.load.answered() - answered) as f64 / begin.elapsed().as_secs_f64();
        assert_eq!(answer.get("error"), None, "{answer:?}");
        let longest = self.load.longest();
        let first = self.load.rate(self.window);
        std::thread::sleep(self.window * WARM);
        self.load.stop();
        let number = |key: &str| answer[key].parse::<u64>().or_fail(key);
        json!({
            "pause_ms": number("pause_ms"),
            "total_ms": number("total_ms"),
            "longest_ms": longest.as_millis() as u64,
            "during": during / before,
            "first": first / before,
        })
    }
}

fn measure(server: Server, bench: &Bench, window: Duration, minutes: u32) -> Value {
    let directories = ["touched", "never"].map(|name| build::fresh(&format!("figures-{}-{name}", server.name())));
    let [mut touched, mut never] = directories.each_ref().map(|directory| Busy::start(server, bench, window, directory));
    touched.warm_up();
    never.warm_up();
    let (before, never_before) = (touched.steady(), never.steady());
    let out = directories[0].join("app.cprof");
    let coming = touched.command(&format!("out={}", out.display()), before);
    // The other one shows whether the machine is slower or faster than it was.
    let steady = |touched: &mut Busy, never: &mut Busy| (touched.steady() / before) / (never.steady() / never_before);
    let attached = steady(&mut touched, &mut never);
    let leaving = touched.command("command=detach", before);
    let afterwards = steady(&mut touched, &mut never);
    // By the half minutes that each has worked.
    let mut later = Vec::new();
    for _ in 0..minutes * 2 {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            touched.warm_up();
            never.warm_up();
        }
        later.push(steady(&mut touched, &mut never));
    }
    json!({
        "jdk": bench.jdk.feature,
        "per_second": before,
        "coming": coming,
        "attached": attached,
        "leaving": leaving,
        "afterwards": afterwards,
        "later": later,
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = [Server::Http, Server::Tomcat, Server::Database];
    let (server, seconds, minutes) = match &arguments[..] {
        [name, seconds, minutes @ ..] if minutes.len() <= 1 => {
            let minutes = minutes.first().map_or(Some(0), |minutes| minutes.parse().ok());
            (all.into_iter().find(|server| server.name() == name), seconds.parse().ok(), minutes)
        }
        _ => (None, None, None),
    };
    let (Some(server), Some(seconds), Some(minutes)) = (server, seconds, minutes) else {
        eprintln!("attach-figures: expected http, tomcat or h2, seconds, and perhaps minutes, got {arguments:?}");
        std::process::exit(2);
    };
    for bench in server.benches() {
        println!("{}", measure(server, &bench, Duration::from_secs(seconds), minutes));
    }
}
