//! An arena in a file.

use cprof_instrument::abi;
use cprof_profile::recording::Memory;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// An arena read from its file, by reads and not by a mapping: the file is somebody else's, and a mapped file that is cut short
/// is a SIGBUS. What lies in holes reads as zeros.
#[derive(Debug)]
pub struct FileMemory<'a> {
    file: &'a File,
    len: u64,
}

impl<'a> FileMemory<'a> {
    /// The file as long as it is now; not further than references reach, however long somebody made it.
    pub fn new(file: &'a File) -> io::Result<FileMemory<'a>> {
        const REACH: u64 = abi::UNIT << u32::BITS;
        Ok(FileMemory { file, len: file.metadata()?.len().min(REACH) })
    }
}

impl Memory for FileMemory<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn bytes(&self, at: u64, out: &mut [u8]) -> Option<()> {
        // Past an end that has moved: an error like any other.
        self.file.read_exact_at(out, at).ok()
    }
}
