//! The class log: an append-only file of records, kept in memory when there is no file or no room in it.

use crate::arena::Arena;
use crate::{faults, message};
use cprof_profile::recording::log::{self, Entry};
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Bytes of the file that are the log's before they are written: the classes of a program that does next to nothing.
const START: i64 = 3 << 20;

/// The log.
pub struct ClassLog {
    store: Mutex<Store>,
    /// Tells other processes where the log is.
    arena: Arc<Arena>,
}

enum Store {
    File { file: File, length: u64 },
    Memory(Vec<u8>),
}

impl ClassLog {
    /// An empty log beside an arena.
    pub fn new(file: Option<File>, arena: Arc<Arena>) -> ClassLog {
        let store = match file {
            Some(file) => Store::File { file, length: 0 },
            None => Store::Memory(Vec::new()),
        };
        ClassLog { store: Mutex::new(store), arena }
    }

    /// Takes room for the classes of an ordinary start: the kernel is slower to give memory than to write there. Without it, the
    /// file grows as it is written.
    pub fn prepare(&self) {
        let file = match &*crate::lock(&self.store) {
            Store::File { file, .. } => file.try_clone(),
            Store::Memory(_) => return,
        };
        if let Ok(file) = file {
            // SAFETY: plain system call on our own file; its size, which says how much is written, stays.
            unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, START) };
        }
    }

    /// Appends a record.
    pub fn append(&self, entry: &Entry) {
        let mut record = Vec::new();
        log::encode(entry, &mut record);
        self.append_record(&record);
    }

    /// Appends a record as [`log::encode`] made it.
    pub fn append_record(&self, record: &[u8]) {
        let mut store = crate::lock(&self.store);
        match &mut *store {
            Store::Memory(bytes) => bytes.extend_from_slice(record),
            Store::File { file, length } => {
                match faults::io("class log write").and_then(|()| file.write_all_at(record, *length)) {
                    Ok(()) => *length += record.len() as u64,
                    Err(error) => {
                        self.arena.is_without_log();
                        message(&format!(
                            "the class log cannot be written, it stays in memory from now on ({error}): a profile will be written as usual, \
                             but not if the JVM is killed. Make room in /dev/shm"
                        ));
                        // Half a record is none; an error leaves it to be read as torn.
                        let _ = file.set_len(*length);
                        let mut bytes = read(file, *length);
                        bytes.extend_from_slice(record);
                        *store = Store::Memory(bytes);
                    }
                }
            }
        }
    }

    /// Whether it is in no file.
    pub fn is_private(&self) -> bool {
        !matches!(&*crate::lock(&self.store), Store::File { .. })
    }

    /// Bytes of all records up to now.
    pub fn len(&self) -> u64 {
        match &*crate::lock(&self.store) {
            Store::Memory(bytes) => bytes.len() as u64,
            Store::File { length, .. } => *length,
        }
    }

    /// All records up to now.
    pub fn records(&self) -> Records {
        match &*crate::lock(&self.store) {
            Store::Memory(bytes) => Records::Copied(bytes.clone()),
            Store::File { file, length } => {
                Mapping::new(file, *length).map_or_else(|_| Records::Copied(read(file, *length)), Records::Mapped)
            }
        }
    }
}

/// The bytes of a log at one moment. Mapped where that is possible: to copy the 3 MB of a program that does next to nothing takes
/// 2 ms of its end.
pub enum Records {
    Mapped(Mapping),
    Copied(Vec<u8>),
}

impl Deref for Records {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Records::Mapped(mapping) => mapping,
            Records::Copied(bytes) => bytes,
        }
    }
}

/// The first bytes of a log's file, in memory.
pub struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

impl Mapping {
    fn new(file: &File, length: u64) -> io::Result<Mapping> {
        faults::io("class log mmap")?;
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // All pages at once, as all are read.
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, flags, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { base, length })
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped until drop. These bytes of the file stay as they are: the log is only written behind them, by nobody but
        // this process, in a directory that is closed to other users.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping; whoever borrowed its bytes has borrowed self. It fails for addresses that are not mapped only.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

fn read(file: &File, length: u64) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    if let Err(error) = faults::io("class log read").and_then(|()| file.read_exact_at(&mut bytes, 0)) {
        message(&format!("the class log cannot be read back: {error}; classes will be missing from the profile"));
        bytes.clear();
    }
    bytes
}
