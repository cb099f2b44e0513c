//! The private directory in shared memory that holds a run's arena and class log until the profile is written.
//!
//! A JVM that is killed leaves it for `cprof recover`.

use crate::faults;
use cprof_profile::file::beyond_standard_streams;
use cprof_profile::recording::files::{ARENA, CLASS_LOG, DirectoryName, SHARED_MEMORY};
use std::ffi::c_void;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// A lock on a file, held until it is dropped or this process ends, whatever ends it: so `cprof` knows leftovers.
///
/// What is locked is a file as it was opened (flock(2)), for as long as anything refers to that: here a page that is mapped from it
/// and never touched. A process that is forked then has neither this page nor a descriptor, and so does not keep the lock of one
/// that is dead.
pub struct Lock {
    page: NonNull<c_void>,
    /// Where a page does not refer to the file as it was opened, as on overlayfs, whose pages are another file's.
    _file: Option<File>,
}

// SAFETY: nobody reads or writes the page.
unsafe impl Send for Lock {}

/// Any length takes one.
const PAGE: usize = 1;

impl Lock {
    fn of(path: &Path) -> io::Result<Lock> {
        faults::io("directory flock")?;
        let locked = |how| {
            let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
            let file = beyond_standard_streams(file)?;
            // SAFETY: plain system call on our own file.
            match unsafe { libc::flock(file.as_raw_fd(), how) } {
                0 => Ok(file),
                _ => Err(io::Error::last_os_error()),
            }
        };
        let file = locked(libc::LOCK_EX)?;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_NONE, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut lock = Lock { page: NonNull::new(page).ok_or(io::ErrorKind::OutOfMemory)?, _file: None };
        // SAFETY: our own mapping. Should it fail, forked processes keep the lock.
        unsafe { libc::madvise(page, PAGE, libc::MADV_DONTFORK) };
        drop(file);
        // Where the page holds the lock, nobody gets it.
        lock._file = locked(libc::LOCK_EX | libc::LOCK_NB).ok();
        Ok(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and nobody has its address. Should it fail, the file stays this process's.
        unsafe { libc::munmap(self.page.as_ptr(), PAGE) };
    }
}

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

    /// Makes the arena's file, locked.
    pub fn arena(&self) -> io::Result<(File, Lock)> {
        let file = self.file(ARENA)?;
        let lock = Lock::of(&self.0.join(ARENA))?;
        Ok((file, lock))
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
