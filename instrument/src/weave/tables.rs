//! The attributes of a Code attribute that hold bytecode indices or local variables, moved with the code.

use super::body::Body;
use super::layout::Layout;
use super::pool::NewConstants;
use crate::classfile::opcode::LENGTH;
use crate::classfile::{Code, Cursor, Error, Pool, Position, each_position};
use crate::flow::{Graph, Load, mark};

/// What the tables have to follow.
pub(super) struct Moved<'m> {
    /// The class's constants.
    pub(super) pool: &'m Pool<'m>,
    pub(super) graph: &'m Graph,
    pub(super) body: &'m Body,
    pub(super) layout: Layout,
}

impl Moved<'_> {
    /// The instruction at, or the nearest one before, a bytecode index; none where that is outside of the code. (Some optimisers
    /// leave debug tables that point into instructions.)
    fn whole(&self, bci: u16) -> Option<usize> {
        let marks = &self.graph.marks;
        let bci = bci as usize;
        if bci + 1 == marks.len() {
            return Some(bci);
        }
        marks.get(..=bci).map(|upto| upto.iter().rposition(|m| m & mark::START != 0).unwrap_or(0))
    }

    /// Where a line or variable begins; what begins with the method begins with its entry sequence, what begins behind its code
    /// behind the new one.
    fn begin(&self, bci: u16) -> Option<u16> {
        match self.whole(bci)? {
            _ if bci == 0 => Some(0),
            at if at < bci.into() => Some(self.within(at, bci)),
            at if at + 1 == self.graph.marks.len() => u16::try_from(self.body.out.len()).ok(),
            at => Some(self.body.arrival[at] as u16),
        }
    }

    fn end(&self, bci: u16) -> Option<u16> {
        let at = self.whole(bci)?;
        Some(if at < bci.into() { self.within(at, bci) } else { self.body.behind[at] as u16 })
    }

    /// What points into the instruction at an index does so again: it is behind this one and before the next, and where HotSpot
    /// verifies, it refuses such variables (verifier.cpp, `verify_local_variable_table`). What points elsewhere there points elsewhere
    /// again, as far as the new one is as long: it refuses equal rows, too (classFileParser.cpp, `LVT_Hash`).
    fn within(&self, at: usize, bci: u16) -> u16 {
        /// No `wide` instruction and no switch is shorter.
        const ODD: u8 = 4;
        let new = self.body.instruction[at] as u16;
        let length = LENGTH.get(self.body.out[usize::from(new)] as usize).copied().filter(|&length| length > 0).unwrap_or(ODD);
        new + (bci - at as u16).min(u16::from(length) - 1)
    }

    fn range(&self, start: u16, length: u16) -> Option<[u8; 4]> {
        let (start, end) = (self.begin(start)?, self.end(start.checked_add(length)?)?);
        let [a, b] = start.to_be_bytes();
        let [c, d] = end.saturating_sub(start).to_be_bytes();
        Some([a, b, c, d])
    }

    fn local(&self, index: u16) -> [u8; 2] {
        self.layout.moved(index).to_be_bytes()
    }

    /// LineNumberTable (JVMS §4.7.12).
    pub(super) fn lines(&self, content: &[u8], at: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut c = Cursor::part(content, at);
        let count = c.u2()?;
        out.extend_from_slice(&count.to_be_bytes());
        for _ in 0..count {
            let begin = self.begin(c.u2()?).ok_or_else(|| c.error("a line that begins out of the method"))?;
            out.extend_from_slice(&begin.to_be_bytes());
            out.extend_from_slice(&c.u2()?.to_be_bytes());
        }
        ended(&c)
    }

    /// LocalVariableTable or LocalVariableTypeTable (JVMS §4.7.13, §4.7.14) of the original code, with constants and locals that are not
    /// there being the JVM's to refuse: with ours, they might be.
    pub(super) fn variables(&self, content: &[u8], at: usize, code: &Code<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut c = Cursor::part(content, at);
        let count = c.u2()?;
        out.extend_from_slice(&count.to_be_bytes());
        for _ in 0..count {
            let (start, length) = (c.u2()?, c.u2()?);
            let range = self.range(start, length).ok_or_else(|| c.error("a local variable's range out of the method"))?;
            out.extend_from_slice(&range);
            let (name, of) = (c.u2()?, c.u2()?); // name, descriptor or signature
            self.pool.utf8(name)?;
            // Types' signatures are of references.
            let is_wide = matches!(self.pool.utf8(of)?, b"J" | b"D");
            let local = c.u2()?;
            if u32::from(local) + u32::from(is_wide) >= u32::from(code.max_locals) {
                return Err(c.error("a local variable beyond the last local"));
            }
            for value in [name, of] {
                out.extend_from_slice(&value.to_be_bytes());
            }
            out.extend_from_slice(&self.local(local));
        }
        ended(&c)
    }

    /// The locals above ours that are loaded where none of the original tables of variables has a name for them, each once, and
    /// whether the first load is of a reference. HotSpot calls such a local by its slot when it says what was null
    /// (bytecodeUtils.cpp, `print_local_var`, JDK 14 on), and that is another one now.
    pub(super) fn nameless(&self, tables: &[&[u8]]) -> Vec<(u16, bool)> {
        let mut nameless: Vec<(u16, bool)> = Vec::new();
        if self.layout.shift == 0 {
            return nameless;
        }
        for &Load { bci, local, reference } in self.graph.loads.iter().filter(|load| load.local >= self.layout.insert_at) {
            let names = |row: &[u8; 10]| {
                let u2 = |at: usize| u16::from_be_bytes([row[at], row[at + 1]]);
                u2(8) == local && (u32::from(u2(0))..u32::from(u2(0)) + u32::from(u2(2))).contains(&bci)
            };
            let mut rows = tables.iter().flat_map(|table| table.get(2..).unwrap_or_default().as_chunks::<10>().0);
            if !nameless.iter().any(|&(other, _)| other == local) && !rows.any(names) {
                nameless.push((local, reference));
            }
        }
        nameless
    }

    /// Rows of a LocalVariableTable by which these locals have the names that HotSpot gave them before.
    pub(super) fn former_names(&self, nameless: &[(u16, bool)], constants: &mut NewConstants, out: &mut Vec<u8>) {
        for &(local, reference) in nameless {
            let length = self.body.out.len() as u16;
            for value in
                [0, length, constants.local_name(local), constants.shared(if reference { "Ljava/lang/Object;" } else { "I" })]
            {
                out.extend_from_slice(&value.to_be_bytes());
            }
            out.extend_from_slice(&self.local(local));
        }
    }

    /// RuntimeVisibleTypeAnnotations and RuntimeInvisibleTypeAnnotations (JVMS §4.7.20). No JVM looks at them, and javac has written
    /// positions that are those of another method (JDK-8144185, JDK-8315447): what leads nowhere stays as it is.
    pub(super) fn annotations(&self, content: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(content);
        each_position(content, &mut |offset, position| {
            let u2 = |o: usize| content.get(o..o + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
            let new = start + offset;
            match position {
                Position::Instruction => {
                    if let (Some(bci), Some(place)) = (self.whole(u2(offset)), out.get_mut(new..new + 2)) {
                        place.copy_from_slice(&(self.body.instruction[bci] as u16).to_be_bytes());
                    }
                }
                Position::Range => {
                    if let (Some(range), Some(row)) = (self.range(u2(offset), u2(offset + 2)), out.get_mut(new..new + 6)) {
                        row[..4].copy_from_slice(&range);
                        row[4..].copy_from_slice(&self.local(u2(offset + 4)));
                    }
                }
            }
        });
    }
}

/// A table with more than its rows is the JVM's to refuse; rewritten, it would have none.
pub(super) fn ended(c: &Cursor<'_>) -> Result<(), Error> {
    if c.is_at_end() { Ok(()) } else { Err(c.error("bytes behind a table's last row")) }
}
