//! Finding the bytecode indices inside Runtime(In)VisibleTypeAnnotations of a Code attribute (JVMS §4.7.20).

use super::cursor::{Cursor, Error};

/// What a position in the attribute holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// u2 bytecode index of an instruction.
    Instruction,
    /// u2 start and u2 length of a local variable's range.
    Range,
}

/// Calls `found(offset in content, kind)` for each position that code movement changes.
pub(crate) fn type_annotation_positions(
    content: &[u8],
    origin: usize,
    found: &mut dyn FnMut(usize, Position),
) -> Result<(), Error> {
    let mut c = Cursor::part(content, origin);
    for _ in 0..c.u2()? {
        match c.u1()? {
            0x00 | 0x01 | 0x16 => c.skip(1)?,
            0x10 | 0x11 | 0x12 | 0x17 => c.skip(2)?,
            0x13..=0x15 => {}
            0x40 | 0x41 => {
                for _ in 0..c.u2()? {
                    found(c.at(), Position::Range);
                    c.skip(6)?;
                }
            }
            0x42 => c.skip(2)?, // an index into the exception table, whose rows keep their places
            0x43..=0x46 => {
                found(c.at(), Position::Instruction);
                c.skip(2)?;
            }
            0x47..=0x4B => {
                found(c.at(), Position::Instruction);
                c.skip(3)?;
            }
            _ => return Err(c.error("unknown target type of a type annotation")),
        }
        let path = c.u1()? as usize;
        c.skip(2 * path)?;
        skip_annotation(&mut c, 0)?;
    }
    if c.is_at_end() { Ok(()) } else { Err(c.error("bytes after the last type annotation")) }
}

/// Nesting allowed in element values: far more than any compiler writes, and safe for the stack.
const DEEPEST: u32 = 64;

fn skip_annotation(c: &mut Cursor<'_>, depth: u32) -> Result<(), Error> {
    c.skip(2)?;
    for _ in 0..c.u2()? {
        c.skip(2)?;
        skip_element_value(c, depth)?;
    }
    Ok(())
}

fn skip_element_value(c: &mut Cursor<'_>, depth: u32) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(c.error("annotation values nested too deeply"));
    }
    match c.u1()? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => c.skip(2),
        b'e' => c.skip(4),
        b'@' => skip_annotation(c, depth + 1),
        b'[' => {
            for _ in 0..c.u2()? {
                skip_element_value(c, depth + 1)?;
            }
            Ok(())
        }
        _ => Err(c.error("unknown tag of an annotation value")),
    }
}
