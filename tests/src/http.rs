//! HTTP requests.

use crate::OrFail;
use crate::PATIENCE;
use crate::load::{CLIENTS, Load};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No client sends more.
const MOST: u64 = 1_000_000;

/// A connection that is kept open.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects to a server of this machine.
    fn connect(port: u16) -> Client {
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
    fn get(&mut self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).or_fail("sending a request");
        let status = self.line();
        // The rest is a text that servers may leave out.
        assert_eq!(status.split(' ').nth(1), Some("200"), "{status}");
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

/// Clients that ask a server for the same page again and again.
pub struct HttpLoad {
    port: u16,
    path: &'static str,
    answer: &'static str,
    pause: Duration,
    answered: Arc<AtomicU64>,
    longest_us: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl HttpLoad {
    /// `answer`: what must come back each time; `pause`: between two requests of a client.
    pub fn new(port: u16, path: &'static str, answer: &'static str, pause: Duration) -> HttpLoad {
        let (answered, longest_us, stop) = Default::default();
        HttpLoad { port, path, answer, pause, answered, longest_us, stop, clients: Vec::new() }
    }

    fn client(&self) -> JoinHandle<()> {
        let (port, path, answer, pause) = (self.port, self.path, self.answer, self.pause);
        let (answered, longest_us, stop) = (self.answered.clone(), self.longest_us.clone(), self.stop.clone());
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
                if !pause.is_zero() {
                    std::thread::sleep(pause);
                }
            }
        })
    }
}

impl Load for HttpLoad {
    fn start(&mut self) {
        self.stop.store(false, Ordering::Relaxed);
        self.clients = (0..CLIENTS).map(|_| self.client()).collect();
    }

    fn stop(&mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            client.join().expect("a request failed");
        }
        self.answered()
    }

    fn answered(&mut self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }

    fn longest(&mut self) -> Duration {
        Duration::from_micros(self.longest_us.swap(0, Ordering::Relaxed))
    }

    fn ask(&mut self, requests: u64) {
        let mut client = Client::connect(self.port);
        (0..requests).for_each(|_| assert_eq!(client.get(self.path), self.answer));
    }
}
