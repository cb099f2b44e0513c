//! The `method_info` (JVMS §4.6) around the new code: exception table and attributes (§4.7.3) brought along.

use super::SkipReason;
use super::layout::Layout;
use super::placement::Placement;
use super::pool::NewConstants;
use super::tables::Moved;
use crate::classfile::{ClassFile, Code, Method};

/// A method and what has become of it.
pub(super) struct Source<'m, 'a> {
    pub(super) class: &'m ClassFile<'a>,
    pub(super) method: &'m Method<'a>,
    pub(super) code: &'m Code<'a>,
    pub(super) moved: &'m Moved<'m>,
    pub(super) placement: &'m Placement,
    /// Content of its StackMapTable; empty: it has none.
    pub(super) frames: &'m [u8],
}

/// Appends the `method_info`, with its new Code attribute.
pub(super) fn write(out: &mut Vec<u8>, source: &Source<'_, '_>, constants: &mut NewConstants) -> Result<(), SkipReason> {
    let &Source { class, method, moved, .. } = source;
    let Some((content_at, content)) = method.code else { return Ok(()) };
    out.extend_from_slice(&class.bytes[method.span.0..content_at - 4]);
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let Moved { body, layout: Layout { max_stack, max_locals, .. }, .. } = moved;
    out.extend_from_slice(&max_stack.to_be_bytes());
    out.extend_from_slice(&max_locals.to_be_bytes());
    out.extend_from_slice(&(body.out.len() as u32).to_be_bytes());
    out.extend_from_slice(&body.out);
    handlers(out, source)?;
    attributes(out, source, constants)?;
    let length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&class.bytes[content_at + content.len()..method.span.1]);
    Ok(())
}

/// The exception table: the program's rows, then ours, so that the program's handlers come first.
fn handlers(out: &mut Vec<u8>, source: &Source<'_, '_>) -> Result<(), SkipReason> {
    let &Source { code, moved, placement, .. } = source;
    let (body, graph) = (moved.body, moved.graph);
    let count_at = out.len();
    out.extend_from_slice(&[0, 0]);
    let mut rows = 0usize;
    let mut row = |start: u32, end: u32, target: u32, catch_type: u16| {
        if start == end {
            return;
        }
        rows += 1;
        for value in [start as u16, end as u16, target as u16, catch_type] {
            out.extend_from_slice(&value.to_be_bytes());
        }
    };
    for handler in code.handlers() {
        // A range covers what was injected inside it and in front of its first instruction, but nothing behind its last:
        // the compilers' pattern for monitors stays balanced, without which HotSpot does not compile the method.
        let block = graph.block_at(u32::from(handler.target));
        let pad = placement.counting_pad(graph.exit(), block);
        let (start, end) = (body.behind[handler.start as usize], body.behind[handler.end as usize]);
        match pad.map(|p| placement.pads[p]) {
            None => row(start, end, body.arrival[handler.target as usize], handler.catch_type),
            // A range that its handler's entrance is in leaves that out, as C1 compiles no handler that covers itself; the programs'
            // do so, but with nothing in them that may throw. Where a monitor may have to be released, it stays in.
            Some(pad) if (start..end).contains(&pad.position) && !graph.has_unlock(block) => {
                row(start, pad.position, pad.position, handler.catch_type);
                row(pad.end, end, pad.position, handler.catch_type);
            }
            Some(pad) => row(start, end, pad.position, handler.catch_type),
        }
    }
    for covered in &body.covered {
        let target = body.handlers[usize::from(covered.uninitialised)].unwrap_or(0);
        row(covered.start, covered.end, target, 0);
    }
    let rows = u16::try_from(rows).map_err(|_| SkipReason::TooLarge)?;
    out[count_at..count_at + 2].copy_from_slice(&rows.to_be_bytes());
    Ok(())
}

/// The attributes of the Code attribute.
fn attributes(out: &mut Vec<u8>, source: &Source<'_, '_>, constants: &mut NewConstants) -> Result<(), SkipReason> {
    let &Source { class, code, moved, frames, .. } = source;
    let count_at = out.len();
    out.extend_from_slice(&[0, 0]);
    let mut count = 0u32;
    let mut frames_name = None;
    let is_variables = |name: u16| class.pool.utf8(name).is_ok_and(|text| text == b"LocalVariableTable");
    let variables: Vec<_> = code.attributes().filter(|&(name, ..)| is_variables(name)).map(|(.., content)| content).collect();
    let mut tables_left = variables.len();
    let rows = |table: &[u8]| table.first_chunk().map_or(0, |&count| usize::from(u16::from_be_bytes(count)));
    let named: usize = variables.iter().map(|table| rows(table)).sum();
    let is_types = |name: u16| class.pool.utf8(name).is_ok_and(|text| text == b"LocalVariableTypeTable");
    let has_types = || code.attributes().any(|(name, _, content)| is_types(name) && rows(content) > 0);
    // HotSpot (classFileParser.cpp) refuses such names in older classes (`verify_legal_field_name`), compares a table of types with the
    // others' rows only if there are any (`copy_localvariable_table`), and counts the rows of all in 16 bits, to write out of bounds
    // where these do not suffice.
    let mut nameless = if class.major < 49 || named == 0 && has_types() { Vec::new() } else { moved.nameless(&variables) };
    if named + nameless.len() > usize::from(u16::MAX) {
        nameless.clear();
    }
    for (name, at, content) in code.attributes() {
        let text = class.pool.utf8(name)?;
        if text == b"StackMapTable" {
            frames_name = Some(name);
            continue;
        }
        out.extend_from_slice(&name.to_be_bytes());
        let length_at = out.len();
        out.extend_from_slice(&[0; 4]);
        match text {
            b"LineNumberTable" => moved.lines(content, at, out)?,
            b"LocalVariableTable" => {
                let rows_at = out.len();
                moved.variables(content, at, code, out)?;
                tables_left -= 1;
                let rows = u16::from_be_bytes([out[rows_at], out[rows_at + 1]]);
                // The first row that fits is the one that is taken, so these come last.
                if let Some(rows) = rows.checked_add(nameless.len() as u16).filter(|_| tables_left == 0) {
                    out[rows_at..rows_at + 2].copy_from_slice(&rows.to_be_bytes());
                    moved.former_names(&std::mem::take(&mut nameless), constants, out);
                }
            }
            b"LocalVariableTypeTable" => moved.variables(content, at, code, out)?,
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                moved.annotations(content, out);
            }
            // Nothing the JVM looks at (JVMS §4.7.1).
            _ => out.extend_from_slice(content),
        }
        let length = (out.len() - length_at - 4) as u32;
        out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
        count += 1;
    }
    if !nameless.is_empty() {
        out.extend_from_slice(&constants.shared("LocalVariableTable").to_be_bytes());
        out.extend_from_slice(&(2 + 10 * nameless.len() as u32).to_be_bytes());
        out.extend_from_slice(&(nameless.len() as u16).to_be_bytes());
        moved.former_names(&nameless, constants, out);
        count += 1;
    }
    if !frames.is_empty() {
        let name = frames_name.unwrap_or_else(|| constants.shared("StackMapTable"));
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&(frames.len() as u32).to_be_bytes());
        out.extend_from_slice(frames);
        count += 1;
    }
    let count = u16::try_from(count).map_err(|_| SkipReason::TooLarge)?;
    out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    Ok(())
}
