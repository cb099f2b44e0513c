//! The runtime class: its bytes, with the constants of this run written into them.

use crate::options::Options;

/// The class file as `build.rs` compiled it from `runtime-java/`.
pub const TEMPLATE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/CProfRuntime.class"));
/// What takes the place of the public API's class.
pub const API: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/CProf.class"));
/// Internal name of the public API's class.
pub const API_NAME: &str = "cprof/CProf";

/// Placeholders in the source of the runtime.
const BASE: u64 = 0x7C0F_BA5E_ADD8_E550;
const SITES: u32 = 0x7C0F_0001;
const FOLD: u32 = 0x7C0F_0002;
const ROOTS: u32 = 0x7C0F_0003;
const MAX_NODES: u32 = 0x7C0F_0004;
const VIRTUAL: u32 = 0x7C0F_0005;
const DEPTH: u32 = 0x7C0F_0006;

/// The runtime class for an arena at `base`. `None` if a placeholder is missing: the class was not built from the source
/// that belongs to this agent.
pub fn class(base: u64, options: &Options, virtual_threads: bool) -> Option<Vec<u8>> {
    let switch = |on: bool| 1 + u32::from(on);
    let mut bytes = TEMPLATE.to_vec();
    put(&mut bytes, 5, &BASE.to_be_bytes(), &base.to_be_bytes())?;
    for (placeholder, value) in [
        (SITES, switch(options.sites)),
        (FOLD, switch(options.fold)),
        (ROOTS, switch(!options.roots.is_empty())),
        (MAX_NODES, switch(options.max_nodes != 0)),
        (VIRTUAL, switch(virtual_threads)),
        (DEPTH, options.depth),
    ] {
        put(&mut bytes, 3, &placeholder.to_be_bytes(), &value.to_be_bytes())?;
    }
    Some(bytes)
}

/// Replaces the one constant pool entry with this tag (JVMS table 4.4-A: 3 an int, 5 a long) and value.
fn put(bytes: &mut [u8], tag: u8, old: &[u8], new: &[u8]) -> Option<()> {
    let width = old.len() + 1;
    let is_entry = |w: &[u8]| w[0] == tag && &w[1..] == old;
    let at = bytes.windows(width).position(is_entry)?;
    if bytes[at + 1..].windows(width).any(is_entry) {
        return None;
    }
    bytes[at + 1..at + width].copy_from_slice(new);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cprof_instrument::abi::{self, header, kind, node, root};

    #[test]
    fn every_placeholder_is_there_once() {
        let options = Options::parse("depth=7").unwrap();
        let class = class(0x7f00_0000_0000, &options, true).unwrap();
        assert_eq!(class.len(), TEMPLATE.len());
        assert!(!class.windows(8).any(|w| w == BASE.to_be_bytes()));
    }

    /// The numbers in the Java source are those of `abi.rs`.
    #[test]
    fn java_mirrors_abi() {
        let source = include_str!("../runtime-java/src/java/lang/CProfRuntime.java");
        let value = |name: &str| -> u64 {
            let hits: Vec<u64> = source
                .split(|c: char| c == ',' || c == ';' || c == '\n')
                .filter_map(|part| part.rsplit_once('='))
                .filter(|(left, _)| left.split_whitespace().last() == Some(name))
                .filter_map(|(_, right)| {
                    let digits = right.trim().replace('_', "");
                    match digits.strip_prefix("0x") {
                        Some(hex) => u64::from_str_radix(hex, 16).ok(),
                        None => digits.parse().ok(),
                    }
                })
                .collect();
            assert_eq!(hits.len(), 1, "constant {name} in CProfRuntime.java: {hits:?}");
            hits[0]
        };
        for (name, expected) in [
            ("TOP", header::TOP),
            ("LIMIT", header::LIMIT),
            ("SOFT_LIMIT", header::SOFT_LIMIT),
            ("LOST", header::LOST),
            ("TREES", header::TREES),
            ("TREE_COUNT", header::TREE_COUNT),
            ("FLAGS", header::FLAGS),
            ("MAX_NODES", header::MAX_NODES),
            ("NODES", header::NODES),
            ("EARLY", header::EARLY),
            ("FREE_LISTS", header::FREE_LISTS),
            ("FREE_TREES", header::FREE_TREES),
            ("JUNK", abi::JUNK),
            ("METHODS", abi::METHODS),
            ("RESERVE", abi::RESERVE),
            ("CHUNK_ALIGN", abi::CHUNK_ALIGN),
            ("KIND_DEPARTURE", kind::DEPARTURE.into()),
            ("KIND_CHUNK", kind::CHUNK.into()),
            ("KIND_ROOT", kind::ROOT.into()),
            ("KIND_INDEX", kind::INDEX.into()),
            ("KIND_LABEL", kind::LABEL.into()),
            ("KIND_OVERFLOW", kind::OVERFLOW.into()),
            ("KIND_OUTSIDE", kind::OUTSIDE.into()),
            ("FIRST_METHOD", abi::FIRST_METHOD.into()),
            ("SITE", node::SITE),
            ("PARENT", node::PARENT),
            ("DEPARTURES", node::DEPARTURES),
            ("CURRENT_SITE", node::CURRENT_SITE),
            ("CHILDREN", node::CHILDREN),
            ("SLOTS", node::SLOTS),
            ("COUNTERS", node::COUNTERS),
            ("LEAF_COUNTERS", node::LEAF_COUNTERS),
            ("LEAF_BIAS", node::LEAF_BIAS),
            ("ROOT_NEXT", root::NEXT),
            ("ROOT_NEXT_FREE", root::NEXT_FREE),
            ("ROOT_LABEL", root::LABEL),
            ("ROOT_FLAGS", root::FLAGS),
            ("ROOT_INDEX", root::INDEX),
            ("ROOT_INDEX_USED", root::INDEX_USED),
            ("ROOT_FREE", root::FREE),
            ("ROOT_FREE_END", root::FREE_END),
            ("ROOT_CHUNK_SIZE", root::CHUNK_SIZE),
            ("ROOT_OVERFLOW", root::OVERFLOW),
            ("ROOT_OUTSIDE", root::OUTSIDE),
            ("ROOT_LEASES", root::LEASES),
            ("ROOT_NODES", root::NODES),
            ("ROOT_PENDING_USED", root::PENDING_USED),
            ("ROOT_PENDING", root::PENDING),
            ("PENDING_COUNT", root::PENDING_COUNT),
            ("ROOT_SIZE", root::SIZE),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
    }
}
