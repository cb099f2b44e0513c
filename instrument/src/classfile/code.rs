//! The Code attribute (JVMS §4.7.3).

use super::cursor::{Cursor, Error};

/// One row of an exception table: bytecode indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handler {
    /// First covered bytecode index.
    pub start: u16,
    /// End of the covered range, exclusive.
    pub end: u16,
    /// Where the handler begins.
    pub target: u16,
    /// Pool index of the caught class; 0: any.
    pub catch_type: u16,
}

/// A Code attribute, parsed in place.
#[derive(Debug)]
pub struct Code<'a> {
    /// Operand stack slots.
    pub max_stack: u16,
    /// Local variable slots.
    pub max_locals: u16,
    /// The instructions; 1 … 65535 bytes.
    pub bytes: &'a [u8],
    /// Offset of the first instruction in the class file.
    pub at: usize,
    handlers: &'a [u8],
    /// Number of attributes, then the attributes.
    attributes: &'a [u8],
    attributes_at: usize,
}

impl<'a> Code<'a> {
    pub(crate) fn parse(content: &'a [u8], origin: usize) -> Result<Self, Error> {
        let mut c = Cursor::part(content, origin);
        let max_stack = c.u2()?;
        let max_locals = c.u2()?;
        let length = c.u4()? as usize;
        let at = origin + c.at();
        let bytes = c.take(length)?;
        if length == 0 || length > 65535 {
            return Err(c.error("code of no or of more than 65535 bytes"));
        }
        let rows = c.u2()? as usize;
        let handlers = c.take(8 * rows)?;
        let attributes_at = origin + c.at();
        let attributes = &content[c.at()..];
        let code = Self { max_stack, max_locals, bytes, at, handlers, attributes, attributes_at };
        let mut rest = Cursor::part(attributes, attributes_at);
        for _ in 0..rest.u2()? {
            rest.skip(2)?;
            let length = rest.u4()? as usize;
            rest.skip(length)?;
        }
        if !rest.is_at_end() {
            return Err(rest.error("bytes after the end of a Code attribute"));
        }
        Ok(code)
    }

    /// The exception table, in order.
    pub fn handlers(&self) -> impl ExactSizeIterator<Item = Handler> + use<'a> {
        let u2 = |row: &[u8], i: usize| u16::from_be_bytes([row[i], row[i + 1]]);
        self.handlers.chunks_exact(8).map(move |row| Handler {
            start: u2(row, 0),
            end: u2(row, 2),
            target: u2(row, 4),
            catch_type: u2(row, 6),
        })
    }

    /// The attributes of the code: name index, offset of the content in the class file, content.
    pub fn attributes(&self) -> impl Iterator<Item = (u16, usize, &'a [u8])> + use<'a> {
        let mut c = Cursor::part(self.attributes, self.attributes_at);
        let origin = self.attributes_at;
        // Checked in `parse`, so that every read below succeeds.
        let count = c.u2().unwrap_or(0);
        (0..count).filter_map(move |_| {
            let name = c.u2().ok()?;
            let length = c.u4().ok()? as usize;
            let at = origin + c.at();
            Some((name, at, c.take(length).ok()?))
        })
    }
}
