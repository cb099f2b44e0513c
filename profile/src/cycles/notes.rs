//! What a reader of cycles must know.

use super::evaluate::Doubt;
use crate::model::Profile;
use crate::names::{counted, thousands};
use crate::natives::NotTold;
use crate::target::{CycleEstimator, InvokeKind, TargetError};
use cprof_instrument::classfile::opcode::op;

/// Words of a large method.
const LARGE: u32 = 1 << 14;

/// What is not known of so many methods that [`Profile::left_blocks`] answers, where only what has completed counts.
pub fn whole_blocks(methods: usize) -> Option<String> {
    let methods = Some(methods as u64).filter(|&methods| methods > 0).map(|n| counted(n, "method was", "methods were"))?;
    Some(format!("{methods} counted by whole blocks, and left some before their end: what threw there counts, too"))
}

/// Of an evaluation; `unknown`: callers are not always known, and neither are the calls of these native methods.
pub(super) fn notes(profile: &Profile, estimator: &dyn CycleEstimator, mixed: &Doubt, unknown: Option<&NotTold>) -> Vec<String> {
    let mut notes = Vec::new();
    if mixed.cycles > 0 {
        notes.push(format!(
            "{} calls in this recording went through several kinds of call sites, and which took which is not known: cycles are off by {} at most. Recorded with call sites (sites=on) they are exact",
            thousands(mixed.calls),
            thousands(mixed.cycles)
        ));
    }
    let whole = if estimator.only_completed() { whole_blocks(profile.left_blocks(|_| true).len()) } else { None };
    notes.extend(whole.map(|note| format!("in this recording, {note}")));
    let Some(not_told) = unknown else { return notes };
    if !calls_cost(estimator) {
        return notes;
    }
    let loaded = if profile.run.folded {
        "that caller, or, where contexts were folded for want of room, the method that returned"
    } else {
        "that caller"
    };
    notes.push(format!(
        "contexts were bounded or folded, so that callers are not always known: calls are charged where their instructions were executed, calls by the JVM are left out, misses are charged by the callers that were recorded; what a miss on return loads is taken to be as large as {loaded}, which may be far off"
    ));
    if !not_told.natives.is_empty() {
        notes.push(
            "calls of native methods that are not told because Java methods may stand in for them are charged as if Java methods had been called"
                .to_owned(),
        );
    }
    notes
}

/// Whether any call or return costs something, as far as hits and misses of small and large methods tell.
fn calls_cost(estimator: &dyn CycleEstimator) -> bool {
    let costs = |cost: Result<u64, TargetError>| cost.map_or(true, |cost| cost > 0);
    [None, Some(1), Some(LARGE)].into_iter().any(|miss| {
        InvokeKind::ALL.into_iter().any(|kind| costs(estimator.invoke(kind, miss)))
            || (op::IRETURN..=op::RETURN).any(|opcode| costs(estimator.leave(opcode, miss)))
    })
}
