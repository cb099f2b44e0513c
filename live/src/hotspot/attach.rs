//! HotSpot's attach protocol: how a JVM is told from outside to load an agent.
//!
//! A JVM listens at `/tmp/.java_pid<pid>` once it has been woken: by the file `.attach_pid<pid>` and SIGQUIT, which without that
//! file makes it print all stacks. A request is a version, a command and three arguments, each ended by a zero byte; the answer
//! is a number, a line end, and text (HotSpot, `os/posix/attachListener_posix.cpp`, `services/attachListener.cpp`; the same in
//! JDK 9 to 25). All paths are the JVM's, so a container's are looked up below `/proc/<pid>/root`, and the process id is the
//! container's.

use super::jvm::Jvm;
use crate::process::{Process, not_ours, own_user, user_name};
use cprof_instrument::abi::OLDEST_JDK;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, open, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Has a JVM not listen.
const DISABLING: &str = "-XX:+DisableAttachMechanism";
/// Environment variables with more options for a JVM, or for its launcher.
const OPTIONS: [&str; 3] = ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"];
/// Longest argument that a JVM takes (`AttachOperation::arg_length_max`).
const LONGEST: usize = 1024;
/// How long a JVM may take to listen: it does so at its next safepoint check, which swapping or a debugger may delay.
const WAKING: Duration = Duration::from_secs(10);
/// How long it is given to listen by itself where somebody else has woken it.
const WOKEN: Duration = Duration::from_secs(1);
/// How long it may take to answer: weaving all loaded classes of a large server takes seconds.
pub(super) const ANSWERING: Duration = Duration::from_secs(300);
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
    /// It did not listen in time.
    #[error("JVM {pid} did not answer within {} s; it may be stopped, have -XX:+DisableAttachMechanism in a file of options, or \
         its /tmp be unreachable. Try again", WAKING.as_secs())]
    Silent {
        /// The process.
        pid: u32,
    },
    /// The agent was still at it when nobody waited any longer.
    #[error("JVM {pid} has not answered within {} s, and is still at it; cprof list shows whether it is recorded", ANSWERING.as_secs())]
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

/// Has a JVM load an agent and call its `Agent_OnAttach` with these options. Answers that function's result.
///
/// # Errors
/// See [`AttachError`]; nothing has been changed in the JVM then, but for [`AttachError::Unfinished`], when it is still at it.
pub fn load(jvm: &Jvm, library: &str, options: &str) -> Result<i32, AttachError> {
    check(jvm, library, options)?;
    // "true": the path is absolute.
    result(jvm.process.pid, &ask(jvm, "load", [library, "true", options])?)
}

/// Gives a JVM a command of the protocol's, which may be asked for nothing that [`load`] is not. Answers its answer.
pub(super) fn ask(jvm: &Jvm, command: &str, arguments: [&str; 3]) -> Result<String, AttachError> {
    let pid = jvm.process.pid;
    let mut stream = connect(&jvm.process)?;
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
        return Err(AttachError::Invisible { pid, library: library.to_owned() });
    }
    Ok(())
}

/// Connects, after waking the JVM if it does not listen yet.
fn connect(process: &Process) -> Result<UnixStream, AttachError> {
    let pid = process.pid;
    let path = process.path(&format!("/tmp/.java_pid{}", process.inner_pid));
    if let Some(stream) = try_connect(process, &path)? {
        clear(process);
        return Ok(stream);
    }
    // A signal is sent to the very process that was looked at, not to whoever has its id by now.
    let io = |doing: &str, error: Errno| AttachError::Io { pid, doing: doing.to_owned(), error: error.into() };
    let handle = Pid::from_raw(pid as i32).ok_or(AttachError::Ended { pid })?;
    let handle = pidfd_open(handle, PidfdFlags::empty()).map_err(|e| io("finding the process", e))?;
    let now = Process::find(pid).map_err(|_| AttachError::Ended { pid })?;
    if now.start != process.start {
        return Err(AttachError::Ended { pid });
    }
    if !now.handles(Signal::QUIT.as_raw() as u32) {
        return Err(AttachError::Deaf { pid });
    }
    let mut trigger = Trigger::set(process)?;
    // Signalled when it listens already, the JVM would print all its stacks. Where somebody else is waking it, it is about to.
    let patience = if trigger.made.is_some() { Duration::ZERO } else { WOKEN };
    let since = Instant::now();
    loop {
        if let Some(stream) = try_connect(process, &path)? {
            clear(process);
            return Ok(stream);
        }
        if since.elapsed() >= patience {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    pidfd_send_signal(&handle, Signal::QUIT).map_err(|e| io("waking it", e))?;
    let since = Instant::now();
    let mut pause = Duration::from_millis(5);
    while since.elapsed() < WAKING {
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(200));
        if let Some(stream) = try_connect(process, &path)? {
            clear(process);
            return Ok(stream);
        }
        if !process.is_alive() {
            return Err(AttachError::Ended { pid });
        }
    }
    // A JVM that is stopped has the signal still to come: without the file it would print all stacks when it goes on. With it, it
    // listens then, and whoever attaches next removes the file.
    trigger.made = None;
    Err(AttachError::Silent { pid })
}

/// Connects to the JVM's socket; none when it is not there, or nobody listens to it.
fn try_connect(process: &Process, path: &Path) -> Result<Option<UnixStream>, AttachError> {
    let pid = process.pid;
    let io = |error| AttachError::Io { pid, doing: format!("connecting to {}", path.display()), error };
    let foreign = |what: String| AttachError::ForeignSocket { path: path.to_owned(), what };
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io(e)),
    };
    if !metadata.file_type().is_socket() {
        return Err(foreign("it is no socket".to_owned()));
    }
    if metadata.uid() != process.user || metadata.mode() & 0o077 != 0 {
        return Err(foreign(format!("it belongs to {}, mode {:o}", user_name(metadata.uid()), metadata.mode() & 0o777)));
    }
    match connect_patiently(path) {
        Ok(stream) => {
            // Who listens, as the kernel knows it.
            let peer = rustix::net::sockopt::socket_peercred(&stream).map_err(|e| io(e.into()))?;
            if peer.pid.as_raw_nonzero().get() != pid as i32 {
                return Err(foreign(format!("process {} listens there", peer.pid.as_raw_nonzero())));
            }
            Ok(Some(stream))
        }
        // Left by an earlier process of this id: the JVM makes it anew when it is woken.
        Err(e) if matches!(e.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => Ok(None),
        Err(e) => Err(io(e)),
    }
}

/// Connects to a socket, but does not wait for ever where the queue of those who want to is full.
fn connect_patiently(path: &Path) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    let address = SocketAddrUnix::new(path)?;
    let since = Instant::now();
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN) if since.elapsed() < WAKING => std::thread::sleep(Duration::from_millis(50)),
            Err(Errno::AGAIN) => {
                let why =
                    "the JVM is stopped, or busy with what others asked of it: those before are not answered yet; try again";
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// The file that tells the JVM what SIGQUIT means; removed when dropped, if it was made here and the JVM has had the signal.
struct Trigger {
    made: Option<(OwnedFd, String)>,
}

impl Trigger {
    /// It must be of the JVM's own user or root: with one of somebody else's, the signal has the JVM print all stacks on the program's
    /// standard output. (HotSpot: `AttachListener::is_init_trigger`; it looks in the working directory, and where nothing is there, in
    /// /tmp.)
    fn set(process: &Process) -> Result<Trigger, AttachError> {
        let pid = process.pid;
        let name = format!(".attach_pid{}", process.inner_pid);
        let [tmp, cwd] = directories(process);
        let there = |directory: &io::Result<OwnedFd>| directory.as_ref().ok().and_then(|at| Standing::of(at, &name, process));
        let foreign =
            |owner, directory: PathBuf| AttachError::ForeignTrigger { path: directory.join(&name), owner: user_name(owner) };
        // Somebody else is attaching, or has died doing so.
        let heeded = || Ok(Trigger { made: None });
        let mut last = match (there(&cwd), there(&tmp)) {
            (Some(Standing::Heeded), _) | (None, Some(Standing::Heeded)) => return heeded(),
            (Some(Standing::Foreign(owner)), _) => {
                let link = format!("/proc/{pid}/cwd");
                return Err(foreign(owner, fs::read_link(&link).unwrap_or_else(|_| link.into())));
            }
            (None, Some(Standing::Foreign(owner))) => foreign(owner, process.path("/tmp")),
            (None, None) => AttachError::Ended { pid },
        };
        let is_free = !matches!(last, AttachError::ForeignTrigger { .. });
        for directory in [tmp].into_iter().filter(|_| is_free).chain([cwd]) {
            let made = directory.and_then(|directory| {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
                openat(&directory, &name, flags, Mode::RUSR | Mode::WUSR)?;
                Ok(directory)
            });
            match made {
                Ok(directory) => return Ok(Trigger { made: Some((directory, name)) }),
                // By somebody else who attaches at this moment.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return heeded(),
                Err(error) if is_free => last = AttachError::Io { pid, doing: format!("making {name} in its /tmp"), error },
                Err(_) => {}
            }
        }
        Err(last)
    }
}

/// What the JVM makes of a file by which it is told to listen.
enum Standing {
    Heeded,
    /// Whose it is.
    Foreign(u32),
}

impl Standing {
    /// Of one that is there.
    fn of(directory: &OwnedFd, name: &str, process: &Process) -> Option<Standing> {
        let itself = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        // The JVM follows links.
        let is_heeded = |file: Stat| [0, process.user].contains(&file.st_uid);
        let heeded = statat(directory, name, AtFlags::empty()).is_ok_and(is_heeded);
        Some(if heeded { Standing::Heeded } else { Standing::Foreign(itself.st_uid) })
    }
}

/// Removes the files that told a JVM to listen, now that it does: one that stayed would have a later JVM of that id listen,
/// instead of printing all stacks, when its user asks for these. Only empty ones of this user's are anybody's to remove.
fn clear(process: &Process) {
    let name = format!(".attach_pid{}", process.inner_pid);
    for directory in directories(process).into_iter().flatten() {
        let left = |file: Stat| FileType::from_raw_mode(file.st_mode).is_file() && file.st_size == 0 && file.st_uid == own_user();
        if statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(left) {
            // The JVM does not mind when it stays.
            let _ = unlinkat(&directory, &name, AtFlags::empty());
        }
    }
}

/// Where a trigger may be: the JVM looks in its working directory first, then in /tmp.
fn directories(process: &Process) -> [io::Result<OwnedFd>; 2] {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    [process.tmp(), open(format!("/proc/{}/cwd", process.pid), flags, Mode::empty()).map_err(io::Error::from)]
}

impl Drop for Trigger {
    fn drop(&mut self) {
        if let Some((directory, name)) = &self.made {
            // The JVM does not mind when it stays.
            let _ = unlinkat(directory, name.as_str(), AtFlags::empty());
        }
    }
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
    if text.contains("Dynamic agent loading is not enabled") {
        text.push_str(" Start the JVM with -XX:+EnableDynamicAgentLoading, or with -agentpath.");
    }
    if text.contains("only permitted in the live phase") {
        text.push_str(" It is starting or ending; try again.");
    }
    Err(AttachError::NotLoaded { pid, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hotspot::jvm::Presence;

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
            let why = load(&old(version), "/nowhere/libcprof.so", "").unwrap_err().to_string();
            assert!(why.ends_with(&format!("is of JDK {version}; cprof attaches to JDK 17 and later")), "{why}");
        }
        for version in ["17.0.19", "17", "25-ea", ""] {
            let why = load(&old(version), "/nowhere/libcprof.so", "").unwrap_err();
            assert!(matches!(why, AttachError::Invisible { .. }), "{version}: {why}");
        }
    }

    /// This process stands for a JVM, and is told nothing.
    #[test]
    fn a_file_that_was_left_for_a_stopped_jvm_is_removed_by_the_next_who_connects() {
        let process = Process::find(std::process::id()).unwrap();
        let place = process.path("/tmp").join(format!(".attach_pid{}", process.inner_pid));
        let trigger = Trigger::set(&process).unwrap();
        assert!(place.is_file());
        assert!(Trigger::set(&process).unwrap().made.is_none(), "it is there already");
        drop(trigger);
        assert!(!place.exists());
        let mut left = Trigger::set(&process).unwrap();
        left.made = None;
        drop(left);
        assert!(place.is_file());
        clear(&process);
        assert!(!place.exists());
        fs::write(&place, "something else").unwrap();
        clear(&process);
        assert!(place.is_file(), "what is not empty is no such file");
        fs::remove_file(&place).unwrap();
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
        assert!(why("1\nDynamic agent loading is only permitted in the live phase").contains("try again"));
    }
}
