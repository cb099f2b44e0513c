//! A bounded load of HTTP requests on the loopback interface, every answer of which is checked.

use crate::OrFail;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Threads that send requests, each one at a time.
pub const CLIENTS: u64 = 4;
/// Between two requests of a client.
const PAUSE: Duration = Duration::from_millis(1);
/// No client sends more.
const MOST: u64 = 60_000;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection that is kept open.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects to a server of this machine.
    pub fn connect(port: u16) -> Client {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).or_fail("connecting to the server");
        stream.set_nodelay(true).or_fail("sending without delay");
        stream.set_read_timeout(Some(PATIENCE)).or_fail("setting a timeout");
        Client { stream: BufReader::new(stream) }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).or_fail("reading the server's answer");
        line.trim_end().to_owned()
    }

    /// The body of the answer, which must be 200.
    pub fn get(&mut self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).or_fail("sending a request");
        assert_eq!(self.line(), "HTTP/1.1 200 OK");
        let mut length = 0;
        loop {
            let header = self.line().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().or_fail(&header);
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).or_fail("reading the server's answer");
        String::from_utf8(body).or_fail("the server's answer")
    }
}

/// [`CLIENTS`] threads that ask the same again and again, until they are stopped.
pub struct Load {
    answered: Arc<AtomicU64>,
    longest_us: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins. `answer`: what must come back each time.
    pub fn start(port: u16, path: &'static str, answer: &'static str) -> Load {
        let (answered, longest_us, stop) = <(Arc<AtomicU64>, Arc<AtomicU64>, Arc<AtomicBool>)>::default();
        let client = |_| {
            let (answered, longest_us, stop) = (answered.clone(), longest_us.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut client = Client::connect(port);
                for _ in 0..MOST {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let begin = Instant::now();
                    assert_eq!(client.get(path), answer);
                    longest_us.fetch_max(begin.elapsed().as_micros() as u64, Ordering::Relaxed);
                    answered.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(PAUSE);
                }
            })
        };
        let clients = (0..CLIENTS).map(client).collect();
        Load { answered, longest_us, stop, clients }
    }

    /// Requests answered so far. Each client may have sent one more.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }

    /// The longest time that an answer took since this was last asked.
    pub fn longest(&self) -> Duration {
        Duration::from_micros(self.longest_us.swap(0, Ordering::Relaxed))
    }

    /// Waits until so many more are answered; answers how many per second.
    pub fn go_on(&self, requests: u64) -> f64 {
        let (begin, until) = (Instant::now(), self.answered() + requests);
        while self.answered() < until {
            assert!(begin.elapsed() < PATIENCE, "the server does not answer {requests} requests");
            assert!(!self.clients.iter().all(JoinHandle::is_finished), "all clients have ended");
            std::thread::sleep(PAUSE);
        }
        requests as f64 / begin.elapsed().as_secs_f64()
    }

    /// Ends it when all requests that were sent are answered, and answers how many there were. Fails if one of them failed.
    pub fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().expect("a request failed");
        }
        self.answered.load(Ordering::SeqCst)
    }
}
