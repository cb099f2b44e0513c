//! `deterministic=on`: the JDK's hidden seeds no longer come from the clock.
//!
//! The iteration order of `Set.of` and `Map.of` depends on a salt, and unseeded random generators on a seed, that are taken
//! from `System.nanoTime()` and `System.currentTimeMillis()`. In the few classes that do so the call becomes a constant, in
//! as many bytes. Identity hash codes need nothing: HotSpot draws them from a generator per thread with a fixed seed.

use cprof_instrument::classfile::instructions::Instructions;
use cprof_instrument::classfile::opcode::op;
use cprof_instrument::classfile::{ClassFile, Method};

/// The classes, of JDK 17 to 25.
const SEEDED: &[&str] = &[
    "java/util/ImmutableCollections",
    "java/util/Random",
    "java/util/concurrent/ThreadLocalRandom",
    "jdk/internal/util/random/RandomSupport",
];

/// As long as the `invokestatic` it replaces, with the same effect on the stack.
const CONSTANT: [u8; 3] = [op::LCONST_1, op::NOP, op::NOP];

/// The class with constants instead of clocks; `None`: it has no hidden seed.
pub fn fix(class: &ClassFile) -> Option<Vec<u8>> {
    if !SEEDED.contains(&&*class.name_str()) {
        return None;
    }
    let mut bytes = class.bytes.to_vec();
    for method in &class.methods {
        for at in clocks(class, method) {
            bytes[at..at + CONSTANT.len()].copy_from_slice(&CONSTANT);
        }
    }
    Some(bytes)
}

/// Offsets in the file of the calls that read a clock.
fn clocks(class: &ClassFile, method: &Method) -> Vec<usize> {
    let Ok(Some(code)) = class.code(method) else { return Vec::new() };
    Instructions::new(code.bytes, code.at)
        .map_while(Result::ok)
        .filter(|i| i.opcode == op::INVOKESTATIC)
        .filter(|i| {
            class.pool.member(i.u2()).is_ok_and(|member| {
                member.class == b"java/lang/System" && matches!(member.name, b"nanoTime" | b"currentTimeMillis")
            })
        })
        .map(|i| code.at + i.bci as usize)
        .collect()
}
