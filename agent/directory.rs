//! The private directory in shared memory that holds a run's arena and class log until the profile is written.
//!
//! A JVM that is killed leaves it for `cprof recover`.

use crate::faults;
use cprof_profile::file::beyond_standard_streams;
use cprof_profile::recording::files::{ARENA, CLASS_LOG, DirectoryName, SHARED_MEMORY};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A run's directory.
#[derive(Clone)]
pub struct Directory(PathBuf);

impl Directory {
    /// Makes the directory `cprof-<user>-<process>-<start>`, for this user alone. Whatever is there already, a link for
    /// instance, is an error: mkdir follows nothing and takes nothing over.
    pub fn create(pid: u32, started_ms: u64) -> io::Result<Directory> {
        // SAFETY: geteuid has no preconditions.
        let user = unsafe { libc::geteuid() };
        let path = Path::new(SHARED_MEMORY).join(DirectoryName { user, pid, started_ms }.to_string());
        faults::io("directory mkdir")?;
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Directory(path))
    }

    /// Makes the arena's file. It is locked until the recording ends or this process, whatever ends it: so `cprof` knows
    /// leftovers.
    pub fn arena(&self) -> io::Result<File> {
        let file = self.file(ARENA)?;
        faults::io("directory flock")?;
        // SAFETY: plain system call on our own file.
        match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } {
            0 => Ok(file),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Makes the class log's file.
    pub fn log(&self) -> io::Result<File> {
        self.file(CLASS_LOG)
    }

    fn file(&self, name: &str) -> io::Result<File> {
        faults::io("directory open")?;
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(self.0.join(name))?;
        beyond_standard_streams(file)
    }

    /// Where it is, for messages.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the directory and what the agent made in it. Best effort: the profile is written by now, and leftovers
    /// are found by `cprof`.
    pub fn remove(&self) {
        for name in [ARENA, CLASS_LOG] {
            let _ = fs::remove_file(self.0.join(name));
        }
        let _ = fs::remove_dir(&self.0);
    }
}
