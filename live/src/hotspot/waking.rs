//! How a JVM comes to listen, and who may connect.
//!
//! It does at `/tmp/.java_pid<pid>` once it has been woken: by the file `.attach_pid<pid>` and SIGQUIT, which without that file makes
//! it print all stacks (HotSpot, `os/posix/attachListener_posix.cpp`; the same in JDK 9 to 25). Paths are the JVM's, so a container's
//! are looked up below `/proc/<pid>/root`, and the process id is the container's.

use super::attach::AttachError;
use crate::process::{Process, own_user, user_name};
use crate::thread_limit;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, open, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a JVM may take to listen: it does so at its next safepoint check, which swapping or a debugger may delay.
pub(super) const WAKING: Duration = Duration::from_secs(10);
/// How long it is given to listen by itself where somebody else has woken it.
const WOKEN: Duration = Duration::from_secs(1);

/// Connects, after waking the JVM if it does not listen yet.
pub(super) fn connect(process: &Process) -> Result<UnixStream, AttachError> {
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
    if let Some(why) = thread_limit::reached(process) {
        return Err(AttachError::NoThread { pid, why });
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

impl Drop for Trigger {
    fn drop(&mut self) {
        if let Some((directory, name)) = &self.made {
            // The JVM does not mind when it stays.
            let _ = unlinkat(directory, name.as_str(), AtFlags::empty());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
