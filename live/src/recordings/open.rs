//! Opening a recording so that nothing foreign is taken for one.

use super::FileMemory;
use crate::process::{own_user, user_name};
use cprof_instrument::abi::{flags, header};
use cprof_profile::recording::files::{ARENA, CLASS_LOG, DirectoryName};
use cprof_profile::recording::{Log, Memory};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat, open, openat};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What `st_blocks` counts in (inode(7)).
const BLOCK: u64 = 512;
/// More than the first record of nearly every class log takes, and more than that of any: most of it is the command line, and Linux
/// allows one of some megabytes.
const BEGINNINGS: [usize; 2] = [256 << 10, 16 << 20];
/// How much of a class log is read at a time.
const STEP: usize = 1 << 20;

/// A recording's directory with its files open.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    user: u32,
    arena: File,
    log: File,
}

/// Not a recording, or not one to be trusted.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It, or a file in it, cannot be opened.
    #[error("cannot open the recording {path}: {error}")]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It, or a file in it, is of another kind: a symbolic link for instance.
    #[error("{path} is not part of a cprof recording: {what}; cprof follows no links and opens nothing but its own files")]
    Kind {
        /// What.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Somebody else's.
    #[error("{path} belongs to {owner}; recordings are read by their user, or by root")]
    Owner {
        /// What.
        path: PathBuf,
        /// Whose.
        owner: String,
    },
    /// Others may write in it.
    #[error("{path} is open to other users (mode {mode:o}, a recording has 700); it was not made by cprof, or was changed since")]
    Permissions {
        /// What.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
}

/// Opens a directory that is a private one of this user's (for root: of anyone's). Answers it and its owner.
pub(super) fn private_directory(path: &Path) -> Result<(OwnedFd, u32), OpenError> {
    let fail = |e: rustix::io::Errno| match e {
        rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP => OpenError::Kind { path: path.to_owned(), what: "no directory" },
        e => OpenError::Io { path: path.to_owned(), error: e.into() },
    };
    let directory = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    let directory = directory.map_err(fail)?;
    let stat = fstat(&directory).map_err(fail)?;
    let own = own_user();
    if own != 0 && stat.st_uid != own {
        return Err(OpenError::Owner { path: path.to_owned(), owner: user_name(stat.st_uid) });
    }
    let mode = stat.st_mode & 0o7777;
    if mode & 0o077 != 0 {
        return Err(OpenError::Permissions { path: path.to_owned(), mode });
    }
    Ok((directory, stat.st_uid))
}

/// Opens a file in such a directory, of the same user.
fn private_file((directory, user): &(OwnedFd, u32), path: &Path, name: &str) -> Result<File, OpenError> {
    let path = path.join(name);
    // NONBLOCK: opening a pipe would wait for somebody to write.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(directory, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(rustix::io::Errno::LOOP) => return Err(OpenError::Kind { path, what: "a symbolic link" }),
        Err(e) => return Err(OpenError::Io { path, error: e.into() }),
    };
    let stat = fstat(&file).map_err(|e| OpenError::Io { path: path.clone(), error: e.into() })?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(OpenError::Kind { path, what: "no ordinary file" });
    }
    if stat.st_uid != *user {
        return Err(OpenError::Owner { path, owner: user_name(stat.st_uid) });
    }
    Ok(File::from(file))
}

/// Whether a process that lives has locked an arena: it does until it ends, whatever ends it.
fn is_locked(arena: &File) -> bool {
    match flock(arena, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            // Unlocking an open file of our own cannot fail; closing it would do the same.
            let _ = flock(arena, FlockOperation::Unlock);
            false
        }
        Err(_) => true,
    }
}

/// Whether a recording that has no class log yet has an arena that is locked.
pub(super) fn is_begun_by_living(path: &Path) -> bool {
    private_directory(path).and_then(|directory| private_file(&directory, path, ARENA)).is_ok_and(|arena| is_locked(&arena))
}

impl Recording {
    /// Opens the recording in a directory.
    pub fn open(path: &Path) -> Result<Recording, OpenError> {
        let directory = private_directory(path)?;
        let file = |name| private_file(&directory, path, name);
        Ok(Recording { path: path.to_owned(), user: directory.1, arena: file(ARENA)?, log: file(CLASS_LOG)? })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When it began, in milliseconds since 1970, as its directory's name says.
    pub fn started_ms(&self) -> Option<u64> {
        Some(DirectoryName::parse(self.path.file_name()?.to_str()?)?.started_ms)
    }

    /// Whose it is.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// Whether the process that records lives.
    pub fn is_recorded(&self) -> bool {
        is_locked(&self.arena)
    }

    /// The arena, as long as it is now.
    pub fn arena(&self) -> io::Result<FileMemory<'_>> {
        FileMemory::new(&self.arena)
    }

    /// A copy of the class log's beginning, where its first record is: who records. The whole may be tens of MB.
    pub fn beginning(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for most in BEGINNINGS {
            bytes.resize(most, 0);
            let read = read_up_to(&self.log, &mut bytes, 0)?;
            bytes.truncate(read);
            if read < most || Log::read(&bytes).origin.is_some() {
                break;
            }
        }
        Ok(bytes)
    }

    /// A copy of the class log as far as it is written.
    pub fn log(&self) -> io::Result<Vec<u8>> {
        let metadata = self.log.metadata()?;
        let (len, space) = (metadata.len(), metadata.blocks() * BLOCK);
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < len {
            let at = bytes.len();
            let step = STEP.min(usize::try_from(len - at as u64).unwrap_or(STEP));
            bytes.resize(at + step, 0);
            let read = read_up_to(&self.log, &mut bytes[at..], at as u64)?;
            bytes.truncate(at + read);
            // A log takes less space than it is long where a file system compresses it, and in a copy with holes. But a file that
            // was only made long must not take our memory: no class has so many zeros.
            let hole = at as u64 >= space && bytes[at..].iter().all(|&b| b == 0);
            if hole {
                bytes.truncate(at);
            }
            // Or it was cut short meanwhile.
            if hole || read < step {
                break;
            }
        }
        Ok(bytes)
    }

    /// What the JVM keeps in memory of its own, for want of room: contexts ([`flags::PRIVATE`]), classes ([`flags::LOG_PRIVATE`]).
    pub fn kept_back(&self) -> io::Result<u32> {
        Ok(self.arena()?.u32(header::FLAGS).unwrap_or(0) & (flags::PRIVATE | flags::LOG_PRIVATE))
    }

    /// Bytes that it takes in shared memory.
    pub fn size(&self) -> u64 {
        let blocks = |file: &File| file.metadata().map_or(0, |m| m.blocks() * BLOCK);
        blocks(&self.arena) + blocks(&self.log)
    }
}

/// Reads at a place until the buffer is full or the file ends; answers how much was read.
fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], at + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}
