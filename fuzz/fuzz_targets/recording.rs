//! What a process that was killed has left, and everything a report does with it.
//!
//! An input is a list of changes to a good recording, of four bytes each: what is changed and how ([`Change::of`]), where (two
//! bytes), a value.
#![no_main]

#[path = "../../annotate/tests/support/look.rs"]
mod look;

use cprof_instrument::abi;
use cprof_profile::file;
use cprof_profile::model::RunFacts;
use cprof_profile::recording::{CapturedTree, Frame, Log, Memory, Stack, assemble, capture};
use cprof_profile::target::Model;
use cprof_synthetic::Recording;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use std::path::Path;
use std::sync::LazyLock;

static GOOD: LazyLock<Recording> = LazyLock::new(cprof_synthetic::demo);
static MODEL: LazyLock<Model> = LazyLock::new(look::model);

/// Parts of a recording: those of the arena where something is, and the class log.
const PARTS: [u64; 3] = [0, abi::METHODS + abi::METHOD_ENTRY * abi::FIRST_METHOD as u64, abi::CHUNKS];

enum Change {
    Byte(u64, u8),
    /// Small, or as large as can be.
    Word(u64, u32),
    Cut(u64),
}

impl Change {
    /// Bits 0 and 1 of the first byte say in which part, none is the class log; bits 2 and 3 what becomes of it.
    fn of(bytes: &[u8; 4]) -> (bool, Change) {
        let part = PARTS.get(usize::from(bytes[0] & 3));
        let at = part.unwrap_or(&0) + u64::from(u16::from_le_bytes([bytes[1], bytes[2]]));
        let change = match bytes[0] >> 2 & 3 {
            0 | 1 => Change::Byte(at, bytes[3]),
            2 => Change::Word(at & !3, i32::from(bytes[3].cast_signed()).cast_unsigned()),
            _ => Change::Cut(at),
        };
        (part.is_some(), change)
    }
}

/// The good arena with changes: too large to be copied for each input.
struct Changed {
    bytes: Vec<(u64, u8)>,
    len: u64,
}

impl Memory for Changed {
    fn len(&self) -> u64 {
        self.len
    }

    fn bytes(&self, at: u64, out: &mut [u8]) -> Option<()> {
        let end = at.checked_add(out.len() as u64).filter(|&end| end <= self.len)?;
        GOOD.arena.bytes().bytes(at, out)?;
        for &(changed, value) in self.bytes.iter().filter(|(changed, _)| (at..end).contains(changed)) {
            out[(changed - at) as usize] = value;
        }
        Some(())
    }
}

fuzz_target!(|data: &[u8]| {
    let mut arena = Changed { bytes: vec![], len: GOOD.arena.bytes().len() as u64 };
    let mut log = GOOD.log.clone();
    for change in data.as_chunks().0 {
        let (in_arena, change) = Change::of(change);
        let (at, new) = match change {
            Change::Byte(at, value) => (at, vec![value]),
            Change::Word(at, value) => (at, value.to_le_bytes().to_vec()),
            Change::Cut(at) if in_arena => {
                arena.len = arena.len.min(at);
                continue;
            }
            Change::Cut(at) => {
                log.truncate(at as usize);
                continue;
            }
        };
        for (at, value) in (at..).zip(new) {
            if in_arena {
                arena.bytes.push((at, value));
            } else if let Some(byte) = log.get_mut(at as usize) {
                *byte = value;
            }
        }
    }
    let Ok(mut found) = capture(&arena, &[]) else { return };
    // With an odd byte at its end, a thread of each tree is in all methods.
    if data.len() % 2 == 1 {
        let frames: Vec<Frame> = (0..3).map(|method| Frame { method: abi::FIRST_METHOD + method, bci: 4 }).collect();
        let stack = |tree: &CapturedTree| Stack { tree: tree.reference, current: None, frames: frames.clone() };
        let stacks: Vec<Stack> = found.trees.iter().map(stack).collect();
        found = capture(&arena, &stacks).expect("it was read before");
    }
    let profile = assemble(found, &Log::read(&log), RunFacts::default());
    look::look(&profile, &*MODEL);
    // What was read can be written, and read again.
    let written = file::write_to(Cursor::new(Vec::new()), &profile).expect("memory takes it");
    file::read_from(written, Path::new("fuzz.cprof")).expect("a good profile");
});
