//! Reads StackMapTables (JVMS §4.7.4) into whole frames, knowing nothing of how the weaver reads them.

use std::collections::BTreeMap;

use cprof_instrument::classfile::{ClassFile, Method};

/// A verification type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// One of those without data, by tag; 0 is top.
    Plain(u8),
    Object(Vec<u8>),
    /// Made by the `new` at this position.
    Uninitialized(u16),
    /// The second slot of a long or double.
    Half,
}

/// One frame, slot by slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub locals: Vec<Type>,
    pub stack: Vec<Type>,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    class: &'a ClassFile<'a>,
}

impl Reader<'_> {
    fn u1(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }

    fn u2(&mut self) -> u16 {
        u16::from_be_bytes([self.u1(), self.u1()])
    }

    fn item(&mut self) -> Type {
        match self.u1() {
            7 => {
                let index = self.u2();
                Type::Object(self.class.pool.class_name(index).expect("a class").to_vec())
            }
            8 => Type::Uninitialized(self.u2()),
            tag => Type::Plain(tag),
        }
    }

    fn items(&mut self, count: u16) -> Vec<Type> {
        (0..count).map(|_| self.item()).collect()
    }
}

/// Longs and doubles get their second slot.
fn slots(items: &[Type]) -> Vec<Type> {
    let mut slots = Vec::new();
    for item in items {
        slots.push(item.clone());
        if matches!(item, Type::Plain(3 | 4)) {
            slots.push(Type::Half);
        }
    }
    slots
}

/// The locals when the method begins (JVMS §4.10.1.6).
pub fn initial(class: &ClassFile<'_>, method: &Method<'_>) -> Vec<Type> {
    let mut locals = Vec::new();
    if method.access & 8 == 0 {
        let uninitialized = method.name == b"<init>" && class.super_name().is_some();
        locals.push(if uninitialized { Type::Plain(6) } else { Type::Object(class.name().to_vec()) });
    }
    let descriptor = method.descriptor_str();
    let mut rest = &descriptor[1..descriptor.find(')').expect("a method descriptor")];
    while !rest.is_empty() {
        let element = rest.trim_start_matches('[');
        let dimensions = rest.len() - element.len();
        let length = dimensions + if element.starts_with('L') { element.find(';').expect("an end") + 1 } else { 1 };
        locals.push(match &rest[..length] {
            "J" => Type::Plain(4),
            "D" => Type::Plain(3),
            "F" => Type::Plain(2),
            array if dimensions > 0 => Type::Object(array.as_bytes().to_vec()),
            name if name.starts_with('L') => Type::Object(name.as_bytes()[1..length - 1].to_vec()),
            _ => Type::Plain(1),
        });
        rest = &rest[length..];
    }
    locals
}

/// All frames of a method, by position.
pub fn read(class: &ClassFile<'_>, method: &Method<'_>, table: &[u8]) -> BTreeMap<u32, Frame> {
    let mut r = Reader { bytes: table, at: 0, class };
    let mut locals = initial(class, method);
    let mut frames = BTreeMap::new();
    let mut position = -1i64;
    for _ in 0..r.u2() {
        let kind = r.u1();
        let mut stack = Vec::new();
        let delta = match kind {
            0..=63 => kind.into(),
            64..=127 => u16::from(kind) - 64,
            _ => r.u2(),
        };
        match kind {
            64..=127 | 247 => stack = r.items(1),
            248..=250 => locals.truncate(locals.len() - usize::from(251 - kind)),
            252..=254 => locals.extend(r.items(u16::from(kind) - 251)),
            255 => {
                let count = r.u2();
                locals = r.items(count);
                let count = r.u2();
                stack = r.items(count);
            }
            _ => {}
        }
        position += i64::from(delta) + 1;
        frames.insert(position as u32, Frame { locals: slots(&locals), stack });
    }
    assert_eq!(r.at, table.len(), "the whole table was read");
    frames
}
