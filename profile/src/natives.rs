//! Calls of native methods, derived from how often their call sites were executed.
//!
//! A native method has no bytecode to count in. A call site whose statically resolved method is native (JVMS §5.4.3.3) was
//! executed as often as its block, less the departures before it in the block. Where the receiver's class may select a
//! Java method instead (`hashCode`), the recorded calls of Java methods of that name and descriptor are taken away.
//! An execution that failed before the call (null receiver, linkage error) counts as a call.

use crate::code::CodeError;
use crate::measure::{ByNode, Measures};
use crate::model::{Level, NativeSite, Profile, special};
use crate::recover::Recovery;
use rustc_hash::FxHashMap;

/// Calls of a native method from one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeCalls {
    /// The calling context.
    pub node: u32,
    /// Index in [`Profile::natives`].
    pub native: u32,
    /// Call site (bci + 1), 0 when sites are merged.
    pub site: u32,
    /// How often.
    pub calls: u64,
}

/// The sites of one method, and what is needed to count them.
struct Caller<'p> {
    sites: &'p [NativeSite],
    recovery: Recovery,
}

/// All calls of native methods, in order of calling node.
pub fn native_calls(profile: &Profile, measures: &Measures) -> Result<Vec<NativeCalls>, CodeError> {
    let mut callers: Vec<Option<Caller>> = (0..profile.methods.len()).map(|_| None).collect();
    for sites in profile.native_sites.chunk_by(|a, b| a.method == b.method) {
        let method = &profile.methods[sites[0].method as usize];
        let recovery = Recovery::new(&method.flow).map_err(|e| CodeError {
            class: profile.classes[method.class as usize].name.clone(),
            reason: format!("flow of {}: {e}", method.name),
        })?;
        callers[sites[0].method as usize] = Some(Caller { sites, recovery });
    }
    let java = java_calls(profile, measures, &callers);
    let with_sites = !profile.nodes.site.is_empty();
    let mut out = Vec::new();
    let mut rows = profile.nodes.rows();
    let mut departures = ByNode::new(&profile.departures);
    let mut left = Vec::new();
    let mut found: Vec<(u32, u32, bool, i64)> = Vec::new();
    for node in 0..profile.nodes.len() {
        let gone = &profile.departures[departures.of(node)];
        let method = profile.nodes.method[node];
        if method >= special::FIRST {
            continue;
        }
        let Some(caller) = &callers[method as usize] else { continue };
        let method = &profile.methods[method as usize];
        left.clear();
        left.resize(method.flow.blocks.len(), 0i64);
        for d in gone {
            if let Some(block) = method.flow.block_at(d.bci) {
                left[block] = left[block].wrapping_add(d.count);
            }
        }
        let blocks = caller.recovery.blocks(&method.flow, rows.of(node), &left);
        found.clear();
        for site in caller.sites {
            let Some(block) = method.flow.block_at(site.bci) else { continue };
            let mut executed = blocks[block];
            if method.level == Level::Precise {
                let start = method.flow.blocks[block].start;
                let before = gone.iter().filter(|d| d.bci >= start && d.bci < site.bci);
                executed = before.fold(executed, |n, d| n.wrapping_sub(d.count));
            }
            let at = if with_sites { site.bci + 1 } else { 0 };
            match found.iter_mut().find(|f| (f.0, f.1) == (site.native, at)) {
                Some(same) => {
                    same.2 |= site.dynamic;
                    same.3 = same.3.wrapping_add(executed);
                }
                None => found.push((site.native, at, site.dynamic, executed)),
            }
        }
        for &(native, site, dynamic, executed) in &found {
            // Where depth= or recursion=fold put the Java callees elsewhere, what remains cannot be told.
            if dynamic && profile.run.bounded {
                continue;
            }
            let selected = java.get(&(node as u32, native, site)).copied().unwrap_or(0);
            let calls = executed.wrapping_sub(if dynamic { selected } else { 0 });
            if calls > 0 {
                out.push(NativeCalls { node: node as u32, native, site, calls: calls as u64 });
            }
        }
    }
    Ok(out)
}

/// Recorded calls of Java methods that dynamic native sites of their callers may have selected, by caller's node, native
/// and site.
fn java_calls(profile: &Profile, measures: &Measures, callers: &[Option<Caller>]) -> FxHashMap<(u32, u32, u32), i64> {
    let nodes = &profile.nodes;
    let mut calls = FxHashMap::default();
    for node in 0..nodes.len() {
        let parent = nodes.parent[node];
        let (method, caller) = (nodes.method[node], nodes.method[parent as usize]);
        if method >= special::FIRST || caller >= special::FIRST {
            continue;
        }
        let Some(caller) = &callers[caller as usize] else { continue };
        let method = &profile.methods[method as usize];
        let same = caller.sites.iter().filter(|s| s.dynamic).find(|s| {
            let native = &profile.natives[s.native as usize];
            native.name == method.name && native.descriptor == method.descriptor
        });
        if let Some(site) = same {
            let selected = calls.entry((parent, site.native, nodes.site_of(node))).or_insert(0i64);
            *selected = selected.wrapping_add(measures.calls.get(node) as i64);
        }
    }
    calls
}
