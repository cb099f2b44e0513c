//! What `/proc` says about a process.

use cprof_profile::proc;
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A process that was there when it was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id here.
    pub pid: u32,
    /// Its id in its own PID namespace, which is that of the names it gives to files (proc_pid_status(5), NSpid).
    pub inner_pid: u32,
    /// Effective user.
    pub user: u32,
    /// Effective group.
    pub group: u32,
    /// When it began, in clock ticks since the machine's start: with the id, it tells it from later processes.
    pub start: u64,
    /// The signals it handles, signal n at bit n - 1.
    handled_signals: u64,
}

/// A text of the system's. Names in it, of commands and files, may be of any bytes.
pub(crate) fn read(file: &str) -> io::Result<String> {
    fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a process has ended and only waits for its parent to hear of it. (The first thread alone may have ended, too.)
fn is_over(stat: &str, status: &str) -> bool {
    let last = status.lines().any(|line| line.split_whitespace().eq(["Threads:", "1"]));
    matches!(state(stat), Some("Z" | "X")) && last
}

/// Why a process does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// By a signal.
    Signal,
    /// By a debugger of the process.
    Debugger,
}

/// Of a thread.
fn stop(stat: &str) -> Option<Stop> {
    match state(stat)? {
        "T" => Some(Stop::Signal),
        "t" => Some(Stop::Debugger),
        _ => None,
    }
}

/// Whether a thread, given by its folder in `/proc`, is on its way out, or will be when it gets a processor. One that is gone is.
fn is_thread_ending(thread: &Path) -> bool {
    /// In the flags of a task, field 9 of its `stat` (proc_pid_stat(5); linux/sched.h, PF_EXITING).
    const EXITING: u64 = 4;
    /// SIGKILL among the signals that wait for it, which has no handler (proc_pid_status(5)).
    const KILLED: u64 = 1 << 8;
    let of = |file: &str| read(&thread.join(file).to_string_lossy()).unwrap_or_default();
    let (stat, status) = (of("stat"), of("status"));
    let flags = proc::field(&stat, 9).and_then(|flags| flags.parse::<u64>().ok());
    let waiting = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigPnd:")?.trim(), 16).ok());
    flags.is_none_or(|flags| flags & EXITING != 0) || waiting.is_none_or(|waiting| waiting & KILLED != 0)
}

/// What a process does, as a letter (proc_pid_stat(5)).
fn state(stat: &str) -> Option<&str> {
    proc::field(stat, 3)
}

/// The process that a thread is of; a process is its own first thread.
fn group_of(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Whether a user of the reader's is in a map of ids: lines `inside outside count`.
fn is_mapped(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u32> = line.split_whitespace().map_while(|number| number.parse().ok()).collect();
        matches!(numbers[..], [_, outside, count] if user.checked_sub(outside).is_some_and(|at| at < count))
    })
}

impl Process {
    /// Looks a process up.
    ///
    /// # Errors
    /// `NotFound` where there is none; others where `/proc` cannot be read.
    pub fn find(pid: u32) -> io::Result<Process> {
        // A process that is gone between open and read answers ESRCH.
        let gone =
            |e: io::Error| if e.raw_os_error() == Some(Errno::SRCH.raw_os_error()) { io::ErrorKind::NotFound.into() } else { e };
        let stat = read(&format!("/proc/{pid}/stat")).map_err(gone)?;
        let status = read(&format!("/proc/{pid}/status")).map_err(gone)?;
        if is_over(&stat, &status) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if let Some(process) = group_of(&status).filter(|&process| process != pid) {
            return Err(io::Error::other(format!("{pid} is a thread of process {process}; name that")));
        }
        Process::parse(pid, &stat, &status).ok_or_else(|| io::Error::other(format!("/proc/{pid}/status cannot be understood")))
    }

    fn parse(pid: u32, stat: &str, status: &str) -> Option<Process> {
        let start = proc::start(stat)?;
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
        let second = |name: &str| line(name)?.split_whitespace().nth(1)?.parse().ok();
        let inner_pid = line("NSpid").and_then(|ids| ids.split_whitespace().last()?.parse().ok()).unwrap_or(pid);
        let handled_signals = u64::from_str_radix(line("SigCgt")?, 16).ok()?;
        Some(Process { pid, inner_pid, user: second("Uid")?, group: second("Gid")?, start, handled_signals })
    }

    /// Whether it is still the same process.
    pub fn is_alive(&self) -> bool {
        Process::find(self.pid).is_ok_and(|now| now.start == self.start)
    }

    /// Whether it has ended or is about to: on its way it gives back its memory first, then its files, and is there without them for
    /// a moment.
    pub fn is_ending(&self) -> bool {
        // The first thread may have ended by itself.
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten().flatten();
        !self.is_alive() || threads.map(|thread| thread.path()).all(|thread| is_thread_ending(&thread))
    }

    /// The file that it was started from; `None` when that cannot be told.
    pub fn program(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/exe", self.pid)).ok()
    }

    /// Whether it is stopped, with all its threads: it does nothing, but others connect to it all the same.
    pub fn is_stopped(&self) -> Option<Stop> {
        let mut by = None;
        for thread in fs::read_dir(format!("/proc/{}/task", self.pid)).ok()?.flatten() {
            let Ok(stat) = read(&thread.path().join("stat").to_string_lossy()) else { continue };
            // The first thread may have ended.
            if !matches!(state(&stat), Some("Z" | "X")) {
                by = Some(stop(&stat)?);
            }
        }
        by
    }

    /// When it began, in milliseconds since 1970, to a second or so; `None` when that cannot be found out.
    pub fn started_ms(&self) -> Option<u64> {
        // When the machine did, in seconds (proc_stat(5)).
        let machine: u64 = read("/proc/stat").ok()?.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
        Some(machine * 1000 + self.start.saturating_mul(1000) / rustix::param::clock_ticks_per_second())
    }

    /// Whether it has a handler for a signal, so that the signal does not end it.
    pub fn handles(&self, signal: u32) -> bool {
        signal >= 1 && self.handled_signals >> (signal - 1) & 1 == 1
    }

    /// Whether a user is somebody where it runs: in user namespaces (user_namespaces(7)) some are not, root included.
    pub fn knows_user(&self, user: u32) -> bool {
        // In one's own, the map is that of the namespace above.
        self.shares("ns/user") || read(&format!("/proc/{}/uid_map", self.pid)).map_or(true, |map| is_mapped(&map, user))
    }

    /// A path of the process's file system as seen from here: containers have others.
    pub fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{inside}", self.pid))
    }

    /// Whether a path may lead it to another file than this command: it has another root, or other mounts.
    pub fn sees_other_files(&self) -> bool {
        !self.shares("root") || !self.shares("ns/mnt")
    }

    /// Whether a link in its folder of `/proc` leads where this command's does.
    pub(crate) fn shares(&self, link: &str) -> bool {
        let of = |process: &str| fs::read_link(Path::new("/proc").join(process).join(link)).ok();
        of(&self.pid.to_string()) == of("self")
    }

    /// Its `/tmp`, to make files in. Where that is a link, it leads root, who sees other files than the process, to a place that the
    /// process cannot reach.
    ///
    /// # Errors
    /// There is none, or it is a link of another user's.
    pub fn tmp(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(self.path("/"), flags, Mode::empty())?;
        let follow = if own_user() == self.user { OFlags::empty() } else { OFlags::NOFOLLOW };
        openat(&root, "tmp", flags | follow, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => io::Error::other("it is a link, which is not followed for another user"),
            error => error.into(),
        })
    }

    /// Its command line, one argument each; empty when it may not be read.
    pub fn command_line(&self) -> Vec<String> {
        let bytes = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
        if bytes.is_empty() {
            Vec::new()
        } else {
            bytes.split(|&b| b == 0).map(|a| String::from_utf8_lossy(a).into_owned()).collect()
        }
    }

    /// What an environment variable was for it when it began; `None`: it had none of that name, or that may not be read.
    pub fn variable(&self, name: &str) -> Option<String> {
        let bytes = fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let value = bytes.split(|&b| b == 0).find_map(|v| v.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// The files it has mapped into its memory, each once.
    ///
    /// # Errors
    /// That must not be read: it is another user's process, or has rights that this command has not; or it has ended.
    pub fn mapped_files(&self) -> io::Result<Vec<String>> {
        Ok(files_of(&read(&format!("/proc/{}/maps", self.pid))?))
    }
}

/// The files in lines of "address perms offset dev inode path" (proc_pid_maps(5)). One that was replaced since, by an update of the
/// JDK for instance, is told by the name it had.
fn files_of(maps: &str) -> Vec<String> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    let mut files: Vec<String> = paths.map(|path| path.strip_suffix(" (deleted)").unwrap_or(path).to_owned()).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// What a file begins with, up to `most` bytes: one that others chose may be a pipe or a device, which nobody waits for. Answers
/// whose it is, too. `more`: flags to open it with.
///
/// # Errors
/// It cannot be read, or is no ordinary file.
pub(crate) fn read_foreign(path: &Path, most: u64, more: OFlags) -> io::Result<(Vec<u8>, u32)> {
    // To open a device may have effects.
    let found = open(path, OFlags::PATH | OFlags::CLOEXEC | more, Mode::empty())?;
    let stat = fstat(&found)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let itself = format!("/proc/self/fd/{}", found.as_raw_fd());
    let file = open(itself, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = Vec::new();
    File::from(file).take(most).read_to_end(&mut bytes)?;
    Ok((bytes, stat.st_uid))
}

/// The ids of all processes there are.
pub fn all() -> io::Result<Vec<u32>> {
    let mut pids: Vec<u32> =
        fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    Ok(pids)
}

/// The user of this command.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// That a process is `owner`'s, and this user must not look into it; and what to do about it.
pub(crate) fn not_ours(pid: u32, owner: u32) -> String {
    let is_own = owner == own_user();
    let owner = user_name(owner);
    match own_user() {
        0 => format!("process {pid} is kept from root here, as it runs outside of this container, say; run cprof where it runs"),
        // The kernel lets nobody look into a process that has more rights (ptrace(2), access mode checking).
        _ if is_own => format!("process {pid} has rights that this command has not, by capabilities say; run cprof as root"),
        _ if owner == "root" => format!("process {pid} belongs to root; run cprof as root"),
        _ => format!("process {pid} belongs to {owner}; run cprof as {owner} or as root"),
    }
}

/// The name of a user for people: from `/etc/passwd`, else the number.
pub fn user_name(user: u32) -> String {
    let passwd = read("/etc/passwd").unwrap_or_default();
    let named = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(user)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| user.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::ffi::OsStrExt;
    use std::process::{Command, Stdio};
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn users_are_known_where_they_are_mapped() {
        assert!(is_mapped("         0          0 4294967295\n", 0) && is_mapped("0 0 4294967295\n", 4_294_967_294));
        let rootless = "0 1234 1\n1 100000 65536\n";
        assert_eq!(
            [0, 1233, 1234, 1235, 100_000, 165_535, 165_536].map(|user| is_mapped(rootless, user)),
            [false, false, true, false, true, true, false]
        );
        assert!(!is_mapped("", 0) && !is_mapped("0 x 1\n", 0));
        assert!(Process::find(std::process::id()).unwrap().knows_user(own_user()));
    }

    #[test]
    fn a_process_that_nobody_has_waited_for_is_over() {
        let mut child = Command::new("true").spawn().unwrap();
        let begin = std::time::Instant::now();
        while Process::find(child.id()).is_ok() {
            assert!(begin.elapsed() < std::time::Duration::from_secs(60), "it is there");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(Process::find(child.id()).unwrap_err().kind(), io::ErrorKind::NotFound);
        child.wait().unwrap();
    }

    /// What is told of a process that runs `cat`, which has begun: before, the kernel shows it without variables and files.
    fn told_of<T>(cat: &mut Command, told: impl FnOnce(Process) -> T) -> T {
        let mut child = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"?").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let told = told(Process::find(child.id()).unwrap());
        drop(stdin);
        child.wait().unwrap();
        told
    }

    #[test]
    fn variables_are_those_it_began_with() {
        let found = told_of(Command::new("cat").env("A_VARIABLE", "x=y z").env("A_VARIABLE_2", ""), |process| {
            ["A_VARIABLE", "A_VARIABLE_2", "A_VAR", "A_VARIABLE_23"].map(|name| process.variable(name))
        });
        assert_eq!(found, [Some("x=y z".to_owned()), Some(String::new()), None, None]);
    }

    #[test]
    fn names_are_of_any_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
        // By another process: one that a test beside this begins would hold the file open to be written, and what is being
        // written does not run.
        assert!(Command::new("cp").arg("/bin/cat").arg(&program).status().unwrap().success());
        let found = told_of(&mut Command::new(program), |process| process.mapped_files());
        assert!(found.is_ok_and(|files| files.iter().any(|file| file.ends_with("caf\u{fffd}"))));
    }

    #[test]
    fn names_with_parentheses_and_containers() {
        let stat = "70 (a) b) S 1 70 70 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 8 9";
        let status = "Name:\ta) b\nUid:\t1000\t1001\t1000\t1000\nGid:\t5\t6\t5\t5\nNSpid:\t70\t3\nSigCgt:\t0000000000000004\n";
        let process = Process::parse(70, stat, status).unwrap();
        assert_eq!((process.inner_pid, process.user, process.group, process.start), (3, 1001, 6, 4711));
        assert!(process.handles(3) && !process.handles(2) && !process.handles(0));
        assert_eq!(Process::parse(70, "70 (a", status), None);
        assert_eq!(Process::parse(70, stat, "Uid: x"), None);
    }

    #[test]
    fn a_thread_is_no_process() {
        let (said, heard) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let own = fs::read_link("/proc/thread-self").unwrap();
            said.send(own.file_name().unwrap().to_str().unwrap().parse::<u32>().unwrap()).unwrap();
            let _ = ended.recv();
        });
        let error = Process::find(heard.recv().unwrap()).unwrap_err().to_string();
        assert!(error.ends_with(&format!("is a thread of process {}; name that", std::process::id())), "{error}");
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn this_process_is_alive_and_another_of_its_id_would_not_be() {
        let own = Process::find(std::process::id()).unwrap();
        assert!(own.is_alive());
        assert_eq!((own.user, own.sees_other_files()), (own_user(), false));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        assert!(own.started_ms().is_some_and(|began| began <= now + 1000 && began + 3_600_000 > now));
        assert!(own.mapped_files().is_ok_and(|files| !files.is_empty()));
        let maps = "7f0-7f1 r--p 0 fd:00 1 /jdk/libjvm.so (deleted)\n7f1-7f2 r-xp 0 fd:00 1 /jdk/libjvm.so (deleted)\n7f2-7f3 rw-p 0 00:00 0\n";
        assert_eq!(files_of(maps), ["/jdk/libjvm.so"]);
        let earlier = Process { start: own.start - 1, ..own };
        assert!(!earlier.is_alive());
        let error = Process::find(u32::MAX / 2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
