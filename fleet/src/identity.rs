//! Numbers that are the same for the same thing, whoever computes them and when: 64-bit FNV-1a.

use cprof_profile::model::Profile;
use cprof_profile::tree::Symbol;

/// Hashes bytes into a number so far.
pub(crate) fn fnv(mut hash: u64, bytes: &[u8]) -> u64 {
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    }
    hash
}

/// Where hashes begin.
pub(crate) const START: u64 = 0xcbf2_9ce4_8422_2325;

/// Sixteen hexadecimal digits that stand for a run: the same profile has the same ones each time it is exported, another has
/// others. Made of what ran, when, as which process, and of all counters.
pub fn run_id(profile: &Profile) -> String {
    let run = &profile.run;
    let mut hash = START;
    for text in [&run.cprof_version, &run.jvm_version, &run.main_class, &run.options].into_iter().chain(&run.command_line) {
        hash = fnv(fnv(hash, text.as_bytes()), &[0xFF]);
    }
    for number in [run.pid.into(), run.started_ms, run.ended_ms, run.lost_calls, profile.runs.len() as u64] {
        hash = fnv(hash, &number.to_le_bytes());
    }
    let mut rows = profile.nodes.rows();
    for node in 0..profile.nodes.len() {
        hash = rows.of(node).iter().fold(hash, |hash, counter| fnv(hash, &counter.to_le_bytes()));
    }
    format!("{hash:016x}")
}

/// A method by its name.
pub(crate) fn of_symbol(symbol: &Symbol) -> u64 {
    let texts = [&symbol.class, &symbol.method, &symbol.descriptor];
    texts.into_iter().fold(START, |hash, text| fnv(fnv(hash, text.as_bytes()), &[0xFF]))
}
