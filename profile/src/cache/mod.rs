//! Method caches: memories inside a Java processor that hold whole methods.
//!
//! A method is looked up when it is entered, and looked up again when a call it made returns to it normally; if it is not
//! there it is loaded. What happens depends on the order of events, so caches are simulated while a program runs; these
//! here say what is right, one core's events after the other.

mod fifo;
mod fixed;
mod lru;
mod spec;
#[cfg(test)]
mod tests;

pub use fifo::Fifo;
pub use fixed::Fixed;
pub use lru::Lru;
pub use spec::{CacheKind, CacheSpec, Scope, SpecError};

/// Why a method is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It is entered.
    Enter,
    /// A call it made returned to it.
    Return,
}

/// An event of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// The method that must be in the cache now: a number that names it. Strategies may have tables up to the largest, so numbers
    /// are best given in order.
    pub method: u32,
    /// Bytes of its original code; at least 1 (JVMS §4.7.3), the same at every lookup of the method.
    pub code_length: u32,
    /// Why.
    pub cause: Cause,
}

/// A replacement strategy with its state: one core's cache.
///
/// To try a strategy of your own, implement this and feed it the lookups of a trace; `examples/cache_strategy.rs` of this
/// crate does so. All built-in caches are used through it as well.
pub trait CacheStrategy: Send {
    /// What it simulates.
    fn spec(&self) -> CacheSpec;

    /// Looks up methods in order, and loads those that are missing. `missed` has one place for each, set to whether it
    /// was missing. A strategy sees a core's events in batches of any size; how they are cut must not change the outcome.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn lookups(&mut self, events: &[Lookup], missed: &mut [bool]);

    /// Looks up one method; answers whether it was missing.
    fn lookup(&mut self, event: Lookup) -> bool {
        let mut missed = [false];
        self.lookups(&[event], &mut missed);
        missed[0]
    }
}

/// An empty cache as described.
pub fn strategy(spec: CacheSpec) -> Box<dyn CacheStrategy> {
    match spec.kind {
        CacheKind::Fifo => Box::new(Fifo::new(spec)),
        CacheKind::Lru => Box::new(Lru::new(spec)),
        CacheKind::Ideal | CacheKind::None => Box::new(Fixed::new(spec)),
    }
}

/// Applies `one` to each event.
fn each(events: &[Lookup], missed: &mut [bool], mut one: impl FnMut(&Lookup) -> bool) {
    assert_eq!(events.len(), missed.len(), "one answer per event");
    for (event, missed) in events.iter().zip(missed) {
        *missed = one(event);
    }
}
