//! Finding the bytecode indices inside Runtime(In)VisibleTypeAnnotations of a Code attribute (JVMS §4.7.20).

use super::cursor::Cursor;

/// What a position in the attribute holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// u2 bytecode index of an instruction.
    Instruction,
    /// u2 start and u2 length of a local variable's range.
    Range,
}

/// Calls `found(offset in content, kind)` for each position that code movement changes, as far as the attribute can be read.
pub(crate) fn each_position(content: &[u8], found: &mut dyn FnMut(usize, Position)) {
    // What follows what cannot be read is not found either.
    let _ = read(Cursor::new(content, 0), found);
}

fn read(mut c: Cursor<'_>, found: &mut dyn FnMut(usize, Position)) -> Option<()> {
    for _ in 0..c.u2().ok()? {
        let target_info = match c.u1().ok()? {
            0x00 | 0x01 | 0x16 => 1,
            0x10 | 0x11 | 0x12 | 0x17 => 2,
            0x13..=0x15 => 0,
            0x40 | 0x41 => {
                for _ in 0..c.u2().ok()? {
                    found(c.at(), Position::Range);
                    c.skip(6).ok()?;
                }
                0
            }
            0x42 => 2, // an index into the exception table, whose rows keep their places
            0x43..=0x46 => {
                found(c.at(), Position::Instruction);
                2
            }
            0x47..=0x4B => {
                found(c.at(), Position::Instruction);
                3
            }
            _ => return None,
        };
        c.skip(target_info).ok()?;
        let path = c.u1().ok()? as usize;
        c.skip(2 * path).ok()?;
        skip_annotation(&mut c, 0)?;
    }
    Some(())
}

/// Nesting allowed in element values: far more than any compiler writes, and safe for the stack.
const DEEPEST: u32 = 64;

fn skip_annotation(c: &mut Cursor<'_>, depth: u32) -> Option<()> {
    c.skip(2).ok()?;
    for _ in 0..c.u2().ok()? {
        c.skip(2).ok()?;
        skip_element_value(c, depth)?;
    }
    Some(())
}

fn skip_element_value(c: &mut Cursor<'_>, depth: u32) -> Option<()> {
    if depth > DEEPEST {
        return None;
    }
    match c.u1().ok()? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => c.skip(2).ok(),
        b'e' => c.skip(4).ok(),
        b'@' => skip_annotation(c, depth + 1),
        b'[' => {
            for _ in 0..c.u2().ok()? {
                skip_element_value(c, depth + 1)?;
            }
            Some(())
        }
        _ => None,
    }
}
