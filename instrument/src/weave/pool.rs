//! New constants, appended to the pool: everything already there keeps its index.

use std::collections::HashMap;

use super::calls::Call;
use super::forwarders;
use crate::abi;
use crate::classfile::tag;

/// The constants that woven code adds to one class.
#[derive(Debug, Default)]
pub(super) struct NewConstants {
    /// The entries, as they will stand in the file.
    pub(super) bytes: Vec<u8>,
    next: u32,
    heir: Option<u16>,
    runtime: Option<u16>,
    /// A handful.
    shared: Vec<(&'static str, u16)>,
    /// `<local4>`, by slot.
    local_names: Vec<(u16, u16)>,
    integers: HashMap<i32, u16>,
    /// By name; the types of parameters are in descriptors only.
    classes: HashMap<Box<[u8]>, u16>,
    calls: [Option<u16>; Call::ALL.len()],
}

impl NewConstants {
    /// Starts anew behind a pool of `count` entries (the count as in the file). With `heir`, a class that inherits the
    /// [`super::forwarders`], the runtime is called through them.
    pub(super) fn begin(&mut self, count: usize, heir: Option<u16>) {
        let (mut bytes, mut integers) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.integers));
        let (mut shared, mut local_names) = (std::mem::take(&mut self.shared), std::mem::take(&mut self.local_names));
        let mut classes = std::mem::take(&mut self.classes);
        bytes.clear();
        integers.clear();
        shared.clear();
        local_names.clear();
        classes.clear();
        *self = Self { bytes, next: count as u32, heir, integers, classes, shared, local_names, ..Self::default() };
    }

    /// The new count for the file; `None`: more constants than a class file can have. Or a hidden class's: HotSpot counts one more
    /// for its name, in 16 bits, and writes out of bounds where that is too much (classFileParser.cpp, `_orig_cp_size`, JDK 17
    /// to 25).
    pub(super) fn count(&self) -> Option<u16> {
        u16::try_from(self.next).ok().filter(|&count| count < u16::MAX)
    }

    /// Answers the new entry's index. Beyond 65535 the class is given up in the end (see [`Self::count`]), so that an
    /// index cut to 16 bits is never used.
    fn push(&mut self, tag: u8, content: &[&[u8]]) -> u16 {
        self.bytes.push(tag);
        for part in content {
            self.bytes.extend_from_slice(part);
        }
        self.next += 1;
        (self.next - 1) as u16
    }

    /// A Utf8 constant, of less than 65536 bytes.
    pub(super) fn utf8(&mut self, text: &[u8]) -> u16 {
        let length = (text.len() as u16).to_be_bytes();
        self.push(tag::UTF8, &[&length, text])
    }

    /// A Class constant, once for each name; that is shorter than 65536 bytes, being part of a descriptor or ours.
    pub(super) fn class(&mut self, name: &[u8]) -> u16 {
        if let Some(&index) = self.classes.get(name) {
            return index;
        }
        let text = self.utf8(name).to_be_bytes();
        let index = self.push(tag::CLASS, &[&text]);
        self.classes.insert(name.into(), index);
        index
    }

    /// An Integer constant. (A method may be written several times, until all jumps reach.)
    pub(super) fn integer(&mut self, value: i32) -> u16 {
        if let Some(&index) = self.integers.get(&value) {
            return index;
        }
        let index = self.push(tag::INTEGER, &[&value.to_be_bytes()]);
        self.integers.insert(value, index);
        index
    }

    /// The Methodref of a runtime method.
    pub(super) fn call(&mut self, call: Call) -> u16 {
        if let Some(index) = self.calls[call as usize] {
            return index;
        }
        let class = match self.heir.or(self.runtime) {
            Some(index) => index,
            None => self.class(abi::RUNTIME.as_bytes()),
        };
        let (name, descriptor) = call.signature();
        let name = if self.heir.is_some() {
            self.utf8(format!("{}{name}", forwarders::PREFIX).as_bytes()).to_be_bytes()
        } else {
            self.runtime = Some(class);
            self.utf8(name.as_bytes()).to_be_bytes()
        };
        let descriptor = self.utf8(descriptor.as_bytes()).to_be_bytes();
        let pair = self.push(tag::NAME_AND_TYPE, &[&name, &descriptor]).to_be_bytes();
        let index = self.push(tag::METHODREF, &[&class.to_be_bytes(), &pair]);
        self.calls[call as usize] = Some(index);
        index
    }

    /// The Class constant of `java.lang.Throwable`.
    pub(super) fn throwable(&mut self) -> u16 {
        self.class(b"java/lang/Throwable")
    }

    /// A Utf8 constant that several methods of a class may need, once.
    pub(super) fn shared(&mut self, text: &'static str) -> u16 {
        if let Some(&(_, index)) = self.shared.iter().find(|(known, _)| *known == text) {
            return index;
        }
        let index = self.utf8(text.as_bytes());
        self.shared.push((text, index));
        index
    }

    /// The Utf8 constant of HotSpot's name for a local that has none.
    pub(super) fn local_name(&mut self, local: u16) -> u16 {
        if let Some(&(_, index)) = self.local_names.iter().find(|(slot, _)| *slot == local) {
            return index;
        }
        let index = self.utf8(format!("<local{local}>").as_bytes());
        self.local_names.push((local, index));
        index
    }
}
