//! Servers that cprof is attached to while they are busy, and what a request costs in each of them.

use crate::OrFail;
use crate::attach::Running;
use crate::build;
use crate::http::HttpLoad;
use crate::load::{CLIENTS, Load};
use crate::run::{self, Bench};
use crate::tree::Counts;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// The JDK's HTTP server.
    Http,
    /// The same with a virtual thread for each request.
    VirtualHttp,
    /// Tomcat, from Maven Central.
    Tomcat,
    /// The database H2 over TCP, from Maven Central. Its clients are in a JVM of their own.
    Database,
}

/// What `calls` of `fib` cost: 6 bytecodes in a call that calls no other, 13 in one that does; of `2n + 1` calls, `n` do.
const fn fib(calls: u64) -> Counts {
    Counts { calls, thrown: 0, bytecodes: 6 * calls.div_ceil(2) + 13 * (calls / 2) }
}

impl Server {
    /// For messages and files.
    pub fn name(self) -> &'static str {
        match self {
            Server::Http => "http",
            Server::VirtualHttp => "virtual",
            Server::Tomcat => "tomcat",
            Server::Database => "h2",
        }
    }

    /// The JDKs that it runs on, with what it needs.
    pub fn benches(self) -> Vec<Bench> {
        match self {
            Server::Http => run::benches(),
            Server::VirtualHttp => run::benches_since(21),
            Server::Tomcat | Server::Database => run::benches_with(&build::SERVERS),
        }
    }

    /// Starts it; a line asked of it answers its port. `flags`: more of the JVM's. `directory`: for files.
    pub fn start(self, bench: &Bench, flags: &[String], directory: &Path) -> Running {
        let mut java = bench.jdk.command("java");
        java.args(["-Xmx128m", "-cp", &bench.built.class_path]).args(flags);
        match self {
            // Otherwise the server waits for 40 ms with each second part of an answer.
            Server::Http => java.args(["-Dsun.net.httpserver.nodelay=true", "HttpServe"]),
            Server::VirtualHttp => java.args(["-Dsun.net.httpserver.nodelay=true", "HttpServe", "virtual"]),
            Server::Tomcat => java.arg("TomcatServe").arg(directory.join("tomcat")),
            Server::Database => java.args(["-Dh2.bindAddress=127.0.0.1", "DatabaseServe"]),
        };
        Running::start(java, directory)
    }

    /// Clients for it. `pause`: between two requests of a client.
    pub fn load(self, bench: &Bench, port: u16, pause: Duration, directory: &Path) -> Box<dyn Load> {
        if self == Server::Database {
            return Box::new(DatabaseLoad::start(bench, port, pause, directory));
        }
        Box::new(HttpLoad::new(port, "/fib/12", "144", pause))
    }

    /// Class, method and descriptor of what is called once for each request.
    pub fn handler(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Server::Http | Server::VirtualHttp => ("HttpServe$Fib", "handle", "(Lcom/sun/net/httpserver/HttpExchange;)V"),
            Server::Tomcat => (
                "TomcatServe$Fib",
                "doGet",
                "(Ljakarta/servlet/http/HttpServletRequest;Ljakarta/servlet/http/HttpServletResponse;)V",
            ),
            Server::Database => ("org.h2.command.CommandContainer", "query", "(J)Lorg/h2/result/ResultInterface;"),
        }
    }

    /// The method whose counts are known, and what it costs for a request.
    pub fn known(self) -> (&'static str, Counts) {
        match self {
            // fib(12): 2·fib(13) − 1 calls.
            Server::Http | Server::VirtualHttp => ("HttpServe.fib(I)I", fib(465)),
            Server::Tomcat => ("TomcatServe.fib(I)I", fib(465)),
            // fib(8) for each of five rows.
            Server::Database => {
                let row = fib(67);
                ("DatabaseServe.fib(I)I", Counts { calls: 5 * row.calls, thrown: 0, bytecodes: 5 * row.bytecodes })
            }
        }
    }
}

/// Clients of the database; see `tests/programs/servers/DatabaseLoad.java`.
struct DatabaseLoad {
    clients: Running,
}

impl DatabaseLoad {
    fn start(bench: &Bench, port: u16, pause: Duration, directory: &Path) -> DatabaseLoad {
        let mut java: Command = bench.jdk.command("java");
        java.args(["-Xmx128m", "-cp", &bench.built.class_path, "DatabaseLoad"]);
        java.args([port.to_string(), CLIENTS.to_string(), pause.as_millis().to_string()]);
        DatabaseLoad { clients: Running::start(java, directory) }
    }

    fn number(&mut self, request: &str) -> u64 {
        let answer = self.clients.ask(request);
        answer.parse().or_fail(format_args!("the database's clients said {answer:?} to {request}"))
    }
}

impl Load for DatabaseLoad {
    fn start(&mut self) {
        assert_eq!(self.clients.ask("start"), "started");
    }

    fn stop(&mut self) -> u64 {
        self.number("stop")
    }

    fn answered(&mut self) -> u64 {
        self.number("answered")
    }

    fn longest(&mut self) -> Duration {
        Duration::from_micros(self.number("longest"))
    }

    fn ask(&mut self, requests: u64) {
        assert_eq!(self.number(&format!("ask {requests}")), requests);
    }
}
