//! The attributes of a Code attribute that hold bytecode indices or local variables, moved with the code.

use super::body::Body;
use super::layout::Layout;
use super::pool::NewConstants;
use crate::classfile::{Cursor, Error, type_annotation_positions};
use crate::flow::{Graph, Load, mark};

/// What the tables have to follow.
pub(super) struct Moved<'m> {
    pub(super) graph: &'m Graph,
    pub(super) body: &'m Body,
    pub(super) layout: Layout,
}

impl Moved<'_> {
    /// The instruction at, or the nearest one before, a bytecode index. (Some optimisers leave debug tables that point
    /// into instructions; the JVM only asks that they stay within the code.)
    fn whole(&self, bci: u16) -> Result<usize, Error> {
        let marks = &self.graph.marks;
        let bci = bci as usize;
        if bci + 1 == marks.len() {
            return Ok(bci);
        }
        let upto = marks.get(..=bci).ok_or(Error::new(bci, "a debug table that points out of the method"))?;
        Ok(upto.iter().rposition(|m| m & mark::START != 0).unwrap_or(0))
    }

    /// Where a line or variable begins; what begins with the method begins with its entry sequence.
    fn begin(&self, bci: u16) -> Result<u16, Error> {
        if bci == 0 { Ok(0) } else { Ok(self.body.arrival[self.whole(bci)?] as u16) }
    }

    fn end(&self, bci: u16) -> Result<u16, Error> {
        Ok(self.body.behind[self.whole(bci)?] as u16)
    }

    fn range(&self, start: u16, length: u16) -> Result<[u8; 4], Error> {
        let end = start.checked_add(length).ok_or(Error::new(0, "a local variable's range out of the method"))?;
        let (start, end) = (self.begin(start)?, self.end(end)?);
        let [a, b] = start.to_be_bytes();
        let [c, d] = end.saturating_sub(start).to_be_bytes();
        Ok([a, b, c, d])
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
            out.extend_from_slice(&self.begin(c.u2()?)?.to_be_bytes());
            out.extend_from_slice(&c.u2()?.to_be_bytes());
        }
        Ok(())
    }

    /// LocalVariableTable and LocalVariableTypeTable (JVMS §4.7.13, §4.7.14).
    pub(super) fn variables(&self, content: &[u8], at: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut c = Cursor::part(content, at);
        let count = c.u2()?;
        out.extend_from_slice(&count.to_be_bytes());
        for _ in 0..count {
            let (start, length) = (c.u2()?, c.u2()?);
            out.extend_from_slice(&self.range(start, length)?);
            out.extend_from_slice(c.take(4)?); // name, descriptor or signature
            out.extend_from_slice(&self.local(c.u2()?));
        }
        Ok(())
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

    /// RuntimeVisibleTypeAnnotations and RuntimeInvisibleTypeAnnotations (JVMS §4.7.20).
    pub(super) fn annotations(&self, content: &[u8], at: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        use crate::classfile::Position;
        let start = out.len();
        out.extend_from_slice(content);
        let mut failed = None;
        type_annotation_positions(content, at, &mut |offset, position| {
            let u2 = |o: usize| content.get(o..o + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
            let new = start + offset;
            let patched = match position {
                Position::Instruction => self.whole(u2(offset)).map(|bci| {
                    // The cursor checks the two bytes after this call, or the six below; a short attribute fails there.
                    if let Some(place) = out.get_mut(new..new + 2) {
                        place.copy_from_slice(&(self.body.instruction[bci] as u16).to_be_bytes());
                    }
                }),
                Position::Range => self.range(u2(offset), u2(offset + 2)).map(|range| {
                    if let Some(row) = out.get_mut(new..new + 6) {
                        row[..4].copy_from_slice(&range);
                        row[4..].copy_from_slice(&self.local(u2(offset + 4)));
                    }
                }),
            };
            failed = failed.take().or(patched.err());
        })?;
        failed.map_or(Ok(()), Err)
    }
}
