//! The private directory in which the agent answers: a place that both see and nobody else may touch.

use super::attach::ANSWERING;
use crate::process::{Process, own_user};
use cprof_profile::names::size;
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Gid, Mode, OFlags, Uid, chownat, flock, fstat, mkdirat, open, openat, unlinkat,
};
use rustix::io::Errno;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a directory's name begins with; the id of the process that made it follows.
const PREFIX: &str = "cprof-attach-";
/// Name of the file with the agent's answer.
const REPLY: &str = "reply";
/// Name of the profile that the agent writes here.
const PROFILE: &str = "profile.cprof";
/// An answer is a few lines, and one for each class that the JVM does not give its own code back.
const LONGEST_REPLY: u64 = 64 << 20;

/// The directory; removed when dropped.
#[derive(Debug)]
pub struct Exchange {
    /// The process's /tmp.
    above: OwnedFd,
    directory: OwnedFd,
    name: String,
    user: u32,
    /// The profile is not removed.
    keep: bool,
}

impl Exchange {
    /// Makes one in the process's /tmp, for the process's user alone.
    ///
    /// # Errors
    /// Its /tmp cannot be written.
    pub fn new(process: &Process) -> io::Result<Exchange> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let above = process.tmp()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        for attempt in 0..100 {
            let name = format!("{PREFIX}{}-{now}-{attempt}", std::process::id());
            match mkdirat(&above, &name, Mode::RWXU) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(e) => return Err(e.into()),
            }
            let directory = openat(&above, &name, flags | OFlags::NOFOLLOW, Mode::empty())?;
            // Whoever sweeps may not see this process, being in another container. There are file systems without locks.
            let _ = flock(&directory, FlockOperation::NonBlockingLockExclusive);
            let exchange = Exchange { above, directory, name, user: process.user, keep: false };
            if own_user() != process.user {
                let (user, group) = (Uid::from_raw(process.user), Gid::from_raw(process.group));
                chownat(&exchange.directory, "", Some(user), Some(group), AtFlags::EMPTY_PATH)?;
            }
            return Ok(exchange);
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where the agent is to write its answer, as the process sees it.
    pub fn reply_path(&self) -> String {
        format!("/tmp/{}/{REPLY}", self.name)
    }

    /// Where it is to write a profile.
    pub fn profile_path(&self) -> String {
        format!("/tmp/{}/{PROFILE}", self.name)
    }

    /// Takes the agent's answer: lines `key: value`. None when it wrote none.
    ///
    /// # Errors
    /// It cannot be read, or is too long: of a part of it nobody could tell what is missing.
    pub fn reply(&self) -> io::Result<Option<Vec<(String, String)>>> {
        let Some(file) = self.file(REPLY)? else { return Ok(None) };
        // The next answer is written here, too.
        unlinkat(&self.directory, REPLY, AtFlags::empty())?;
        let mut text = String::new();
        file.take(LONGEST_REPLY + 1).read_to_string(&mut text)?;
        if text.len() as u64 > LONGEST_REPLY {
            return Err(io::Error::other(format!("it is longer than {}", size(LONGEST_REPLY))));
        }
        let pair = |line: &str| line.split_once(':').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
        Ok(Some(text.lines().filter_map(pair).collect()))
    }

    /// The profile that the agent wrote, if it did.
    pub fn profile(&self) -> io::Result<Option<File>> {
        self.file(PROFILE)
    }

    /// Leaves the profile where it is, or where it will be: it could not be taken, or the agent is still at it. Answers where that
    /// is, as the process sees it.
    pub fn keep_profile(&mut self) -> String {
        self.keep = true;
        self.profile_path()
    }

    fn file(&self, name: &str) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let stat = fstat(&file)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() || stat.st_uid != self.user {
            return Err(io::Error::other(format!("/tmp/{}/{name} is not the agent's file", self.name)));
        }
        Ok(Some(File::from(file)))
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // Nothing depends on it any more, and /tmp is cleaned by others, too.
        let _ = unlinkat(&self.directory, REPLY, AtFlags::empty());
        if self.keep {
            return;
        }
        // The profile, also a half of one: the agent writes it under another name, and its JVM may have been killed.
        for entry in Dir::read_from(&self.directory).into_iter().flatten().flatten() {
            let _ = unlinkat(&self.directory, entry.file_name(), AtFlags::empty());
        }
        let _ = unlinkat(&self.above, self.name.as_str(), AtFlags::REMOVEDIR);
    }
}

/// Removes what commands that were ended by force have left in a directory of their user's, `/tmp`; answers what. Profiles stay, and
/// so does where one may still be written.
///
/// # Errors
/// The directory cannot be read.
pub fn sweep(tmp: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(tmp)? {
        let entry = entry?;
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
        let is_own = || entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == own_user() && is_old(&m));
        let directory = entry.path();
        if !maker.is_some_and(|maker| is_own() && Process::find(maker).is_err() && !is_held(&directory)) {
            continue;
        }
        // A profile that is being written has another name as yet.
        let files: Vec<_> = fs::read_dir(&directory).into_iter().flatten().flatten().collect();
        if !files.iter().all(|file| file.metadata().is_ok_and(|m| is_old(&m))) {
            continue;
        }
        for file in files.iter().filter(|file| file.file_name() != PROFILE) {
            let _ = fs::remove_file(file.path());
        }
        // Fails where a profile is.
        if fs::remove_dir(&directory).is_ok() {
            removed.push(directory);
        }
    }
    Ok(removed)
}

/// Whether no agent writes there any more, at the pace of those that a command waits for.
fn is_old(file: &Metadata) -> bool {
    file.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ANSWERING))
}

/// Whether the command that made a directory is at work, wherever it runs.
fn is_held(directory: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(directory, flags, Mode::empty()).and_then(|d| flock(&d, FlockOperation::NonBlockingLockExclusive)).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, Instant};

    #[test]
    fn answers_are_taken_once_links_never_and_nothing_stays() {
        let exchange = Exchange::new(&Process::find(std::process::id()).unwrap()).unwrap();
        let (reply, profile) = (exchange.reply_path(), exchange.profile_path());
        let directory = Path::new(&reply).parent().unwrap().to_owned();
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(exchange.reply().unwrap(), None);
        fs::write(&reply, "covered_classes: 3\nnothing\nerror: a: b\n").unwrap();
        let pairs = [("covered_classes", "3"), ("error", "a: b")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(exchange.reply().unwrap().unwrap(), pairs);
        assert_eq!(exchange.reply().unwrap(), None);
        symlink("/etc/passwd", &reply).unwrap();
        assert!(exchange.reply().is_err());
        fs::write(&profile, "x").unwrap();
        assert!(exchange.profile().unwrap().is_some());
        // Of a JVM that was killed meanwhile.
        fs::write(directory.join(format!(".{PROFILE}.1-0")), "half").unwrap();
        drop(exchange);
        assert!(!directory.exists());
    }

    #[test]
    fn what_commands_have_left_is_swept_but_profiles() {
        let tmp = std::env::temp_dir().join(format!("cprof-sweep-{}", std::process::id()));
        let mut dead = std::process::Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        let [left, kept, alive, other] = [
            format!("{PREFIX}{}-1-0", dead.id()),
            format!("{PREFIX}{}-2-0", dead.id()),
            format!("{PREFIX}{}-3-0", std::process::id()),
            format!("{PREFIX}x"),
        ]
        .map(|name| tmp.join(name));
        for directory in [&left, &kept, &alive, &other] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join(REPLY), "").unwrap();
        }
        fs::write(kept.join(PROFILE), "x").unwrap();
        fs::write(left.join(format!(".{PROFILE}.1-0")), "half").unwrap();
        // The agent may still write what the command was to take.
        assert!(sweep(&tmp).unwrap().is_empty() && left.join(REPLY).exists());
        let long_ago = SystemTime::now() - 2 * ANSWERING;
        let age = |file: &Path| File::open(file).unwrap().set_modified(long_ago).unwrap();
        [&left, &kept, &alive, &other].into_iter().for_each(|directory| age(directory));
        // The directory does not tell what is written into a file in it.
        assert!(sweep(&tmp).unwrap().is_empty() && left.join(REPLY).exists());
        for directory in [&left, &kept, &alive, &other] {
            fs::read_dir(directory).unwrap().for_each(|file| age(&file.unwrap().path()));
        }
        // Its maker is in a container, where it has the id of a process that is gone here.
        let held = open(&left, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(sweep(&tmp).unwrap().is_empty() && left.join(REPLY).exists());
        drop(held);
        // A process that another test has just started has all that is open here, until it runs what it is to run.
        let mut swept = Vec::new();
        let since = Instant::now();
        while swept.is_empty() && since.elapsed() < Duration::from_secs(10) {
            swept = sweep(&tmp).unwrap();
        }
        assert_eq!(swept, [left]);
        assert!([kept.join(PROFILE), alive.join(REPLY), other.join(REPLY)].iter().all(|file| file.exists()));
        fs::remove_dir_all(&tmp).unwrap();
    }

    #[test]
    fn a_profile_that_could_not_be_taken_stays() {
        let mut exchange = Exchange::new(&Process::find(std::process::id()).unwrap()).unwrap();
        fs::write(exchange.profile_path(), "x").unwrap();
        let kept = exchange.keep_profile();
        drop(exchange);
        assert_eq!(fs::read_to_string(&kept).unwrap(), "x");
        fs::remove_dir_all(Path::new(&kept).parent().unwrap()).unwrap();
    }
}
