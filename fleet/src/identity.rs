//! Numbers that are the same for the same thing, whoever computes them and when: 64-bit FNV-1a.

use cprof_profile::model::{Method, Profile, RunFacts};
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
/// others. Made of what ran, when, as which process, and of all methods' counters, in whatever order these are in the profile, as it
/// depends on the order of merging.
pub fn run_id(profile: &Profile) -> String {
    let run = &profile.run;
    let mut hash = START;
    for text in [&run.cprof_version, &run.jvm_version, &run.main_class, &run.options].into_iter().chain(&run.command_line) {
        hash = fnv(fnv(hash, text.as_bytes()), &[0xFF]);
    }
    for number in [run.pid.into(), run.started_ms, run.ended_ms, run.lost_calls, profile.runs.len() as u64] {
        hash = fnv(hash, &number.to_le_bytes());
    }
    let of_method = |method: &Method| of_texts([&profile.classes[method.class as usize].name, &method.name, &method.descriptor]);
    let methods: Vec<u64> = profile.methods.iter().map(of_method).collect();
    let nodes = &profile.nodes;
    let method = |node: usize| methods.get(nodes.method[node] as usize).copied().unwrap_or(START);
    let mut rows = nodes.rows();
    let of_node = |node: usize| {
        let context = fnv(method(node), &method(nodes.parent[node] as usize).to_le_bytes());
        rows.of(node).iter().fold(context, |hash, counter| fnv(hash, &counter.to_le_bytes()))
    };
    let counters = (0..nodes.len()).map(of_node).fold(0u64, u64::wrapping_add);
    let of_run = |run: &RunFacts| {
        let numbers = [run.pid.into(), run.started_ms, run.ended_ms];
        numbers.iter().fold(of_texts([&run.main_class, &run.options, &run.jvm_version]), |hash, n| fnv(hash, &n.to_le_bytes()))
    };
    let merged = profile.runs.iter().map(|run| of_run(&run.facts)).fold(0u64, u64::wrapping_add);
    format!("{:016x}", fnv(fnv(hash, &counters.to_le_bytes()), &merged.to_le_bytes()))
}

fn of_texts(texts: [&String; 3]) -> u64 {
    texts.into_iter().fold(START, |hash, text| fnv(fnv(hash, text.as_bytes()), &[0xFF]))
}

/// A method by its name.
pub(crate) fn of_symbol(symbol: &Symbol) -> u64 {
    of_texts([&symbol.class, &symbol.method, &symbol.descriptor])
}
