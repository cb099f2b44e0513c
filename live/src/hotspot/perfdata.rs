//! The file in which a HotSpot JVM publishes facts and counters: `/tmp/hsperfdata_<user>/<pid>`.
//!
//! Layout: HotSpot's `perfMemory.hpp` (PerfDataPrologue, PerfDataEntry), version 2.0, the same in JDK 8 to 25. Only texts are
//! read here.

use crate::process::{Process, read_foreign};
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What the directory's name begins with; the user's follows.
const DIRECTORY: &[u8] = b"hsperfdata_";
/// First four bytes, big-endian whatever the machine.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// Where the prologue says how long it is.
const ENTRY_OFFSET: usize = 24;
/// Where it says how many entries there are.
const ENTRIES: usize = 28;
/// Data type of texts (as in signatures: B, bytes).
const BYTES: u8 = b'B';
/// The JVM's default is 32 KB (-XX:PerfDataMemorySize).
const MOST: u64 = 4 << 20;

/// A JVM's texts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerfData(BTreeMap<String, String>);

impl PerfData {
    /// Of a process; none where it publishes none (-XX:-UsePerfData) or it may not be read.
    pub fn of(process: &Process) -> Option<PerfData> {
        // Named after the user as the container knows him, whom we may not know.
        let directories = fs::read_dir(process.path("/tmp")).ok()?.flatten();
        let theirs = directories.filter(|d| d.file_name().as_encoded_bytes().starts_with(DIRECTORY));
        theirs.filter_map(|d| PerfData::read(&d.path().join(process.inner_pid.to_string()), process.user)).next()
    }

    /// Whether a file is named as that of a process: it has its own mapped.
    pub fn is_file_of(file: &Path, process: &Process) -> bool {
        let directory = file.parent().and_then(Path::file_name).map_or(&[][..], |name| name.as_encoded_bytes());
        directory.starts_with(DIRECTORY) && file.file_name().is_some_and(|name| *name == *process.inner_pid.to_string())
    }

    /// Reads a file if it is the user's own and no link.
    fn read(path: &Path, user: u32) -> Option<PerfData> {
        let (bytes, owner) = read_foreign(path, MOST, OFlags::NOFOLLOW).ok()?;
        if owner == user { PerfData::parse(&bytes) } else { None }
    }

    /// Reads what is well formed up to the first entry that is not.
    fn parse(bytes: &[u8]) -> Option<PerfData> {
        let little = match (bytes.get(..4)? == MAGIC, bytes.get(4)?) {
            (true, 0) => false,
            (true, 1) => true,
            _ => return None,
        };
        let u32_at = |at: usize| {
            let word: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
            Some(if little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) } as usize)
        };
        let mut texts = BTreeMap::new();
        let mut at = u32_at(ENTRY_OFFSET)?;
        for _ in 0..u32_at(ENTRIES)? {
            let Some(text) = (|| {
                let (length, name, data) = (u32_at(at)?, u32_at(at + 4)?, u32_at(at + 16)?);
                let entry = bytes.get(at..at.checked_add(length)?)?;
                let kind = *entry.get(12)?;
                at = at.checked_add(length.max(4))?;
                Some((kind, c_string(entry.get(name..)?), c_string(entry.get(data..)?)))
            })() else {
                break;
            };
            if let (BYTES, name, value) = text {
                texts.insert(name, value);
            }
        }
        Some(PerfData(texts))
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

fn c_string(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 2, 0, 1]);
        bytes.resize(ENTRY_OFFSET, 0);
        bytes.extend(32u32.to_le_bytes());
        bytes.extend(2u32.to_le_bytes());
        for (kind, name, value) in [(b'J', "a.b", "12345678"), (BYTES, "sun.rt.x", "1100")] {
            let data = 20 + name.len() as u32 + 1;
            let length = data + value.len() as u32 + 1;
            for word in [length, 20, 0] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend([kind, 0, 0, 0]);
            bytes.extend(data.to_le_bytes());
            bytes.extend(format!("{name}\0{value}\0").bytes());
        }
        bytes
    }

    #[test]
    fn texts_are_read_and_numbers_passed_over() {
        let read = PerfData::parse(&file()).unwrap();
        assert_eq!((read.text("sun.rt.x"), read.text("a.b")), (Some("1100"), None));
    }

    #[test]
    fn damaged_files_are_read_as_far_as_they_go() {
        let file = file();
        for end in 0..file.len() {
            let read = PerfData::parse(&file[..end]);
            assert!(read.is_none_or(|r| r.text("sun.rt.x").is_none()), "cut at {end}");
        }
        for at in 0..file.len() {
            for value in [0, 1, 0xff] {
                let mut damaged = file.clone();
                damaged[at] = value;
                // Whatever it says, it is not followed out of the file.
                let _ = PerfData::parse(&damaged);
            }
        }
        assert_eq!(PerfData::parse(b"not a JVM's"), None);
    }
}
