//! StackMapTables (JVMS §4.7.4), read entry by entry.

use super::descriptor::parameters;
use super::{ClassFile, Code, Cursor, Error, Method, access};

/// Tags of verification types; 5 is that of `null`.
pub(crate) mod item {
    pub(crate) const TOP: u8 = 0;
    pub(crate) const INTEGER: u8 = 1;
    pub(crate) const FLOAT: u8 = 2;
    pub(crate) const DOUBLE: u8 = 3;
    pub(crate) const LONG: u8 = 4;
    pub(crate) const UNINITIALIZED_THIS: u8 = 6;
    pub(crate) const OBJECT: u8 = 7;
    pub(crate) const UNINITIALIZED: u8 = 8;
    /// Ours: the class of a parameter, which may have no constant in the pool yet; the data is its number.
    pub(crate) const PARAMETER: u8 = 255;
}

/// A verification type: its tag, and a pool index, bytecode index or parameter number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) tag: u8,
    pub(crate) data: u16,
}

impl Type {
    pub(crate) const TOP: Self = Self { tag: item::TOP, data: 0 };
    pub(crate) const INTEGER: Self = Self { tag: item::INTEGER, data: 0 };
    pub(crate) const LONG: Self = Self { tag: item::LONG, data: 0 };
    pub(crate) const UNINITIALIZED_THIS: Self = Self { tag: item::UNINITIALIZED_THIS, data: 0 };

    /// How many locals it takes.
    pub(crate) fn slots(self) -> u16 {
        if matches!(self.tag, item::LONG | item::DOUBLE) { 2 } else { 1 }
    }

    fn read(c: &mut Cursor<'_>) -> Result<Type, Error> {
        let tag = c.u1()?;
        let data = match tag {
            item::TOP..=item::UNINITIALIZED_THIS => 0,
            item::OBJECT | item::UNINITIALIZED => c.u2()?,
            _ => return Err(c.error("an unknown verification type")),
        };
        Ok(Type { tag, data })
    }
}

/// Kinds of entries: the first of those with one operand on the stack, and those beyond the short ones. Between
/// [`SAME_LOCALS_1_EXTENDED`](kind::SAME_LOCALS_1_EXTENDED) and [`FULL`](kind::FULL) they are
/// [`SAME_EXTENDED`](kind::SAME_EXTENDED) and as much as locals are added or dropped.
pub(crate) mod kind {
    pub(crate) const SAME_LOCALS_1: u8 = 64;
    pub(crate) const SAME_LOCALS_1_EXTENDED: u8 = 247;
    pub(crate) const SAME_EXTENDED: u8 = 251;
    pub(crate) const FULL: u8 = 255;
}

/// A method's table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackMapTable<'a> {
    /// Where it is in the class file.
    at: usize,
    content: &'a [u8],
}

impl<'a> StackMapTable<'a> {
    /// That of a method's code, if it has one. More than one are the JVM's to refuse.
    pub(crate) fn of(class: &ClassFile<'a>, code: &Code<'a>) -> Result<Option<StackMapTable<'a>>, Error> {
        let is_table = |&(name, ..): &(u16, usize, &[u8])| class.pool.utf8(name).is_ok_and(|name| name == b"StackMapTable");
        let mut tables = code.attributes().filter(is_table).map(|(_, at, content)| StackMapTable { at, content });
        let first = tables.next();
        match tables.next() {
            Some(second) => Err(Error::new(second.at, "a second table of stack maps")),
            None => Ok(first),
        }
    }

    /// Whether its first entry is for bytecode 0.
    pub(crate) fn starts_at_0(&self) -> bool {
        match *self.content {
            [_, _, 0 | kind::SAME_LOCALS_1, ..] => true,
            [_, _, kind, high, low, ..] if kind >= kind::SAME_LOCALS_1_EXTENDED => high == 0 && low == 0,
            _ => false,
        }
    }

    /// To its number of entries, then the first of them.
    pub(crate) fn cursor(&self) -> Cursor<'a> {
        Cursor::part(self.content, self.at)
    }
}

/// An entry of a table: where it is, and how it says what it says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) kind: u8,
    pub(crate) bci: u32,
    /// Locals added (positive), or dropped (negative); for a full frame, 0.
    pub(crate) change: i8,
}

/// What a stack map says. Reused from entry to entry, each a change of the one before, and from method to method.
#[derive(Debug, Default)]
pub(crate) struct Frame<'a> {
    pub(crate) locals: Vec<Type>,
    pub(crate) stack: Vec<Type>,
    /// Names of the classes of [`item::PARAMETER`].
    pub(crate) parameters: Vec<&'a [u8]>,
}

impl<'a> Frame<'a> {
    /// Goes to the start of a method, as its descriptor says (JVMS §4.10.1.6).
    ///
    /// # Errors
    /// A malformed descriptor.
    pub(crate) fn enter(&mut self, class: &ClassFile<'a>, method: &Method<'a>) -> Result<(), Error> {
        self.locals.clear();
        self.stack.clear();
        self.parameters.clear();
        if method.access & access::STATIC == 0 {
            self.locals.push(match method.is_constructor() && class.super_index != 0 {
                true => Type::UNINITIALIZED_THIS,
                false => Type { tag: item::OBJECT, data: class.this_index },
            });
        }
        for parameter in parameters(method.descriptor) {
            let bytes = parameter.ok_or(Error::new(method.span.0, "a malformed method descriptor"))?;
            let tag = match bytes[0] {
                b'J' => item::LONG,
                b'D' => item::DOUBLE,
                b'F' => item::FLOAT,
                b'L' | b'[' => item::PARAMETER,
                _ => item::INTEGER,
            };
            let data = self.parameters.len() as u16;
            if tag == item::PARAMETER {
                // The name of an array class is its descriptor (JVMS §4.4.1).
                self.parameters.push(if bytes[0] == b'L' { &bytes[1..bytes.len() - 1] } else { bytes });
            }
            self.locals.push(Type { tag, data: if tag == item::PARAMETER { data } else { 0 } });
        }
        Ok(())
    }

    /// Goes on to the next entry. `before`: where the one before is, if there is one.
    ///
    /// # Errors
    /// A malformed entry.
    pub(crate) fn read(&mut self, c: &mut Cursor<'_>, before: Option<u32>) -> Result<Entry, Error> {
        let kind = c.u1()?;
        let delta = match kind {
            0..=63 => u32::from(kind),
            64..=127 => u32::from(kind - kind::SAME_LOCALS_1),
            kind::SAME_LOCALS_1_EXTENDED..=kind::FULL => u32::from(c.u2()?),
            _ => return Err(c.error("an unknown kind of stack map")),
        };
        let bci = before.map_or(delta, |before| before + delta + 1);
        self.stack.clear();
        let mut change = 0;
        match kind {
            64..=127 | kind::SAME_LOCALS_1_EXTENDED => self.stack.push(Type::read(c)?),
            248..=250 => {
                change = kind as i8 - kind::SAME_EXTENDED as i8;
                let dropped = kind::SAME_EXTENDED - kind;
                let left = self.locals.len().checked_sub(dropped as usize);
                self.locals.truncate(left.ok_or_else(|| c.error("a stack map that drops more locals than there are"))?);
            }
            252..=254 => {
                change = (kind - kind::SAME_EXTENDED) as i8;
                for _ in 0..change {
                    self.locals.push(Type::read(c)?);
                }
            }
            kind::FULL => {
                self.locals.clear();
                for _ in 0..c.u2()? {
                    self.locals.push(Type::read(c)?);
                }
                for _ in 0..c.u2()? {
                    self.stack.push(Type::read(c)?);
                }
            }
            _ => {}
        }
        Ok(Entry { kind, bci, change })
    }

    /// Goes to the entry at a bytecode index of a method.
    ///
    /// # Errors
    /// A malformed table, or one without that entry.
    pub(crate) fn go_to(
        &mut self,
        bci: u32,
        table: StackMapTable<'a>,
        class: &ClassFile<'a>,
        method: &Method<'a>,
    ) -> Result<(), Error> {
        self.enter(class, method)?;
        let mut c = table.cursor();
        let mut before = None;
        for _ in 0..c.u2()? {
            let entry = self.read(&mut c, before)?;
            if entry.bci == bci {
                return Ok(());
            }
            before = Some(entry.bci);
        }
        Err(c.error("no stack map where a jump lands"))
    }

    /// How many locals all of its types take.
    pub(crate) fn slots(&self) -> u16 {
        self.locals.iter().fold(0, |sum: u16, local| sum.saturating_add(local.slots()))
    }

    /// Whether a long or double takes the locals on both sides of a boundary.
    pub(crate) fn straddles(&self, boundary: u16) -> bool {
        let mut slot = 0;
        for local in &self.locals {
            if slot >= boundary {
                break;
            }
            slot += local.slots();
        }
        slot > boundary
    }
}
