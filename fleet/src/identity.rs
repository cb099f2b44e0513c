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
    let of_method = |method: &Method| of_texts([&profile.classes[method.class as usize].name, &method.name, &method.descriptor]);
    let methods: Vec<u64> = profile.methods.iter().map(of_method).collect();
    let nodes = &profile.nodes;
    let method = |node: usize| methods.get(nodes.method[node] as usize).copied().unwrap_or(START);
    let mut rows = nodes.rows();
    let of_node = |node: usize| {
        let context = fnv(method(node), &method(nodes.parent[node] as usize).to_le_bytes());
        of_numbers(context, rows.of(node).iter().copied())
    };
    let counters = (0..nodes.len()).map(of_node).fold(0u64, u64::wrapping_add);
    let merged = profile.runs.iter().map(|run| of_run(&run.facts)).fold(0u64, u64::wrapping_add);
    format!("{:016x}", of_numbers(of_run(&profile.run), [profile.runs.len() as u64, merged, counters]))
}

/// What ran, when, as which process.
fn of_run(run: &RunFacts) -> u64 {
    let texts = [&run.cprof_version, &run.jvm_version, &run.main_class, &run.options];
    let hash = of_texts(texts.into_iter().chain(&run.command_line));
    of_numbers(hash, [run.pid.into(), run.started_ms, run.ended_ms, run.lost_calls])
}

fn of_numbers(hash: u64, numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(hash, |hash, number| fnv(hash, &number.to_le_bytes()))
}

fn of_texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> u64 {
    texts.into_iter().fold(START, |hash, text| fnv(fnv(hash, text.as_bytes()), &[0xFF]))
}

/// A method by its name.
pub(crate) fn of_symbol(symbol: &Symbol) -> u64 {
    of_texts([&symbol.class, &symbol.method, &symbol.descriptor])
}
