//! Directories and archives in which files are looked for.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

/// The largest file that is read: nobody writes such a source, and no compiler such a class file.
pub(crate) const MAX_SIZE: u64 = 64 << 20;

/// What is looked for, as errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Things {
    /// The files.
    pub name: &'static str,
    /// The archives they may be in.
    pub archive: &'static str,
}

/// A place that cannot be searched.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// The file system says so.
    #[error("cannot read {} in {}: {error}", things.name, path.display())]
    Io {
        /// What was looked for.
        things: Things,
        /// The place, or the file in it.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is a file, but no archive.
    #[error("cannot read {} in {}: {error}. Give a directory, or {}", things.name, path.display(), things.archive)]
    Archive {
        /// What was looked for.
        things: Things,
        /// The place.
        path: PathBuf,
        /// Why.
        error: ZipError,
    },
    /// It is neither.
    #[error("{} is a pipe or a device. Give a directory, or {}", path.display(), things.archive)]
    Pipe {
        /// What was looked for.
        things: Things,
        /// The place.
        path: PathBuf,
    },
}

/// A directory or an archive.
pub(crate) enum Place {
    Directory(PathBuf),
    Archive(PathBuf, Box<ZipArchive<BufReader<File>>>),
}

impl Place {
    pub(crate) fn open(path: &Path, things: Things) -> Result<Place, PlaceError> {
        let path = path.to_owned();
        let metadata = fs::metadata(&path).map_err(|error| things.io(&path, error))?;
        if metadata.is_dir() {
            return Ok(Place::Directory(path));
        }
        // A pipe would be waited for, and cannot be read back and forth.
        if !metadata.is_file() {
            return Err(PlaceError::Pipe { things, path });
        }
        let archive = ZipArchive::new(BufReader::new(File::open(&path).map_err(|error| things.io(&path, error))?));
        match archive {
            Ok(archive) => Ok(Place::Archive(path, Box::new(archive))),
            Err(error) => Err(PlaceError::Archive { things, path, error }),
        }
    }
}

/// All of a file; none where it is larger than [`MAX_SIZE`].
pub(crate) fn whole(from: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= MAX_SIZE))
}

impl Things {
    /// That one cannot be read.
    pub(crate) fn io(self, path: &Path, error: io::Error) -> PlaceError {
        PlaceError::Io { things: self, path: path.to_owned(), error }
    }
}
