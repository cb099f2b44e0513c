//! The constant pool (JVMS §4.4): where each entry is, and checked access.

use super::cursor::{Cursor, Error};

/// Constant pool tags (JVMS table 4.4-A).
#[allow(missing_docs, reason = "the names are the JVMS's own")]
pub mod tag {
    pub const UTF8: u8 = 1;
    pub const INTEGER: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const LONG: u8 = 5;
    pub const DOUBLE: u8 = 6;
    pub const CLASS: u8 = 7;
    pub const STRING: u8 = 8;
    pub const FIELDREF: u8 = 9;
    pub const METHODREF: u8 = 10;
    pub const INTERFACE_METHODREF: u8 = 11;
    pub const NAME_AND_TYPE: u8 = 12;
    pub const METHOD_HANDLE: u8 = 15;
    pub const METHOD_TYPE: u8 = 16;
    pub const DYNAMIC: u8 = 17;
    pub const INVOKE_DYNAMIC: u8 = 18;
    pub const MODULE: u8 = 19;
    pub const PACKAGE: u8 = 20;
}

/// A field or method named by a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberRef<'a> {
    /// Pool index of the class; 0 for invokedynamic.
    pub class_index: u16,
    /// Internal name of the class; empty for invokedynamic.
    pub class: &'a [u8],
    /// Pool index of the name.
    pub name_index: u16,
    /// Name, modified UTF-8.
    pub name: &'a [u8],
    /// Pool index of the descriptor.
    pub descriptor_index: u16,
    /// Descriptor, modified UTF-8.
    pub descriptor: &'a [u8],
}

/// The constant pool of a class file.
#[derive(Debug)]
pub struct Pool<'a> {
    bytes: &'a [u8],
    /// Offset of each entry's tag; 0 for index 0 and the second half of a long or double.
    offsets: Vec<u32>,
    /// Offset of the first byte after the pool: of the access flags.
    pub end: usize,
}

impl<'a> Pool<'a> {
    /// A pool by itself: `constant_pool_count` and `constant_pool` of a class file (JVMS §4.1).
    pub fn alone(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::parse(&mut Cursor::new(bytes, 0))
    }

    pub(crate) fn parse(c: &mut Cursor<'a>) -> Result<Self, Error> {
        let count = c.u2()? as usize;
        let mut offsets = Vec::with_capacity(count);
        offsets.push(0);
        while offsets.len() < count {
            offsets.push(c.at() as u32);
            match c.u1()? {
                tag::UTF8 => {
                    let length = c.u2()? as usize;
                    c.skip(length)?;
                }
                tag::INTEGER | tag::FLOAT => c.skip(4)?,
                tag::LONG | tag::DOUBLE => {
                    c.skip(8)?;
                    offsets.push(0);
                }
                tag::CLASS | tag::STRING | tag::METHOD_TYPE | tag::MODULE | tag::PACKAGE => c.skip(2)?,
                tag::FIELDREF
                | tag::METHODREF
                | tag::INTERFACE_METHODREF
                | tag::NAME_AND_TYPE
                | tag::DYNAMIC
                | tag::INVOKE_DYNAMIC => c.skip(4)?,
                tag::METHOD_HANDLE => c.skip(3)?,
                _ => return Err(c.error("unknown constant pool tag")),
            }
        }
        if offsets.len() != count.max(1) {
            return Err(c.error("the constant pool ends inside a long or double"));
        }
        Ok(Self { bytes: c.all(), offsets, end: c.at() })
    }

    /// Number of entries plus one, as in the file.
    pub fn count(&self) -> usize {
        self.offsets.len()
    }

    /// The tag of an entry.
    pub fn tag(&self, index: u16) -> Result<u8, Error> {
        Ok(self.bytes[self.offset(index)?])
    }

    fn offset(&self, index: u16) -> Result<usize, Error> {
        match self.offsets.get(index as usize) {
            Some(&at) if at != 0 => Ok(at as usize),
            _ => Err(Error::new(self.end, "a constant pool index that names nothing")),
        }
    }

    /// A cursor on the content of an entry that must have the given tag.
    pub(super) fn entry(&self, index: u16, tag: u8, what: &'static str) -> Result<Cursor<'a>, Error> {
        let at = self.offset(index)?;
        if self.bytes[at] != tag {
            return Err(Error::new(at, what));
        }
        Ok(Cursor::new(self.bytes, at + 1))
    }

    /// The bytes of a Utf8 entry.
    pub fn utf8(&self, index: u16) -> Result<&'a [u8], Error> {
        let mut c = self.entry(index, tag::UTF8, "a constant that should be Utf8")?;
        let length = c.u2()? as usize;
        c.take(length)
    }

    /// The internal name of a Class entry.
    pub fn class_name(&self, index: u16) -> Result<&'a [u8], Error> {
        let name = self.entry(index, tag::CLASS, "a constant that should be a class")?.u2()?;
        self.utf8(name)
    }

    /// A Fieldref, Methodref, InterfaceMethodref, Dynamic or InvokeDynamic entry.
    pub fn member(&self, index: u16) -> Result<MemberRef<'a>, Error> {
        let at = self.offset(index)?;
        let mut c = Cursor::new(self.bytes, at + 1);
        let (class_index, class) = match self.bytes[at] {
            tag::FIELDREF | tag::METHODREF | tag::INTERFACE_METHODREF => {
                let class_index = c.u2()?;
                (class_index, self.class_name(class_index)?)
            }
            tag::DYNAMIC | tag::INVOKE_DYNAMIC => {
                c.u2()?;
                (0, &b""[..])
            }
            _ => return Err(Error::new(at, "a constant that should be a field or method")),
        };
        let mut pair = self.entry(c.u2()?, tag::NAME_AND_TYPE, "a constant that should be NameAndType")?;
        let (name_index, descriptor_index) = (pair.u2()?, pair.u2()?);
        let (name, descriptor) = (self.utf8(name_index)?, self.utf8(descriptor_index)?);
        Ok(MemberRef { class_index, class, name_index, name, descriptor_index, descriptor })
    }

    /// The value of an Integer entry.
    pub fn integer(&self, index: u16) -> Result<i32, Error> {
        Ok(self.entry(index, tag::INTEGER, "a constant that should be an integer")?.u4()? as i32)
    }
}
