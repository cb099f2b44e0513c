//! The class log: which class was woven when, with its original bytes and its methods' ids.
//!
//! Append-only, so that a process that dies at any moment leaves a readable one. A record is a u32 length, the CRC-32 of
//! the payload, and the payload; all numbers are little-endian, texts and blobs have a u32 length before them.
//! Reading ends at the first record that is cut short or damaged.

use crate::model::{Level, level_from_number, level_number};
use rustc_hash::FxHashMap;

/// The reason for what the user left out, which is no gap. What is known of no other way is entered all the same: calls of native
/// methods cannot be told where code that was not counted may stand in for them.
pub const NOT_SELECTED: &str = "not selected by include= and exclude=";

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry<'a> {
    /// A class was woven, or looked at and found to have nothing to weave.
    Class(ClassEntry<'a>),
    /// A class could not be covered at all.
    NotCovered {
        /// Internal name.
        name: &'a str,
        /// Why, as a sentence.
        reason: &'a str,
    },
    /// Something a reader of the profile must know.
    Warning(&'a str),
    /// The first record of a log: an [`Origin`](super::Origin) as JSON.
    Origin(&'a str),
    /// Something that only those must know who read the recording without asking the agent.
    Unattended(&'a str),
}

/// A class as the JVM presented it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassEntry<'a> {
    /// Internal name.
    pub name: &'a str,
    /// The defining loader as text; empty for the boot loader.
    pub loader: &'a str,
    /// Defined as a hidden class.
    pub hidden: bool,
    /// The class file before weaving.
    pub bytes: &'a [u8],
    /// Woven methods: index in the class file, id, how they are counted.
    pub methods: Vec<(u16, u32, Level)>,
    /// Methods with code that were not woven: index in the class file, reason.
    pub skipped: Vec<(u16, String)>,
}

const CLASS: u8 = 1;
const NOT_COVERED: u8 = 2;
const WARNING: u8 = 3;
const ORIGIN: u8 = 4;
const UNATTENDED: u8 = 5;

/// Appends a record.
pub fn encode(entry: &Entry, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([0; 8]);
    match entry {
        Entry::Class(class) => {
            out.push(CLASS);
            put_bytes(out, class.name.as_bytes());
            put_bytes(out, class.loader.as_bytes());
            out.push(u8::from(class.hidden));
            put_bytes(out, class.bytes);
            out.extend((class.methods.len() as u32).to_le_bytes());
            for &(index, id, level) in &class.methods {
                out.extend(index.to_le_bytes());
                out.extend(id.to_le_bytes());
                out.push(level_number(level));
            }
            out.extend((class.skipped.len() as u32).to_le_bytes());
            for (index, reason) in &class.skipped {
                out.extend(index.to_le_bytes());
                put_bytes(out, reason.as_bytes());
            }
        }
        Entry::NotCovered { name, reason } => {
            out.push(NOT_COVERED);
            put_bytes(out, name.as_bytes());
            put_bytes(out, reason.as_bytes());
        }
        Entry::Warning(text) => put_text(out, WARNING, text),
        Entry::Origin(text) => put_text(out, ORIGIN, text),
        Entry::Unattended(text) => put_text(out, UNATTENDED, text),
    }
    let payload = &out[start + 8..];
    let (len, crc) = (payload.len() as u32, crc32fast::hash(payload));
    out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, kind: u8, text: &str) {
    out.push(kind);
    put_bytes(out, text.as_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}

/// Reads records one after the other up to the end or the first damaged one; [`Records::rest`] tells which.
pub fn read(log: &[u8]) -> Records<'_> {
    Records { rest: log }
}

/// Iterator over a log's records.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    /// What has not been read: after the last record, the torn tail.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether what has not been read is shorter than the record it begins with. A kernel copies a record page by page, and a
    /// kill can come in between.
    fn is_unfinished(&self) -> bool {
        let mut cursor = Cursor(self.rest);
        let payload = cursor.u32().zip(cursor.u32()).and_then(|(len, _)| cursor.take(len as usize));
        !self.rest.is_empty() && payload.is_none()
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let mut cursor = Cursor(self.rest);
        let (len, crc) = (cursor.u32()?, cursor.u32()?);
        let payload = cursor.take(len as usize)?;
        if crc32fast::hash(payload) != crc {
            return None;
        }
        let entry = decode(payload)?;
        self.rest = cursor.0;
        Some(entry)
    }
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }
    fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }
    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }
    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
    fn blob(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()? as usize;
        self.take(len)
    }
    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.blob()?).ok()
    }
}

fn decode(payload: &[u8]) -> Option<Entry<'_>> {
    let mut cursor = Cursor(payload);
    let entry = match cursor.u8()? {
        CLASS => {
            let (name, loader) = (cursor.text()?, cursor.text()?);
            let hidden = cursor.u8()? != 0;
            let bytes = cursor.blob()?;
            let mut methods = Vec::new();
            for _ in 0..cursor.u32()? {
                methods.push((cursor.u16()?, cursor.u32()?, level_from_number(cursor.u8()?)?));
            }
            let mut skipped = Vec::new();
            for _ in 0..cursor.u32()? {
                skipped.push((cursor.u16()?, cursor.text()?.to_owned()));
            }
            Entry::Class(ClassEntry { name, loader, hidden, bytes, methods, skipped })
        }
        NOT_COVERED => Entry::NotCovered { name: cursor.text()?, reason: cursor.text()? },
        WARNING => Entry::Warning(cursor.text()?),
        ORIGIN => Entry::Origin(cursor.text()?),
        UNATTENDED => Entry::Unattended(cursor.text()?),
        _ => return None,
    };
    cursor.0.is_empty().then_some(entry)
}

/// A whole log in memory.
#[derive(Debug, Default)]
pub struct Log<'a> {
    /// All classes in the order they came.
    pub classes: Vec<ClassEntry<'a>>,
    /// Name and reason of classes that are not covered.
    pub not_covered: Vec<(&'a str, &'a str)>,
    /// Warnings in order.
    pub warnings: Vec<&'a str>,
    /// The [`Origin`](super::Origin) as JSON; none in a log that was damaged or never begun.
    pub origin: Option<&'a str>,
    /// Warnings for those who read the recording without the agent.
    pub unattended: Vec<&'a str>,
    /// Bytes at the end that are no record.
    pub torn: usize,
    /// Whether they are the beginning of one: the writer died while it wrote, or is writing.
    pub unfinished: bool,
    ids: FxHashMap<u32, (u32, u32)>,
}

impl<'a> Log<'a> {
    /// Reads all records up to the first damaged one.
    pub fn read(log: &'a [u8]) -> Log<'a> {
        let mut whole = Log::default();
        let mut records = read(log);
        for entry in records.by_ref() {
            match entry {
                Entry::Class(class) => {
                    let at = whole.classes.len() as u32;
                    for (i, &(_, id, _)) in class.methods.iter().enumerate() {
                        whole.ids.insert(id, (at, i as u32));
                    }
                    whole.classes.push(class);
                }
                Entry::NotCovered { name, reason } => whole.not_covered.push((name, reason)),
                Entry::Warning(text) => whole.warnings.push(text),
                Entry::Origin(text) => whole.origin = Some(text),
                Entry::Unattended(text) => whole.unattended.push(text),
            }
        }
        whole.torn = records.rest().len();
        whole.unfinished = records.is_unfinished();
        whole
    }

    /// Position in [`Log::classes`] and in that class's methods of a method id.
    pub fn method(&self, id: u32) -> Option<(usize, usize)> {
        self.ids.get(&id).map(|&(class, method)| (class as usize, method as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut out = Vec::new();
        encode(&Entry::Origin("{}"), &mut out);
        let class = ClassEntry {
            name: "a/B",
            loader: "app",
            hidden: true,
            bytes: &[1, 2, 3],
            methods: vec![(0, 16, Level::Precise), (2, 17, Level::Block)],
            skipped: vec![(1, "too large".into())],
        };
        encode(&Entry::Class(class), &mut out);
        encode(&Entry::NotCovered { name: "x/Y", reason: "damaged" }, &mut out);
        encode(&Entry::Unattended("paused"), &mut out);
        encode(&Entry::Warning("beware"), &mut out);
        out
    }

    #[test]
    fn round_trip() {
        let bytes = sample();
        let log = Log::read(&bytes);
        assert_eq!(log.classes[0].name, "a/B");
        assert_eq!(log.classes[0].methods[1], (2, 17, Level::Block));
        assert_eq!(log.classes[0].skipped, [(1, "too large".to_owned())]);
        assert_eq!(log.method(17), Some((0, 1)));
        assert_eq!(log.method(18), None);
        assert_eq!(log.not_covered, [("x/Y", "damaged")]);
        assert_eq!(log.warnings, ["beware"]);
        assert_eq!((log.origin, log.unattended.as_slice()), (Some("{}"), &["paused"][..]));
        assert_eq!(log.torn, 0);
    }

    #[test]
    fn every_torn_tail_and_flipped_bit_is_noticed() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            let log = Log::read(&bytes[..cut]);
            assert!(log.warnings.is_empty(), "cut at {cut}");
            assert_eq!(log.unfinished, log.torn > 0, "cut at {cut}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                assert!(Log::read(&damaged).torn > 0, "bit {bit} of byte {at}");
            }
        }
    }
}
