//! Which method cache's outcomes to take.

use crate::cache::{CacheKind, CacheSpec};
use crate::model::Profile;
use thiserror::Error;

/// Where a cache's outcomes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcomes {
    /// Simulated in the run: the position in the profile's list.
    Simulated(usize),
    /// No lookup misses.
    AllHit,
    /// Every lookup misses.
    AllMiss,
}

/// A cache was asked for that the run did not simulate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "method cache {wanted} was not simulated in this run, which simulated {have}. Record again with cache={wanted}, or take {instead} in its place (--cache ideal; in a budget cycles[jop,ideal]; in a matrix caches = [\"ideal\"])",
    have = if have.is_empty() { "no method cache".to_owned() } else { have.iter().map(CacheSpec::to_string).collect::<Vec<_>>().join(", ") },
    instead = if have.is_empty() { "ideal or none" } else { "one of those, ideal or none" }
)]
pub struct NotSimulated {
    /// What was asked for.
    pub wanted: CacheSpec,
    /// What there is.
    pub have: Vec<CacheSpec>,
}

impl Outcomes {
    /// The outcomes of a cache. Those of ideal and none follow from the counts.
    pub fn of(profile: &Profile, cache: CacheSpec) -> Result<Outcomes, NotSimulated> {
        match (cache.kind, profile.caches.iter().position(|c| *c == cache)) {
            (CacheKind::Ideal, _) => Ok(Outcomes::AllHit),
            (CacheKind::None, _) => Ok(Outcomes::AllMiss),
            (_, Some(at)) => Ok(Outcomes::Simulated(at)),
            (_, None) => Err(NotSimulated { wanted: cache, have: profile.caches.clone() }),
        }
    }
}
