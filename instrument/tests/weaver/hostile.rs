//! Damaged class files: whatever the bytes are, the weaver answers, and what it writes can be read.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cprof_instrument::Weaver;
use cprof_instrument::classfile::ClassFile;

use crate::support::invariants::check;
use crate::support::random::Random;
use crate::support::{generator, jdk};

const ROUNDS: u64 = 100_000;

#[test]
fn damaged_classes_never_panic() {
    let mut random = Random::new(1);
    let real = jdk::classes().iter().filter(|(_, bytes)| bytes.len() < 2_500).map(|(_, bytes)| bytes.clone());
    let mut seeds: Vec<Vec<u8>> = real.collect();
    seeds.extend((0..500).filter_map(|_| generator::class(&mut random, 4)));
    let mut weaver = Weaver::new();
    let mut woven = 0;
    for round in 0..ROUNDS {
        let mut random = Random::new(round);
        let mut bytes = random.pick(&seeds).clone();
        for _ in 0..1 + random.below(3) {
            damage(&mut random, &mut bytes);
        }
        let result = catch_unwind(AssertUnwindSafe(|| check(&mut weaver, &bytes)));
        woven += u64::from(result.unwrap_or_else(|_| panic!("round {round}")));
    }
    // Damage that everything is refused for would test nothing but the refusing.
    assert!(woven > ROUNDS / 10, "only {woven} of {ROUNDS} were woven");
}

/// Damages a class, with a preference for what the weaver reads: code, and the attributes behind it.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = match code_of(random, bytes) {
        Some((start, length)) if random.percent(80) => {
            // Into the code, the exception table and the attributes, which follow; or the limits, which come before.
            (start + random.below(2 * length + 40)).saturating_sub(8)
        }
        _ => random.below(bytes.len()),
    };
    let at = at.min(bytes.len() - 2);
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => bytes[at] = *random.pick(&[170, 171, 168, 169, 200, 201, 196, 191, 183, 187, 132, 255, 0]),
        3 => {
            let value = *random.pick(&[0u16, 1, 2, 3, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF]);
            bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
        }
        4 => {
            let value = u16::from_be_bytes([bytes[at], bytes[at + 1]]).wrapping_add(*random.pick(&[1, 0xFFFF, 4, 0xFFFC]));
            bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
        }
        5 => {
            let from = random.below(bytes.len() - 1);
            let length = (1 + random.below(16)).min(bytes.len() - from.max(at));
            bytes.copy_within(from..from + length, at);
        }
        6 => bytes.swap(at, at + 1),
        _ if random.percent(10) => bytes.truncate(at.max(2)),
        _ => bytes[at] = bytes[at].wrapping_add(1),
    }
}

/// Where the code of some method is: its start and length.
fn code_of(random: &mut Random, bytes: &[u8]) -> Option<(usize, usize)> {
    let class = ClassFile::parse(bytes).ok()?;
    let method = random.below(class.methods.len().max(1));
    let code = class.code(class.methods.get(method)?).ok()??;
    Some((code.at, code.bytes.len()))
}
