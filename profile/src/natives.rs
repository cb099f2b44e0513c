//! Calls of native methods, derived from how often their call sites were executed.
//!
//! A native method has no bytecode to count in. A call site whose statically resolved method is native (JVMS §5.4.3.3) was
//! executed as often as its block, less the departures before it in the block; in code that is counted by blocks, as often as
//! its block. Where the receiver's class may select a Java method instead (`hashCode`), the recorded calls of Java methods of
//! that name and descriptor are taken away. Where these were not recorded below the caller, such a site tells nothing of the
//! native method, and [`NotTold`] says so. An execution that failed before the call (null receiver, linkage error) counts as
//! a call.

use crate::code::CodeError;
use crate::measure::{ByNode, Measures};
use crate::model::{DepartureKind, Level, NativeSite, Profile, special};
use crate::names::{few, parameters, stable};
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

/// Native methods whose calls are not all told: at sites where the receiver's class may select a Java method instead, it is not
/// known how often one was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotTold {
    /// Indices in [`Profile::natives`], rising.
    pub natives: Vec<u32>,
    /// Why: clauses. None where all calls are told.
    pub reasons: Vec<&'static str>,
}

impl NotTold {
    /// What a profile does not tell.
    pub fn of(profile: &Profile) -> NotTold {
        let run = &profile.run;
        // These put calls of Java methods elsewhere than below their callers, of whatever name.
        let anywhere = [
            (run.folded, "contexts were folded for want of room"),
            (run.bounded, "contexts were folded by depth= or recursion=fold"),
            (run.lost_calls > 0, "calls found no room"),
        ];
        let mut reasons: Vec<&str> = anywhere.iter().filter(|(so, _)| *so).map(|(_, why)| *why).collect();
        let uncounted = |native: u32| {
            let native = &profile.natives[native as usize];
            run.uncounted.iter().any(|uncounted| uncounted.strip_prefix(&*native.name) == Some(&*native.descriptor))
        };
        let mut natives: Vec<u32> = profile.native_sites.iter().filter(|s| s.dynamic).map(|s| s.native).collect();
        natives.sort_unstable();
        natives.dedup();
        if reasons.is_empty() {
            natives.retain(|&native| uncounted(native));
            reasons.push("some Java methods of these names were not counted");
        }
        if natives.is_empty() {
            reasons.clear();
        }
        NotTold { natives, reasons }
    }

    /// Whether a call site tells how often its native method was called.
    pub fn is_told(&self, site: &NativeSite) -> bool {
        !site.dynamic || self.natives.binary_search(&site.native).is_err()
    }

    /// For people, naming some of the methods; none where all calls are told.
    pub fn sentence(&self, profile: &Profile) -> Option<String> {
        const NAMED: usize = 3;
        let name = |&native: &u32| {
            let native = &profile.natives[native as usize];
            format!("{}.{}{}", stable(&native.class, false), native.name, parameters(&native.descriptor))
        };
        let mut names: Vec<String> = self.natives.iter().map(name).collect();
        names.sort();
        names.dedup();
        let (names, reasons) = (few(&names, NAMED), self.reasons.join(", "));
        (!names.is_empty()).then(|| {
            format!("calls of native methods are not shown where Java methods may stand in for them: {names}; {reasons}")
        })
    }
}

/// The sites of one method, and what is needed to count them.
struct Caller<'p> {
    sites: &'p [NativeSite],
    recovery: Recovery,
}

/// All calls of native methods that can be told ([`NotTold`]), in order of calling node.
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
    let not_told = NotTold::of(profile);
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
        method.left(gone, &mut left);
        let blocks = caller.recovery.blocks(&method.flow, rows.of(node), &left);
        found.clear();
        for site in caller.sites.iter().filter(|site| not_told.is_told(site)) {
            let Some(block) = method.flow.block_at(site.bci) else { continue };
            let mut executed = method.executions(block, site.bci, blocks[block], gone);
            // Where it is not known what left a block in its midst, a native method that Java methods override has those calls that are
            // certain: of executions that went through.
            if site.dynamic && method.level == Level::Block {
                executed = executed.wrapping_sub(left[block]);
            }
            let at = if with_sites { site.bci + 1 } else { 0 };
            // Call sites are in order.
            let mut here = found.iter_mut().rev().take_while(|f| f.1 == at);
            match here.find(|f| f.0 == site.native) {
                Some(same) => {
                    same.2 |= site.dynamic;
                    same.3 = same.3.wrapping_add(executed);
                }
                None => found.push((site.native, at, site.dynamic, executed)),
            }
        }
        for &(native, site, dynamic, executed) in &found {
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
/// and site; where callers are counted by blocks, those that returned.
fn java_calls(profile: &Profile, measures: &Measures, callers: &[Option<Caller>]) -> FxHashMap<(u32, u32, u32), i64> {
    let nodes = &profile.nodes;
    let mut calls = FxHashMap::default();
    let mut departures = ByNode::new(&profile.departures);
    for node in 0..nodes.len() {
        let gone = &profile.departures[departures.of(node)];
        let parent = nodes.parent[node];
        let (method, caller) = (nodes.method[node], nodes.method[parent as usize]);
        if method >= special::FIRST || caller >= special::FIRST {
            continue;
        }
        // Those that have not returned are among what left a block.
        let returned = profile.methods[caller as usize].level == Level::Block;
        let Some(caller) = &callers[caller as usize] else { continue };
        let method = &profile.methods[method as usize];
        let at = nodes.site_of(node);
        let same = |s: &&NativeSite| {
            let native = &profile.natives[s.native as usize];
            s.dynamic && native.name == method.name && native.descriptor == method.descriptor
        };
        let mut sites = caller.sites.iter().filter(same);
        let site = if at == 0 { sites.next() } else { sites.find(|s| s.bci + 1 == at) };
        if let Some(site) = site {
            let selected = calls.entry((parent, site.native, at)).or_insert(0i64);
            *selected = selected.wrapping_add(measures.calls.get(node) as i64);
            if returned {
                let active = gone.iter().filter(|d| d.kind == DepartureKind::Active).map(|d| d.count);
                let exits = measures.exceptional_exits.get(node) as i64;
                *selected = active.fold(*selected, i64::wrapping_sub).wrapping_sub(exits);
            }
        }
    }
    calls
}
