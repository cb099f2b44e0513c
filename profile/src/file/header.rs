//! The header, entry `cprof.json`: first in the file, not compressed, so that it can be seen with any tool.

use crate::cache::CacheSpec;
use crate::model::{Profile, Run, RunFacts};
use serde::{Deserialize, Serialize};

/// Value of the header's `format`.
pub const FORMAT: &str = "cprof profile";
/// Version of the format; a reader reads its own only.
pub const VERSION: u32 = 2;
/// Name of the entry.
pub(super) const ENTRY: &str = "cprof.json";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub format: String,
    pub version: u32,
    /// What a reader must understand beyond the version; what it need not is merely absent here.
    #[serde(default)]
    pub needs: Vec<String>,
    #[serde(default)]
    pub written_by: String,
    #[serde(default)]
    pub counts: Counts,
    #[serde(default)]
    pub run: RunFacts,
    /// The runs that a merged profile is of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
    /// Method caches that were simulated; their outcomes are in `misses/<position>/…`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheSpec>,
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Lengths of the columns of each table.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub strings: u32,
    pub classes: u32,
    pub methods: u32,
    pub blocks: u32,
    pub edges: u32,
    pub natives: u32,
    pub native_sites: u32,
    pub threads: u32,
    pub nodes: u32,
    pub departures: u32,
    pub gaps: u32,
}

impl Header {
    pub(super) fn of(profile: &Profile, strings: usize) -> Header {
        let flows = || profile.methods.iter().map(|m| &m.flow);
        Header {
            format: FORMAT.into(),
            version: VERSION,
            needs: Vec::new(),
            written_by: env!("CARGO_PKG_VERSION").into(),
            counts: Counts {
                strings: strings as u32,
                classes: profile.classes.len() as u32,
                methods: profile.methods.len() as u32,
                blocks: flows().map(|f| f.blocks.len() as u32).sum(),
                edges: flows().map(|f| f.edges.len() as u32).sum(),
                natives: profile.natives.len() as u32,
                native_sites: profile.native_sites.len() as u32,
                threads: profile.threads.len() as u32,
                nodes: profile.nodes.len() as u32,
                departures: profile.departures.len() as u32,
                gaps: profile.gaps.len() as u32,
            },
            run: profile.run.clone(),
            runs: profile.runs.clone(),
            caches: profile.caches.clone(),
            warnings: profile.warnings.clone(),
        }
    }
}
