//! What attaching to a busy server costs, measured once: a line of JSON for each JDK. `scripts/bench --only attach` makes tables
//! of many.
//!
//! ```text
//! cargo run --release -p cprof-tests --example attach-figures -- SERVER SECONDS [ROUNDS | include=PATTERN]
//! ```
//!
//! SERVER is http, tomcat or h2; requests are counted for SECONDS at a time. Two JVMs run the same server, and are asked in
//! turns: cprof comes to one of them and leaves, and never to the other, by which is seen what the machine did meanwhile. With a
//! pattern it weaves only the classes that fit.
//!
//! With ROUNDS there is a third one, to which `benches/retransform/` comes twice instead, and all are asked for as long: what is
//! measured is their speed, that many times, after cprof has left.

use cprof_tests::attach::Running;
use cprof_tests::load::Load;
use cprof_tests::run::Bench;
use cprof_tests::servers::Server;
use cprof_tests::{OrFail, build};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Windows that pass before anything is measured, and before what is measured is called steady: the compilers are busy until
/// then.
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

    /// Sends the agent a command in mid-load, and waits until the compilers are done with what came of it. `before`: requests per
    /// second.
    fn command(&mut self, command: &str, before: f64) -> Value {
        self.load.start();
        std::thread::sleep(self.window / 4);
        self.load.longest();
        let (begin, answered) = (Instant::now(), self.load.answered());
        let answer = self.server.done(command);
        let during = (self.load.answered() - answered) as f64 / begin.elapsed().as_secs_f64();
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

fn measure(server: Server, bench: &Bench, window: Duration, include: &str) -> Value {
    let directories = ["touched", "never"].map(|name| build::fresh(&format!("figures-{}-{name}", server.name())));
    let [mut touched, mut never] = directories.each_ref().map(|directory| Busy::start(server, bench, window, directory));
    touched.warm_up();
    never.warm_up();
    let (before, never_before) = (touched.steady(), never.steady());
    let out = directories[0].join("app.cprof");
    let coming = touched.command(&format!("{include}out={}", out.display()), before);
    // The other one shows whether the machine is slower or faster than it was.
    let steady = |touched: &mut Busy, never: &mut Busy| (touched.steady() / before) / (never.steady() / never_before);
    let attached = steady(&mut touched, &mut never);
    let leaving = touched.command("command=detach", before);
    let afterwards = steady(&mut touched, &mut never);
    json!({
        "jdk": bench.jdk.feature,
        "per_second": before,
        "coming": coming,
        "attached": attached,
        "leaving": leaving,
        "afterwards": afterwards,
    })
}

/// Each round's speed of a server that cprof has left, and of one that was only retransformed, relative to their own before and
/// to that of a third one.
fn follow(server: Server, bench: &Bench, window: Duration, rounds: u32) -> Value {
    let directories =
        ["touched", "retransformed", "never"].map(|name| build::fresh(&format!("figures-{}-{name}", server.name())));
    let jar = retransform_jar(bench, &directories[1]);
    let [mut touched, mut retransformed, mut never] =
        directories.each_ref().map(|directory| Busy::start(server, bench, window, directory));
    for busy in [&mut touched, &mut retransformed, &mut never] {
        busy.warm_up();
        busy.warm_up();
    }
    let before = [touched.steady(), retransformed.steady(), never.steady()];
    let coming = format!("out={}", directories[0].join("app.cprof").display());
    for command in [&*coming, "command=detach"] {
        touched.command(command, before[0]);
        retransformed.load.start();
        retransformed.server.java_agent(&jar, "");
        std::thread::sleep(window * (WARM + 1));
        retransformed.load.stop();
        never.warm_up();
    }
    let mut speed = || {
        let now = [touched.steady(), retransformed.steady(), never.steady()];
        let of_never = |i: usize| (now[i] / before[i]) / (now[2] / before[2]);
        json!({ "touched": of_never(0), "retransformed": of_never(1) })
    };
    json!({ "jdk": bench.jdk.feature, "per_second": before, "later": (0..rounds).map(|_| speed()).collect::<Vec<_>>() })
}

fn retransform_jar(bench: &Bench, directory: &Path) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/retransform/Retransform.java");
    build::must(bench.jdk.command("javac").arg("-d").arg(directory).arg(sources));
    build::agent_jar_of(&bench.jdk, directory, "Retransform", &["Retransform.class"])
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let server =
        |name: &String| [Server::Http, Server::Tomcat, Server::Database].into_iter().find(|server| server.name() == name);
    let number = |text: &String| text.parse().ok().filter(|&number: &u32| number > 0);
    let (server, seconds, rounds, include) = match &arguments[..] {
        [name, seconds] => (server(name), number(seconds), Some(0), String::new()),
        [name, seconds, include] if include.starts_with("include=") => {
            (server(name), number(seconds), Some(0), format!("{include},"))
        }
        [name, seconds, rounds] => (server(name), number(seconds), number(rounds), String::new()),
        _ => (None, None, None, String::new()),
    };
    let (Some(server), Some(seconds), Some(rounds)) = (server, seconds, rounds) else {
        eprintln!(
            "attach-figures: expected http, tomcat or h2, seconds, and perhaps rounds or include=PATTERN, got {arguments:?}"
        );
        std::process::exit(2);
    };
    let window = Duration::from_secs(seconds.into());
    for bench in server.benches() {
        println!(
            "{}",
            if rounds == 0 { measure(server, &bench, window, &include) } else { follow(server, &bench, window, rounds) }
        );
    }
}
