//! Reading class files (JVMS chapter 4): one pass that finds where things are, and no more.
//!
//! Nothing is copied out of the bytes. Lengths and indexes are never trusted: every access is checked and answers an
//! [`Error`] that says where.

mod annotations;
mod code;
mod constant;
mod cursor;
pub mod descriptor;
pub mod instructions;
pub mod mutf8;
pub mod opcode;
mod pool;
pub(crate) mod stack_map;

pub(crate) use annotations::{Position, each_position};
pub use code::{Code, Handler};
pub use constant::Constant;
pub(crate) use cursor::Cursor;
pub use cursor::Error;
pub use pool::{MemberRef, Pool, tag};

use std::borrow::Cow;

/// Access flags used here (JVMS tables 4.1-B, 4.5-A, 4.6-A).
pub mod access {
    /// Declared `public`.
    pub const PUBLIC: u16 = 0x0001;
    /// Declared `private`.
    pub const PRIVATE: u16 = 0x0002;
    /// Declared `static`.
    pub const STATIC: u16 = 0x0008;
    /// Declared `final`.
    pub const FINAL: u16 = 0x0010;
    /// Declared `transient`.
    pub const TRANSIENT: u16 = 0x0080;
    /// Declared `native`.
    pub const NATIVE: u16 = 0x0100;
    /// Is an interface.
    pub const INTERFACE: u16 = 0x0200;
    /// Declared `abstract`.
    pub const ABSTRACT: u16 = 0x0400;
    /// Not in the source.
    pub const SYNTHETIC: u16 = 0x1000;
}

/// A class file, parsed in place.
#[derive(Debug)]
pub struct ClassFile<'a> {
    /// The whole file.
    pub bytes: &'a [u8],
    /// Major version: 45 … 69 for Java 1.1 … 25.
    pub major: u16,
    /// The constant pool.
    pub pool: Pool<'a>,
    /// Access flags of the class.
    pub access: u16,
    /// Pool index of this class.
    pub this_index: u16,
    /// Pool index of the superclass; 0 for `java.lang.Object` and modules.
    pub super_index: u16,
    interfaces: Vec<u16>,
    fields: Vec<Field>,
    /// The methods, in file order.
    pub methods: Vec<Method<'a>>,
    /// Offset of `fields_count`.
    pub fields_at: usize,
    /// Offset of `methods_count`.
    pub(crate) methods_at: usize,
    /// Offset of the class's `attributes_count`.
    pub(crate) attributes_at: usize,
}

/// One field of a class file: access flags, pool indexes of name and descriptor.
#[derive(Debug, Clone, Copy)]
struct Field {
    access: u16,
    name: u16,
    descriptor: u16,
}

/// One method of a class file.
#[derive(Debug, Clone)]
pub struct Method<'a> {
    /// Position in the class file's method table.
    pub index: u16,
    /// Access flags.
    pub access: u16,
    /// Name in modified UTF-8.
    pub name: &'a [u8],
    /// Descriptor in modified UTF-8.
    pub descriptor: &'a [u8],
    /// Where the `method_info` starts and ends in the file.
    pub(crate) span: (usize, usize),
    /// Contents of the Code attribute, its offset in the file; `None` for native and abstract methods.
    pub(crate) code: Option<(usize, &'a [u8])>,
}

impl Method<'_> {
    /// Whether it makes an object of it (JVMS §2.9.1).
    pub fn is_constructor(&self) -> bool {
        self.name == b"<init>"
    }

    /// Bytes of its code (JVMS §4.7.3); `None` without code.
    pub fn code_length(&self) -> Option<u32> {
        let (_, content) = self.code?;
        content.get(4..8).map(|length| u32::from_be_bytes([length[0], length[1], length[2], length[3]]))
    }

    /// The name, decoded.
    pub fn name_str(&self) -> Cow<'_, str> {
        mutf8::decode(self.name)
    }

    /// The descriptor, decoded.
    pub fn descriptor_str(&self) -> Cow<'_, str> {
        mutf8::decode(self.descriptor)
    }

    /// Whether the method has bytecode.
    pub fn has_code(&self) -> bool {
        self.code.is_some()
    }
}

impl<'a> ClassFile<'a> {
    /// Parses a class file. Whatever follows the class's last attribute is an error, as for the JVM.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut c = Cursor::new(bytes, 0);
        if c.u4()? != 0xCAFE_BABE {
            return Err(Error::new(0, "not a class file"));
        }
        let _minor = c.u2()?;
        let major = c.u2()?;
        let pool = Pool::parse(&mut c)?;
        let access = c.u2()?;
        let this_index = c.u2()?;
        let super_index = c.u2()?;
        let count = c.u2()? as usize;
        let mut interfaces = Vec::with_capacity(count.min(256));
        for _ in 0..count {
            interfaces.push(c.u2()?);
        }
        let fields_at = c.at();
        let count = c.u2()? as usize;
        let mut fields = Vec::with_capacity(count.min(bytes.len() / 8));
        for _ in 0..count {
            fields.push(Field { access: c.u2()?, name: c.u2()?, descriptor: c.u2()? });
            skip_attributes(&mut c)?;
        }
        let methods_at = c.at();
        let count = c.u2()?;
        let mut methods = Vec::with_capacity((count as usize).min(bytes.len() / 8));
        for index in 0..count {
            methods.push(Self::method(&mut c, &pool, index)?);
            if let Some(method) = methods.last_mut().filter(|method| major < 51 && method.name == b"<clinit>") {
                // Of older classes the flags of initialisers are not looked at (JVMS §2.9.2, §4.6).
                method.access |= access::STATIC;
            }
        }
        let attributes_at = c.at();
        skip_attributes(&mut c)?;
        if c.at() != bytes.len() {
            return Err(Error::new(c.at(), "bytes after the end of the class"));
        }
        pool.class_name(this_index)?;
        if super_index != 0 {
            pool.class_name(super_index)?;
        }
        Ok(Self {
            bytes,
            major,
            pool,
            access,
            this_index,
            super_index,
            interfaces,
            fields,
            methods,
            fields_at,
            methods_at,
            attributes_at,
        })
    }

    fn method(c: &mut Cursor<'a>, pool: &Pool<'a>, index: u16) -> Result<Method<'a>, Error> {
        let start = c.at();
        let access = c.u2()?;
        let name = pool.utf8(c.u2()?)?;
        let descriptor = pool.utf8(c.u2()?)?;
        let mut code = None;
        for _ in 0..c.u2()? {
            let attribute = pool.utf8(c.u2()?)?;
            let length = c.u4()? as usize;
            let at = c.at();
            let content = c.take(length)?;
            if attribute == b"Code" {
                if code.is_some() {
                    return Err(Error::new(at, "a method with two Code attributes"));
                }
                code = Some((at, content));
            }
        }
        Ok(Method { index, access, name, descriptor, span: (start, c.at()), code })
    }

    /// Internal name (`java/lang/String`), modified UTF-8.
    pub fn name(&self) -> &'a [u8] {
        self.pool.class_name(self.this_index).unwrap_or(b"?")
    }

    /// Internal name, decoded.
    pub fn name_str(&self) -> Cow<'a, str> {
        mutf8::decode(self.name())
    }

    /// Internal name of the superclass, if there is one.
    pub fn super_name(&self) -> Option<&'a [u8]> {
        self.pool.class_name(self.super_index).ok()
    }

    /// Internal names of the direct superinterfaces.
    pub fn interfaces(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.interfaces.iter().filter_map(|&i| self.pool.class_name(i).ok())
    }

    /// Whether the class itself declares this field, static or not. Names are compared by their pool indexes, so that in a
    /// class with two equal constants the answer may be a false "no".
    pub(crate) fn declares(&self, field: &MemberRef<'_>, is_static: bool) -> bool {
        let named = |f: &&Field| f.name == field.name_index && f.descriptor == field.descriptor_index;
        self.fields.iter().find(named).is_some_and(|f| (f.access & access::STATIC != 0) == is_static)
    }

    /// The Code attribute of a method, parsed; `None` for native and abstract methods.
    pub fn code(&self, method: &Method<'a>) -> Result<Option<Code<'a>>, Error> {
        method.code.map(|(at, content)| Code::parse(content, at)).transpose()
    }

    /// Name in the SourceFile attribute (JVMS §4.7.10), if present.
    pub fn source_file(&self) -> Option<Cow<'a, str>> {
        let index = u16::from_be_bytes(self.attribute(b"SourceFile")?.try_into().ok()?);
        self.pool.utf8(index).ok().map(mutf8::decode)
    }

    /// Text of the SourceDebugExtension attribute (JVMS §4.7.11), if present.
    pub fn source_debug_extension(&self) -> Option<Cow<'a, str>> {
        self.attribute(b"SourceDebugExtension").map(mutf8::decode)
    }

    /// The BootstrapMethods attribute (JVMS §4.7.23), as far as it can be read: of each method the pool index of its handle, then
    /// those of its arguments.
    pub fn bootstrap_methods(&self) -> Vec<Vec<u16>> {
        let mut c = Cursor::new(self.attribute(b"BootstrapMethods").unwrap_or_default(), 0);
        let count = c.u2().unwrap_or_default();
        let mut one = || -> Result<Vec<u16>, Error> {
            let mut indexes = vec![c.u2()?];
            for _ in 0..c.u2()? {
                indexes.push(c.u2()?);
            }
            Ok(indexes)
        };
        (0..count).map_while(|_| one().ok()).collect()
    }

    /// Content of the class's first attribute of this name.
    fn attribute(&self, wanted: &[u8]) -> Option<&'a [u8]> {
        let mut c = Cursor::new(self.bytes, self.attributes_at);
        for _ in 0..c.u2().ok()? {
            let name = self.pool.utf8(c.u2().ok()?).ok()?;
            let length = c.u4().ok()? as usize;
            let content = c.take(length).ok()?;
            if name == wanted {
                return Some(content);
            }
        }
        None
    }
}

fn skip_attributes(c: &mut Cursor<'_>) -> Result<(), Error> {
    for _ in 0..c.u2()? {
        c.skip(2)?;
        let length = c.u4()? as usize;
        c.skip(length)?;
    }
    Ok(())
}
