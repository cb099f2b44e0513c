//! The private directory in shared memory that holds a run's arena and class log until the profile is written.
//!
//! A JVM that is killed leaves it for `cprof recover`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where such directories are made. A tmpfs on every Linux with glibc's shm_open.
const SHARED_MEMORY: &str = "/dev/shm";
/// The arena's file.
const ARENA: &str = "arena";
/// The class log's file.
const LOG: &str = "classes";

/// A run's directory.
pub struct Directory(PathBuf);

impl Directory {
    /// Makes the directory `cprof-<user>-<process>-<start>`, for this user alone. Whatever is there already, a link for
    /// instance, is an error: mkdir follows nothing and takes nothing over.
    pub fn create(pid: u32, start: u64) -> io::Result<Directory> {
        // SAFETY: geteuid has no preconditions.
        let user = unsafe { libc::geteuid() };
        let path = Path::new(SHARED_MEMORY).join(format!("cprof-{user}-{pid}-{start}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Directory(path))
    }

    /// Makes the arena's file.
    pub fn arena(&self) -> io::Result<File> {
        self.file(ARENA)
    }

    /// Makes the class log's file.
    pub fn log(&self) -> io::Result<File> {
        self.file(LOG)
    }

    fn file(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(self.0.join(name))
    }

    /// Where it is, for messages.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the directory and what the agent made in it. Best effort: the profile is written by now, and leftovers
    /// are found by `cprof`.
    pub fn remove(&self) {
        for name in [ARENA, LOG] {
            let _ = fs::remove_file(self.0.join(name));
        }
        let _ = fs::remove_dir(&self.0);
    }
}
