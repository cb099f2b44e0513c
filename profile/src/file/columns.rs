//! Columns: one zip entry each, named `table/column.type`.

use super::ReadError;
use crate::amounts::Amounts;
use crate::leb128;
use crate::model::NotPacked;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// A number with a fixed size in a column.
pub(super) trait Number: Copy + Sized {
    const SIZE: usize;
    fn put(self, out: &mut [u8]) -> usize;
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const SIZE: usize = size_of::<$t>();
            fn put(self, out: &mut [u8]) -> usize {
                out[..Self::SIZE].copy_from_slice(&self.to_le_bytes());
                Self::SIZE
            }
            fn get(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<$t>()];
                word.copy_from_slice(bytes);
                <$t>::from_le_bytes(word)
            }
        }
    )*};
}
number!(u8, u16, u32, i64);

/// Writes entries one after the other.
pub(super) struct ColumnWriter<W: Write + Seek> {
    zip: ZipWriter<Failing<W>>,
    buffer: Vec<u8>,
}

/// A sink that fails once: what is written after that goes nowhere, without an error.
///
/// When a `ZipWriter` is dropped after an error it tries to finish the archive, and prints on the process's standard error that
/// it cannot. That belongs to a program that knows nothing of this. Forgetting the writer instead would keep the file open, and
/// the room on the full disk with it.
struct Failing<W> {
    out: W,
    failed: bool,
    /// As they would be without the error: what is finished computes with them.
    position: u64,
    end: u64,
}

impl<W: Write + Seek> Failing<W> {
    fn new(out: W) -> Self {
        Failing { out, failed: false, position: 0, end: 0 }
    }

    fn heard<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.failed |= done.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted);
        done
    }

    fn reached(&mut self, position: u64) {
        self.position = position;
        self.end = self.end.max(position);
    }
}

impl<W: Write + Seek> Write for Failing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.failed { Ok(bytes.len()) } else { self.out.write(bytes) };
        let size = self.heard(written)?;
        self.reached(self.position.saturating_add(size as u64));
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = if self.failed { Ok(()) } else { self.out.flush() };
        self.heard(flushed)
    }
}

impl<W: Write + Seek> Seek for Failing<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            _ if !self.failed => self.out.seek(to),
            SeekFrom::Start(position) => Ok(position),
            SeekFrom::Current(by) => Ok(self.position.saturating_add_signed(by)),
            SeekFrom::End(by) => Ok(self.end.saturating_add_signed(by)),
        };
        let position = self.heard(position)?;
        self.reached(position);
        Ok(position)
    }

    /// Where it is, without what seeking does to a buffer: it is asked twice for each entry.
    fn stream_position(&mut self) -> io::Result<u64> {
        Ok(self.position)
    }
}

/// What the output said, without what the library says around it.
fn of_output(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        other => io::Error::from(other),
    }
}

impl<W: Write + Seek> ColumnWriter<W> {
    pub(super) fn new(out: W) -> Self {
        ColumnWriter { zip: ZipWriter::new(Failing::new(out)), buffer: Vec::new() }
    }

    /// An entry of bytes, compressed at a deflate level, if there are many of them, or stored.
    pub(super) fn bytes(&mut self, name: &str, bytes: &[u8], level: Option<i64>) -> io::Result<()> {
        self.parts(name, bytes.len(), std::iter::once(bytes), level)
    }

    /// As [`Self::bytes`], for `size` bytes in parts.
    pub(super) fn parts<'b>(
        &mut self,
        name: &str,
        size: usize,
        mut parts: impl Iterator<Item = &'b [u8]>,
        level: Option<i64>,
    ) -> io::Result<()> {
        self.start(name, size, level.filter(|_| size > STORED))?;
        parts.try_for_each(|part| self.zip.write_all(part))
    }

    /// A column of numbers.
    pub(super) fn column<T: Number>(&mut self, name: &str, values: impl Iterator<Item = T>) -> io::Result<()> {
        self.each(name, T::SIZE * values.size_hint().0, values, T::put)
    }

    /// A column of numbers that are mostly small, each in LEB128.
    pub(super) fn packed(&mut self, name: &str, values: &Amounts) -> io::Result<()> {
        self.each(name, 10 * values.len(), values.iter(), leb128::write)
    }

    /// As [`Self::packed`], of numbers of 32 bits. Deflate has a third of the work with these, and files of millions of contexts
    /// are a third to a half smaller than with four bytes each.
    pub(super) fn small(&mut self, name: &str, values: impl ExactSizeIterator<Item = u32>) -> io::Result<()> {
        self.each(name, 5 * values.len(), values.map(u64::from), leb128::write)
    }

    /// A column of at most about `size` bytes (0 where that is not known), which decides what it may become in the archive; few bytes
    /// are held in memory at a time. `put` writes a number at the beginning of a slice, and answers how many bytes it took.
    fn each<T>(
        &mut self,
        name: &str,
        size: usize,
        values: impl Iterator<Item = T>,
        put: impl Fn(T, &mut [u8]) -> usize,
    ) -> io::Result<()> {
        const HELD: usize = 64 << 10;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(HELD + leb128::LONGEST, 0);
        let (mut held, mut started) = (0, false);
        for value in values {
            held += put(value, &mut buffer[held..]);
            if held >= HELD {
                if !std::mem::replace(&mut started, true) {
                    self.start(name, size, Some(FAST))?;
                }
                self.zip.write_all(&buffer[..held])?;
                held = 0;
            }
        }
        if !started {
            self.start(name, size, (held > STORED).then_some(FAST))?;
        }
        self.zip.write_all(&buffer[..held])?;
        self.buffer = buffer;
        Ok(())
    }

    fn start(&mut self, name: &str, size: usize, level: Option<i64>) -> io::Result<()> {
        let method = if level.is_some() { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .compression_level(level)
            .large_file(size >= u32::MAX as usize / 2);
        self.zip.start_file(name, options).map_err(of_output)
    }

    pub(super) fn finish(self) -> io::Result<W> {
        let Failing { out, failed, .. } = self.zip.finish().map_err(of_output)?;
        // The error itself was passed on when it came.
        if failed { Err(io::Error::other("writing it failed before")) } else { Ok(out) }
    }
}

/// Up to so many bytes of an entry are not compressed. A program that does next to nothing waits 1.5 ms less for the 40 entries of its
/// profile, a fiftieth of what cprof costs it in all.
const STORED: usize = 32 << 10;

/// Deflate's fastest level. On 1,000,000 contexts levels 2 and 3 took twice the time for two thirds of the size, 6 up to nine
/// times the time for little more.
pub(super) const FAST: i64 = 1;

/// Reads entries by name.
pub(super) struct ColumnReader<'p, R: Read + Seek> {
    zip: ZipArchive<R>,
    path: &'p Path,
}

impl<'p, R: Read + Seek> ColumnReader<'p, R> {
    pub(super) fn new(zip: ZipArchive<R>, path: &'p Path) -> Self {
        ColumnReader { zip, path }
    }

    pub(super) fn damaged(&self, what: impl Into<String>) -> ReadError {
        ReadError::Damaged { path: self.path.to_owned(), what: what.into() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// An entry's bytes, of which there may be at most `limit`. Memory is taken as data arrives, never as promised.
    pub(super) fn bytes(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let path = self.path;
        let damaged = |what: String| ReadError::Damaged { path: path.to_owned(), what };
        let entry = self.zip.by_name(name).map_err(|e| damaged(format!("its entry {name} cannot be read: {e}")))?;
        let mut bytes = Vec::new();
        let read = entry.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|e| damaged(format!("its entry {name} cannot be read: {e}")))?;
        if bytes.len() as u64 > limit {
            return Err(damaged(format!("its entry {name} is larger than the {limit} bytes it should have")));
        }
        Ok(bytes)
    }

    /// A column that must have exactly `count` numbers.
    pub(super) fn column<T: Number>(&mut self, name: &str, count: usize) -> Result<Vec<T>, ReadError> {
        let size = count * T::SIZE;
        let bytes = self.bytes(name, size as u64)?;
        if bytes.len() != size {
            let what = format!("its entry {name} has {} bytes where {count} numbers take {size}", bytes.len());
            return Err(self.damaged(what));
        }
        Ok(bytes.chunks_exact(T::SIZE).map(T::get).collect())
    }

    /// A column of exactly `count` numbers in LEB128.
    pub(super) fn packed(&mut self, name: &str, count: u64) -> Result<Amounts, ReadError> {
        let bytes = self.packed_bytes(name, count)?;
        let mut numbers = Amounts::default();
        self.unpack(&bytes, name, count, |number| {
            numbers.push(number);
            Some(())
        })?;
        Ok(numbers)
    }

    /// The same of numbers of 32 bits.
    pub(super) fn small(&mut self, name: &str, count: usize) -> Result<Vec<u32>, ReadError> {
        let bytes = self.packed_bytes(name, count as u64)?;
        // All at once: there is a byte for each.
        let mut numbers = Vec::with_capacity(count);
        self.unpack(&bytes, name, count as u64, |number| {
            numbers.push(u32::try_from(number).ok()?);
            Some(())
        })?;
        Ok(numbers)
    }

    /// Does something with each number; `None`: it is too large.
    fn unpack(&self, bytes: &[u8], name: &str, count: u64, mut each: impl FnMut(u64) -> Option<()>) -> Result<(), ReadError> {
        let mut rest = bytes;
        if (0..count).any(|_| leb128::get(&mut rest).and_then(&mut each).is_none()) {
            return Err(self.not_packed(name, count, NotPacked::Short));
        }
        if rest.is_empty() { Ok(()) } else { Err(self.not_packed(name, count, NotPacked::Long)) }
    }

    /// The bytes of such a column, which may still be no such numbers.
    pub(super) fn packed_bytes(&mut self, name: &str, count: u64) -> Result<Vec<u8>, ReadError> {
        // At most ten bytes each, at least one: so memory is bounded by what is there.
        let bytes = self.bytes(name, count.saturating_mul(10))?;
        if (bytes.len() as u64) < count {
            return Err(self.damaged(format!("its entry {name} has fewer than the {count} numbers it should have")));
        }
        Ok(bytes)
    }

    /// What is wrong with them.
    pub(super) fn not_packed(&self, name: &str, count: u64, why: NotPacked) -> ReadError {
        self.damaged(match why {
            NotPacked::Short => format!("its entry {name} ends in the middle of a number, or has one that is too large"),
            NotPacked::Long => format!("its entry {name} has more than the {count} numbers it should have"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn what_is_large_is_compressed_however_it_comes() {
        for (count, compressed) in [(1000, false), (20_000, true), (200_000, true)] {
            let mut w = ColumnWriter::new(Cursor::new(Vec::new()));
            // Iterators that know how many they are, and that do not.
            w.column("known", (0..count).map(|n| n as u16)).unwrap();
            let unknown = (0..count).flat_map(|n| vec![n as u16]);
            assert_eq!(unknown.size_hint().0, 0);
            w.column("unknown", unknown).unwrap();
            w.small("leb128", vec![7u32; count * 2].into_iter()).unwrap();
            w.bytes("bytes", &vec![1; count * 2], Some(FAST)).unwrap();
            let mut zip = ZipArchive::new(w.finish().unwrap()).unwrap();
            for name in ["known", "unknown", "leb128", "bytes"] {
                let entry = zip.by_name(name).unwrap();
                let found = (entry.compression() == CompressionMethod::Deflated, entry.size());
                assert_eq!(found, (compressed, 2 * count as u64), "{name}, {count}");
            }
        }
    }
}
