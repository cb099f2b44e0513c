//! HotSpot's attach protocol: how a JVM is told from outside to load an agent.
//!
//! A request is a version, a command and three arguments, each ended by a zero byte; the answer is a number, a line end, and text
//! (HotSpot, `os/posix/attachListener_posix.cpp`, `services/attachListener.cpp`; the same in JDK 9 to 25). Paths in it are the
//! JVM's, which may be in a container. How a JVM comes to listen: `super::waking`.

use super::jvm::Jvm;
use super::waking::{WAKING, connect};
use crate::process::{Stop, not_ours, own_user, user_name};
use cprof_instrument::abi::OLDEST_JDK;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Has a JVM not listen.
const DISABLING: &str = "-XX:+DisableAttachMechanism";
/// Environment variables with more options for a JVM, or for its launcher.
const OPTIONS: [&str; 3] = ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"];
/// Longest argument that a JVM takes (`AttachOperation::arg_length_max`).
const LONGEST: usize = 1024;
/// How long it may take to answer: weaving all loaded classes of a large server takes seconds.
pub const ANSWERING: Duration = Duration::from_secs(300);
/// How long a JVM that listens may be stopped before it is asked: longer than a look at a process takes.
pub const STANDING: Duration = Duration::from_secs(3);
/// A JVM's answer is a few lines.
const LONGEST_ANSWER: u64 = 1 << 20;

/// Why a JVM was not told.
#[derive(Debug, Error)]
pub enum AttachError {
    /// It must not be talked to by this user.
    #[error("{}", not_ours(*pid, *owner))]
    OtherUser {
        /// The process.
        pid: u32,
        /// Whose it is.
        owner: u32,
    },
    /// It would take this user for nobody.
    #[error(
        "JVM {pid} runs where this command's user is nobody (a user namespace, as of rootless containers); run cprof as {owner}, or inside"
    )]
    Nobody {
        /// The process.
        pid: u32,
        /// Whose it is.
        owner: String,
    },
    /// It was told not to listen.
    #[error(
        "JVM {pid} was started with -XX:+DisableAttachMechanism, so no agent can be attached; start it without, or with -agentpath"
    )]
    Disabled {
        /// The process.
        pid: u32,
    },
    /// Its JDK is too old.
    #[error("JVM {pid} is of JDK {version}; cprof attaches to JDK {OLDEST_JDK} and later")]
    TooOld {
        /// The process.
        pid: u32,
        /// Its version.
        version: String,
    },
    /// It has no handler for SIGQUIT, which would end it.
    #[error("JVM {pid} does not handle SIGQUIT, by which JVMs are woken: it is starting or ending. Try again")]
    Deaf {
        /// The process.
        pid: u32,
    },
    /// It could not start the thread that listens, and HotSpot ends a JVM that cannot (seen with JDK 17 and 25).
    #[error("JVM {pid} cannot start the thread that would answer, and HotSpot would end it for that: {why}")]
    NoThread {
        /// The process.
        pid: u32,
        /// Which limit it has reached, and the way out.
        why: String,
    },
    /// It did not listen in time.
    #[error("JVM {pid} did not answer within {} s; it may be stopped, have -XX:+DisableAttachMechanism in a file of options, or \
         its /tmp be unreachable. Try again", WAKING.as_secs())]
    Silent {
        /// The process.
        pid: u32,
    },
    /// It does nothing at all.
    #[error("JVM {pid} is stopped, {}, and was asked for nothing; try again when it goes on", stopped_by(*pid, *by))]
    Stopped {
        /// The process.
        pid: u32,
        /// By what.
        by: Stop,
    },
    /// The agent was still at it when nobody waited any longer.
    #[error("JVM {pid} has not answered within {} s, and is still at it, or is stopped; cprof list shows whether it is recorded", ANSWERING.as_secs())]
    Unfinished {
        /// The process.
        pid: u32,
    },
    /// It ended meanwhile.
    #[error("JVM {pid} ended before it answered")]
    Ended {
        /// The process.
        pid: u32,
    },
    /// What is at the socket's place is not the JVM's.
    #[error("{path} is not the JVM's socket: {what}; remove it and try again")]
    ForeignSocket {
        /// The place.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file that would tell the JVM to listen cannot be made, as there is another.
    #[error(
        "{path} belongs to {owner}, so that the JVM does not heed it and would print all its stacks instead; remove it and try again"
    )]
    ForeignTrigger {
        /// The place.
        path: PathBuf,
        /// Whose it is.
        owner: String,
    },
    /// A text that cannot be sent.
    #[error("{what} is too long for the JVM, which takes {LONGEST} bytes: {length}; {way}")]
    TooLong {
        /// What.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The way out.
        way: &'static str,
    },
    /// The JVM does not see the library.
    #[error(
        "JVM {pid} sees no file {library}: there is none, or it runs in a container or another root. Copy libcprof.so to a place that it sees, and \
         name that place as the JVM does with --agent"
    )]
    Invisible {
        /// The process.
        pid: u32,
        /// The path.
        library: String,
    },
    /// The JVM did not load the library.
    #[error("JVM {pid} did not load the agent: {text}")]
    NotLoaded {
        /// The process.
        pid: u32,
        /// What it said.
        text: String,
    },
    /// Something else.
    #[error("attaching to JVM {pid}: {doing}: {error}")]
    Io {
        /// The process.
        pid: u32,
        /// What was being done.
        doing: String,
        /// Why it failed.
        error: io::Error,
    },
}

fn stopped_by(pid: u32, by: Stop) -> String {
    match by {
        Stop::Signal => format!("by a signal (kill -CONT {pid} has it go on)"),
        Stop::Debugger => "by a debugger of the process".to_owned(),
    }
}

/// Has a JVM load an agent and call its `Agent_OnAttach` with these options, unless it is stopped for longer than `patience`. Answers
/// that function's result.
///
/// # Errors
/// See [`AttachError`]; nothing has been changed in the JVM then, but for [`AttachError::Unfinished`], when it is still at it.
pub fn load(jvm: &Jvm, library: &str, options: &str, patience: Duration) -> Result<i32, AttachError> {
    check(jvm, library, options)?;
    // "true": the path is absolute.
    result(jvm.process.pid, &ask(jvm, "load", [library, "true", options], patience)?)
}

/// Gives a JVM a command of the protocol's, which may be asked for nothing that [`load`] is not. Answers its answer.
pub(super) fn ask(jvm: &Jvm, command: &str, arguments: [&str; 3], patience: Duration) -> Result<String, AttachError> {
    let pid = jvm.process.pid;
    let mut stream = connect(&jvm.process)?;
    let since = Instant::now();
    while let Some(by) = jvm.process.is_stopped() {
        if since.elapsed() >= patience {
            return Err(AttachError::Stopped { pid, by });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let fail = |doing: &str| {
        let doing = doing.to_owned();
        move |error: io::Error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => AttachError::Ended { pid },
            // The time limit has passed.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => AttachError::Unfinished { pid },
            _ => AttachError::Io { pid, doing, error },
        }
    };
    stream.set_read_timeout(Some(ANSWERING)).map_err(fail("setting a time limit"))?;
    let request: String = ["1", command].iter().chain(&arguments).map(|text| format!("{text}\0")).collect();
    stream.write_all(request.as_bytes()).map_err(fail("sending the command"))?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer).map_err(fail("waiting for the answer"))?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// What can be known before the JVM is disturbed.
///
/// # Errors
/// See [`AttachError`].
pub fn check(jvm: &Jvm, library: &str, options: &str) -> Result<(), AttachError> {
    let process = &jvm.process;
    let (pid, own) = (process.pid, own_user());
    if own != 0 && own != process.user {
        return Err(AttachError::OtherUser { pid, owner: process.user });
    }
    // It would heed no file of his, print all stacks instead, and hang up on him.
    if !process.knows_user(own) {
        return Err(AttachError::Nobody { pid, owner: user_name(process.user) });
    }
    let disabled = || {
        let variables = OPTIONS.iter().filter_map(|name| process.variable(name));
        process.command_line().into_iter().chain(variables).any(|a| a.split_whitespace().any(|a| a == DISABLING))
    };
    if !jvm.attachable.unwrap_or_else(|| !disabled()) {
        return Err(AttachError::Disabled { pid });
    }
    if jvm.feature().is_some_and(|feature| feature < OLDEST_JDK) {
        return Err(AttachError::TooOld { pid, version: jvm.version.clone() });
    }
    if !process.is_alive() {
        return Err(AttachError::Ended { pid });
    }
    for (what, text, way) in [
        ("the path of libcprof.so", library, "copy it to a shorter one"),
        ("the options' text", options, "use shorter names, or patterns with *"),
    ] {
        if text.len() > LONGEST || text.contains('\0') {
            return Err(AttachError::TooLong { what, length: text.len(), way });
        }
    }
    if !process.path(library).is_file() {
        // One that has ended meanwhile sees no files.
        if process.is_ending() {
            return Err(AttachError::Ended { pid });
        }
        return Err(AttachError::Invisible { pid, library: library.to_owned() });
    }
    Ok(())
}

/// Reads the answer to `load`: a status, which JDK 25 gives as 0 even for libraries that are not there; then `return code: N` of
/// `Agent_OnAttach` if it was called, else why not.
fn result(pid: u32, answer: &str) -> Result<i32, AttachError> {
    let (status, text) = answer.split_once('\n').unwrap_or((answer, ""));
    if let Some(code) = text.lines().find_map(|line| line.strip_prefix("return code: ")?.trim().parse().ok()) {
        return Ok(code);
    }
    let mut text = text.trim().replace('\n', " ");
    if text.is_empty() {
        if status.trim().is_empty() {
            return Err(AttachError::Ended { pid });
        }
        text = format!("it answered {} and nothing more", status.trim());
    }
    let ways = [
        ("Dynamic agent loading is not enabled", "Start the JVM with -XX:+EnableDynamicAgentLoading, or with -agentpath."),
        ("only permitted in the live phase", "It is starting or ending; try again."),
    ];
    if let Some((_, way)) = ways.iter().find(|(of, _)| text.contains(of)) {
        text = format!("{}. {way}", text.trim_end_matches('.'));
    }
    Err(AttachError::NotLoaded { pid, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hotspot::jvm::Presence;
    use crate::process::Process;

    /// There may be no such JVM on a machine; this process is none, and is not disturbed.
    #[test]
    fn a_jvm_that_is_too_old_is_named_before_it_is_told_anything() {
        let process = Process::find(std::process::id()).unwrap();
        let old = |version: &str| Jvm {
            process: process.clone(),
            main: String::new(),
            version: version.to_owned(),
            attachable: Some(true),
            cprof: Presence::Absent,
            agent: None,
        };
        for version in ["1.8.0_402", "11.0.22", "16"] {
            let why = load(&old(version), "/nowhere/libcprof.so", "", STANDING).unwrap_err().to_string();
            assert!(why.ends_with(&format!("is of JDK {version}; cprof attaches to JDK 17 and later")), "{why}");
        }
        for version in ["17.0.19", "17", "25-ea", ""] {
            let why = load(&old(version), "/nowhere/libcprof.so", "", STANDING).unwrap_err();
            assert!(matches!(why, AttachError::Invisible { .. }), "{version}: {why}");
        }
    }

    #[test]
    fn answers() {
        assert_eq!(result(1, "0\nreturn code: 0\n").unwrap(), 0);
        assert_eq!(result(1, "0\nreturn code: -1\n").unwrap(), -1);
        let why = |answer| result(1, answer).unwrap_err().to_string();
        assert!(
            why("0\n/x/libcprof.so was not loaded.\nno such file\n").ends_with("/x/libcprof.so was not loaded. no such file")
        );
        assert!(why("101\n").contains("it answered 101"));
        assert!(why("").contains("ended"));
        assert!(why("1\nDynamic agent loading is not enabled.").contains("-XX:+EnableDynamicAgentLoading"));
        assert!(why("1\nDynamic agent loading is only permitted in the live phase").contains("live phase. It is starting"));
        assert!(why("1\nDynamic agent loading is only permitted in the live phase.").contains("live phase. It is starting"));
    }
}
