//! The class log: an append-only file of records, kept in memory when there is no file or no room in it.

use crate::message;
use cprof_profile::recording::log::{self, Entry};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

/// The log.
pub struct ClassLog(Mutex<Store>);

enum Store {
    File { file: File, length: u64 },
    Memory(Vec<u8>),
}

impl ClassLog {
    /// An empty log.
    pub fn new(file: Option<File>) -> ClassLog {
        ClassLog(Mutex::new(match file {
            Some(file) => Store::File { file, length: 0 },
            None => Store::Memory(Vec::new()),
        }))
    }

    /// Appends a record.
    pub fn append(&self, entry: &Entry) {
        let mut record = Vec::new();
        log::encode(entry, &mut record);
        let mut store = crate::lock(&self.0);
        match &mut *store {
            Store::Memory(bytes) => bytes.extend_from_slice(&record),
            Store::File { file, length } => match file.write_all_at(&record, *length) {
                Ok(()) => *length += record.len() as u64,
                Err(error) => {
                    message(&format!("the class log cannot be written, it stays in memory from now on: {error}"));
                    let mut bytes = read(file, *length);
                    bytes.extend_from_slice(&record);
                    *store = Store::Memory(bytes);
                }
            },
        }
    }

    /// A copy of all records.
    pub fn bytes(&self) -> Vec<u8> {
        match &*crate::lock(&self.0) {
            Store::Memory(bytes) => bytes.clone(),
            Store::File { file, length } => read(file, *length),
        }
    }
}

fn read(file: &File, length: u64) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    if let Err(error) = file.read_exact_at(&mut bytes, 0) {
        message(&format!("the class log cannot be read back: {error}; classes will be missing from the profile"));
        bytes.clear();
    }
    bytes
}
