//! The recordings in a directory for shared memory.

use super::open::is_begun_by_living;
use super::{OpenError, Recording};
use crate::process::{Process, own_user};
use cprof_profile::recording::files::{DirectoryName, SHARED_MEMORY};
use cprof_profile::recording::{Log, Origin};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A directory that holds recordings' directories.
#[derive(Debug, Clone)]
pub struct Shelf(PathBuf);

/// A directory with a recording's name.
#[derive(Debug)]
pub struct Found {
    /// Where.
    pub path: PathBuf,
    /// What its name says.
    pub name: DirectoryName,
    /// Whose it is. Its name has the user that the process sees itself as, and in a user namespace that is another number.
    pub owner: u32,
    /// What it is.
    pub state: State,
}

/// What a directory with a recording's name is.
#[derive(Debug)]
pub enum State {
    /// The process that records lives.
    Recorded(Recording),
    /// It is dead: the recording can be recovered or removed.
    Left(Recording),
    /// The process died, or is, between making the directory and the files: there is nothing in it to recover.
    Begun,
    /// Not to be touched, and why.
    Foreign(OpenError),
}

impl Shelf {
    /// This machine's.
    pub fn here() -> Shelf {
        Shelf(PathBuf::from(SHARED_MEMORY))
    }

    /// That which a process sees.
    pub fn of(process: &Process) -> Shelf {
        Shelf(process.path(SHARED_MEMORY))
    }

    /// Any directory.
    pub fn at(path: &Path) -> Shelf {
        Shelf(path.to_owned())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The recordings of this user (for root: of all), by user, process and time.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn recordings(&self) -> io::Result<Vec<Found>> {
        self.named(|_| true)
    }

    /// Those whose names are such: no others are opened.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn named(&self, wanted: impl Fn(&DirectoryName) -> bool) -> io::Result<Vec<Found>> {
        let own = own_user();
        let ours = self.owners(wanted)?.into_iter().filter(|(_, owner)| own == 0 || *owner == own);
        let mut found: Vec<Found> = ours.map(|(name, _)| self.look(name)).collect();
        found.sort_by_key(|f| (f.owner, f.name.pid, f.name.started_ms));
        Ok(found)
    }

    /// The directories of other users whose names are such, and whose they are; none for root, who looks at all.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn of_others(&self, wanted: impl Fn(&DirectoryName) -> bool) -> io::Result<Vec<(PathBuf, u32)>> {
        let own = own_user();
        let others = self.owners(wanted)?.into_iter().filter(|(_, owner)| own != 0 && *owner != own);
        Ok(others.map(|(name, owner)| (self.0.join(name.to_string()), owner)).collect())
    }

    /// Names and owners; what has gone meanwhile has none.
    fn owners(&self, wanted: impl Fn(&DirectoryName) -> bool) -> io::Result<Vec<(DirectoryName, u32)>> {
        let names =
            fs::read_dir(&self.0)?.flatten().filter_map(|entry| entry.file_name().to_str().and_then(DirectoryName::parse));
        let owned = |name: DirectoryName| {
            let directory = fs::symlink_metadata(self.0.join(name.to_string())).ok()?;
            Some((name, directory.uid()))
        };
        Ok(names.filter(|name| wanted(name)).filter_map(owned).collect())
    }

    /// Looks at one directory.
    pub fn look(&self, name: DirectoryName) -> Found {
        let path = self.0.join(name.to_string());
        let state = match Recording::open(&path) {
            Ok(recording) if recording.is_recorded() => State::Recorded(recording),
            Ok(recording) => State::Left(recording),
            Err(OpenError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => State::Begun,
            Err(error) => State::Foreign(error),
        };
        // Of one that is gone, what its name says.
        let owner = fs::symlink_metadata(&path).map_or(name.user, |directory| directory.uid());
        Found { path, name, owner, state }
    }

    /// The recording that a living process makes now.
    pub fn of_process(&self, process: &Process) -> io::Result<Option<Recording>> {
        let of_pid = self.named(|name| name.pid == process.inner_pid)?.into_iter().rev();
        let recorded = of_pid.filter_map(|f| if let State::Recorded(recording) = f.state { Some(recording) } else { None });
        let mut own = recorded.filter(|recording| recording.user() == process.user);
        // Another container's process may have the same id; its recording tells when its process began.
        Ok(own.find(|recording| {
            let log = recording.beginning().unwrap_or_default();
            Origin::of(&Log::read(&log)).map_or(true, |o| o.process_start == 0 || o.process_start == process.start)
        }))
    }
}

impl Found {
    /// Whether the process of its name may still be about to record here: between making the directory and locking the arena.
    pub fn may_be_beginning(&self) -> bool {
        let unlocked = match &self.state {
            State::Recorded(_) => return true,
            State::Foreign(_) => false,
            // A recording that has begun is locked before its log has a record.
            State::Left(recording) => Log::read(&recording.beginning().unwrap_or_default()).origin.is_none(),
            // Its process may be in another container, where only the lock tells of it.
            State::Begun if is_begun_by_living(&self.path) => return true,
            State::Begun => true,
        };
        unlocked && Process::find(self.name.pid).is_ok_and(|process| process.user == self.owner && self.may_be_of(&process))
    }

    /// Whether it was made since a process began; if that is not known, it may have been.
    fn may_be_of(&self, process: &Process) -> bool {
        // The kernel rounds to seconds.
        const ROUNDED_MS: u64 = 2000;
        process.started_ms().is_none_or(|began| self.name.started_ms.saturating_add(ROUNDED_MS) >= began)
    }
}
