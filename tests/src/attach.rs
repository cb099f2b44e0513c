//! A JVM that runs already, and commands to the agent in it by HotSpot's attach protocol.

use crate::{OrFail, PATIENCE, build, within};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a program may take for a request: some are asked under the oracle.
const ANSWER: Duration = Duration::from_secs(600);

/// A running program that reads requests and prints a line for each.
pub struct Running {
    child: Child,
    requests: Option<ChildStdin>,
    /// What it prints. That and its errors are read all the while: it would wait where a pipe is full.
    lines: Receiver<io::Result<String>>,
    errors: Option<JoinHandle<io::Result<String>>>,
    directory: PathBuf,
    agent: PathBuf,
    commands: u32,
}

/// Where a JVM listens once it was told to. One that is killed leaves it, and a later JVM of its id that belongs to another user
/// cannot remove it, and so never listens.
pub fn socket(pid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/.java_pid{pid}"))
}

/// The file by which cprof tells it to.
pub fn trigger(pid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/.attach_pid{pid}"))
}

/// Removes what an earlier process of this id has left. This one has just been started: nothing is its own yet.
pub(crate) fn forget_earlier(pid: u32) {
    for left in [socket(pid), trigger(pid)] {
        let _ = std::fs::remove_file(left); // there hardly ever is one
    }
}

/// Removes what a JVM of this id, which is gone, may have left.
pub(crate) fn forget(pid: u32) {
    let _ = std::fs::remove_file(socket(pid)); // it did not, unless it was killed
}

/// The answer to a command, by key.
pub type Answer = HashMap<String, String>;

impl Running {
    /// Starts a program, which prints "ready" first. `directory`: for files.
    pub fn start(java: Command, directory: &Path) -> Running {
        Running::start_for(java, directory, &build::agent())
    }

    /// As [`Running::start`], for another build of the agent.
    pub fn start_for(mut java: Command, directory: &Path, agent: &Path) -> Running {
        let mut child = java
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .or_fail(format_args!("starting {java:?}"));
        forget_earlier(child.id());
        let requests = child.stdin.take();
        let (answers, errors) = (child.stdout.take().expect("it is piped"), child.stderr.take().expect("it is piped"));
        let (to, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut answers = BufReader::new(answers);
            loop {
                let mut line = String::new();
                let read = match answers.read_line(&mut line) {
                    Ok(0) => return,
                    read => read.map(|_| line),
                };
                let failed = read.is_err();
                // Nobody listens where a test failed.
                if to.send(read).is_err() || failed {
                    return;
                }
            }
        });
        let errors = Some(std::thread::spawn(|| io::read_to_string(errors)));
        let running =
            Running { child, requests, lines, errors, directory: directory.to_owned(), agent: agent.to_owned(), commands: 0 };
        assert_eq!(running.line(), "ready");
        running
    }

    /// The next line that it prints; `None` at its end.
    fn next(&self) -> Option<String> {
        match self.lines.recv_timeout(ANSWER) {
            Ok(line) => Some(line.or_fail("reading what the program prints")),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the program in {} neither answers nor ends", self.directory.display()),
        }
    }

    fn line(&self) -> String {
        self.next().unwrap_or_default().trim_end().to_owned()
    }

    /// Sends a line and answers the one that comes back.
    pub fn ask(&mut self, request: &str) -> String {
        let to = self.requests.as_mut().expect("it has not been ended");
        writeln!(to, "{request}").or_fail("sending a request");
        self.line()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The file that the answer to the next command will be in.
    pub fn next_reply(&self) -> PathBuf {
        self.directory.join(format!("reply-{}", self.commands + 1))
    }

    /// Sends a command to the agent. Answers what the JVM said, and the agent if it did.
    pub fn tell(&mut self, text: &str) -> (String, Option<String>) {
        let reply = self.next_reply();
        self.commands += 1;
        let comma = if text.is_empty() { "" } else { "," };
        let options = format!("{text}{comma}reply={}", reply.display());
        let said = load(self.child.id(), &self.agent.display().to_string(), true, &options);
        let text = std::fs::read_to_string(&reply).ok();
        if text.is_some() {
            std::fs::remove_file(&reply).or_fail(reply.display());
        }
        (said, text)
    }

    /// Sends a command to the agent, which must answer.
    pub fn command(&mut self, text: &str) -> Answer {
        let (said, reply) = self.tell(text);
        let text = reply.unwrap_or_else(|| panic!("no reply to {text}; the JVM said {said:?}"));
        let mut answer = Answer::new();
        for line in text.lines() {
            let (key, value) = line.split_once(": ").unwrap_or((line, ""));
            answer.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
        answer
    }

    /// As [`Running::command`], of what must be done.
    #[track_caller]
    pub fn done(&mut self, text: &str) -> Answer {
        let answer = self.command(text);
        assert_eq!(answer.get("error"), None, "{text} in {}: {answer:?}", self.directory.display());
        answer
    }

    /// Loads a Java agent, or calls it again.
    pub fn java_agent(&self, jar: &Path, options: &str) {
        let said = load(self.child.id(), "instrument", false, &format!("{}={options}", jar.display()));
        // The protocol's result, and the library's.
        assert!(said.starts_with("0\n") && said.ends_with("0\n"), "the JVM said {said:?} to {}", jar.display());
    }

    /// A field of the process's status in kB, or a plain number.
    pub fn status(&self, field: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).or_fail("reading its status");
        let line = text.lines().find(|line| line.starts_with(field)).unwrap_or_else(|| panic!("no {field}"));
        line.split_whitespace().nth(1).expect("a value").parse().or_fail(line)
    }

    /// The files that it has open.
    pub fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).or_fail("reading its files").count()
    }

    /// Ends the program; answers what else it printed on stdout, and what on stderr that was not the JVM's warning of a dynamic
    /// agent.
    pub fn end(mut self) -> (String, String) {
        self.requests = None;
        let stdout: String = std::iter::from_fn(|| self.next()).collect();
        let errors = self.errors.take().expect("it has not been ended").join().expect("it only reads");
        let stderr = errors.or_fail("reading its errors");
        let status = self.child.wait().or_fail("waiting for the program");
        assert!(status.success(), "{status}: {stderr}");
        let lines: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("WARNING: ")).collect();
        (stdout, lines.join("\n"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless a test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
        forget(self.child.id());
    }
}

/// Loads an agent library into a JVM of this user (attachListener_linux.cpp): a file in its working directory and SIGQUIT make it
/// listen. `library`: a path if `absolute`, else the name of one of the JDK's.
fn load(pid: u32, library: &str, absolute: bool, options: &str) -> String {
    let socket = socket(pid);
    if !socket.exists() {
        let trigger = format!("/proc/{pid}/cwd/.attach_pid{pid}");
        std::fs::write(&trigger, "").or_fail(&trigger);
        crate::signal(pid, libc::SIGQUIT);
        within(PATIENCE, "the JVM to listen", || if socket.exists() { Ok(()) } else { Err("it does not") });
        std::fs::remove_file(&trigger).or_fail(&trigger);
    }
    let mut stream = UnixStream::connect(&socket).or_fail(socket.display());
    stream.set_read_timeout(Some(PATIENCE)).or_fail("setting a timeout");
    let request = format!("1\0load\0{library}\0{absolute}\0{options}\0");
    stream.write_all(request.as_bytes()).or_fail("sending the command");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).or_fail("waiting for the JVM");
    answer
}
