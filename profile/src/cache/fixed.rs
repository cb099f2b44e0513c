//! The two ends of what is possible: everything is there, nothing is there.

use super::{CacheKind, CacheSpec, CacheStrategy, Lookup};

/// Always hits (ideal) or always misses (none).
#[derive(Debug)]
pub struct Fixed {
    spec: CacheSpec,
}

impl Fixed {
    /// A cache without state.
    pub fn new(spec: CacheSpec) -> Fixed {
        Fixed { spec }
    }
}

impl CacheStrategy for Fixed {
    fn spec(&self) -> CacheSpec {
        self.spec
    }

    fn lookups(&mut self, events: &[Lookup], missed: &mut [bool]) {
        assert_eq!(events.len(), missed.len(), "one answer per event");
        missed.fill(self.spec.kind != CacheKind::Ideal);
    }
}
