//! A method cache strategy of one's own: one block, one method, whatever its size (the simplest cache that JOP was tried with),
//! against the built-in ones on an invented sequence of calls.
//!
//! `cargo run -p cprof-profile --example cache_strategy`

use cprof_profile::cache::{CacheKind, CacheSpec, CacheStrategy, Cause, Lookup, Scope, strategy};

struct SingleMethod {
    size: u32,
    held: Option<u32>,
}

impl CacheStrategy for SingleMethod {
    fn spec(&self) -> CacheSpec {
        CacheSpec { kind: CacheKind::Fifo, size: self.size, blocks: 1, scope: Scope::Thread }
    }

    fn lookups(&mut self, events: &[Lookup], missed: &mut [bool]) {
        assert_eq!(events.len(), missed.len(), "one answer per event");
        for (event, missed) in events.iter().zip(missed) {
            *missed = self.held != Some(event.method);
            // What does not fit is executed from memory, and whatever was there is gone.
            self.held = (event.code_length <= self.size).then_some(event.method);
        }
    }
}

/// A loop that calls two methods, of which the second calls a third.
fn events() -> Vec<Lookup> {
    let lookup = |method, code_length, cause| Lookup { method, code_length, cause };
    let round = [
        lookup(2, 120, Cause::Enter),
        lookup(1, 300, Cause::Return),
        lookup(3, 700, Cause::Enter),
        lookup(4, 60, Cause::Enter),
        lookup(3, 700, Cause::Return),
        lookup(1, 300, Cause::Return),
    ];
    let mut events = vec![lookup(1, 300, Cause::Enter)];
    (0..1000).for_each(|_| events.extend(round));
    events
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let events = events();
    let mut caches: Vec<(String, Box<dyn CacheStrategy>)> =
        vec![("single method, 1k".into(), Box::new(SingleMethod { size: 1024, held: None }))];
    for text in ["1k/4", "lru:1k/4", "2k/8", "lru:2k/8", "ideal", "none"] {
        caches.push((text.into(), strategy(text.parse()?)));
    }
    let mut missed = vec![false; events.len()];
    for (name, mut cache) in caches {
        cache.lookups(&events, &mut missed);
        let misses = missed.iter().filter(|m| **m).count();
        println!("{name:18} {misses:>5} misses in {} lookups", events.len());
    }
    Ok(())
}
