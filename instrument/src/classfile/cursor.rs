//! Checked big-endian reading.

use std::fmt;

/// A class file that cannot be read or rewritten: what is wrong, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// Byte offset in the class file, as near as known.
    pub at: usize,
    /// What is wrong.
    pub what: &'static str,
}

impl Error {
    pub(crate) const fn new(at: usize, what: &'static str) -> Self {
        Self { at, what }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.what, self.at)
    }
}

impl std::error::Error for Error {}

/// A position in big-endian bytes. `origin` is added to positions in errors, so that they count from the file's start.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    origin: usize,
}

impl<'a> Cursor<'a> {
    /// Reads `bytes` from offset `at`.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, origin: 0 }
    }

    /// Reads a part that starts at `origin` in the file.
    pub(crate) fn part(bytes: &'a [u8], origin: usize) -> Self {
        Self { bytes, at: 0, origin }
    }

    /// All the bytes this cursor moves in.
    pub(crate) fn all(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn error(&self, what: &'static str) -> Error {
        Error::new(self.origin + self.at, what)
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..length)) {
            Some(part) => {
                self.at += length;
                Ok(part)
            }
            None => Err(self.error("the class file is cut short")),
        }
    }

    #[inline]
    pub(crate) fn skip(&mut self, length: usize) -> Result<(), Error> {
        self.take(length).map(|_| ())
    }

    #[inline]
    pub(crate) fn u1(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    #[inline]
    pub(crate) fn u2(&mut self) -> Result<u16, Error> {
        let b = self.take(2)?;
        Ok(u16::from_be_bytes([b[0], b[1]]))
    }

    #[inline]
    pub(crate) fn u4(&mut self) -> Result<u32, Error> {
        let b = self.take(4)?;
        Ok(u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    pub(crate) fn u8(&mut self) -> Result<u64, Error> {
        Ok(u64::from(self.u4()?) << 32 | u64::from(self.u4()?))
    }
}
