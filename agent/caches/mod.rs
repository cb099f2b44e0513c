//! Method caches other than one FIFO cache per thread: woven code logs lookups, and they are simulated here, thousands at a time.
//!
//! Each tree has a log and, unless all threads share one core, a core. The tree's lessee calls [`Caches::simulate`] when its log
//! is full; whoever takes a capture calls [`Caches::drain`] for logs that are not, and keeps [`Caches::stop`]'s guard while it
//! reads.

mod core;
mod fifo;
mod lanes;
#[cfg(test)]
mod tests;
mod view;

use crate::arena::Arena;
use crate::lock;
use core::Core;
use cprof_instrument::abi::{self, caches, event, kind, root};
use cprof_profile::cache::{CacheSpec, Scope};
use cprof_profile::options::simulation;
use cprof_profile::recording::Memory;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};
use view::View;

/// How many places for misses of a cause nodes have.
pub fn lanes(specs: &[CacheSpec]) -> u32 {
    match simulation(specs) {
        caches::OFF => 0,
        caches::INLINE => 1,
        _ if specs.len() <= 4 => 4,
        _ => lanes::LANES as u32,
    }
}

/// What is simulated from logs.
pub struct Caches {
    arena: Arc<Arena>,
    specs: Vec<CacheSpec>,
    /// Held shared while misses are counted, and exclusively while they are read.
    counting: RwLock<()>,
    /// By reference of the root.
    trees: Mutex<HashMap<u32, Arc<Mutex<Tree>>>>,
    /// The core of all threads, if there is only one.
    shared: Option<Mutex<Core>>,
}

#[derive(Default)]
struct Tree {
    /// Events that were simulated already: bytes from the first event on.
    done: u64,
    /// Some were.
    begun: bool,
    core: Option<Core>,
}

impl Caches {
    /// `None`: there is nothing to simulate from logs.
    pub fn new(arena: Arc<Arena>, specs: &[CacheSpec]) -> Option<Caches> {
        let shared = specs.iter().any(|s| s.scope == Scope::Shared).then(|| Mutex::new(Core::new(specs)));
        (simulation(specs) == caches::LOGGED).then(|| Caches {
            arena,
            specs: specs.to_vec(),
            counting: RwLock::default(),
            trees: Mutex::default(),
            shared,
        })
    }

    /// Simulates a log up to `end`, for the tree's lessee, who then begins it anew.
    pub fn simulate(&self, root: u64, end: u64) -> Option<()> {
        self.run(root, end, true)
    }

    /// Simulates what a log holds now. The lessee does not run, or is simulating the log itself.
    pub fn drain(&self, root: u64, end: u64) -> Option<()> {
        self.run(root, end, false)
    }

    /// Nothing is simulated until the guard is dropped.
    pub fn stop(&self) -> RwLockWriteGuard<'_, ()> {
        self.counting.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// `root`, `end`: addresses.
    fn run(&self, root: u64, end: u64, owner: bool) -> Option<()> {
        let base = self.arena.base();
        let (root, end) = (root.checked_sub(base)?, end.checked_sub(base)?);
        let tree = lock(&self.trees).entry((root / abi::UNIT) as u32).or_default().clone();
        let mut tree = lock(&tree);
        let tree = &mut *tree;
        if !owner && Memory::u32(&*self.arena, root + root::LOG_DONE)? == 1 {
            return Some(());
        }
        let log = u64::from(Memory::u32(&*self.arena, root + root::LOG)?) * abi::UNIT;
        if Memory::u32(&*self.arena, log)? != kind::LOG {
            return None;
        }
        let start = log + event::LOG_HEADER;
        let from = start + tree.done;
        let reading = self.counting.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: misses are counted in nodes of this tree, under its lock, and nowhere else; where caches are shared, in those
        // of any tree, under the core's.
        let mut view = unsafe { View::new(&self.arena, &reading) };
        if from <= end && end <= log + u64::from(view.u32(log + 4)?) {
            let events = view.words(from, ((end - from) / 8) as usize)?;
            match &self.shared {
                Some(core) => play(&mut lock(core), &mut view, events, !tree.begun, false),
                None => {
                    let core = tree.core.get_or_insert_with(|| Core::new(&self.specs));
                    play(core, &mut view, events, !tree.begun, true);
                }
            }
            (tree.begun, tree.done) = (true, end - start);
        }
        if owner {
            tree.done = 0;
            view.set_u32(root + root::LOG_DONE, 1);
        }
        Some(())
    }
}

/// Between two threads, a core of one thread at a time is cold.
fn play(core: &mut Core, view: &mut View<'_>, events: &[AtomicU64], first: bool, one_thread: bool) {
    // A lessee that leaves has its log simulated at once, so what says that it has left is the last event; not in what was logged
    // before the JVM could call the agent. To look for it among all took 6 to 8 % of a run with eight caches.
    let (before, rest) = events.split_at(if first { 0 } else { events.len().saturating_sub(1) });
    core.run(view, before);
    for (i, events) in rest.split(|e| e.load(Ordering::Relaxed) == event::COLD).enumerate() {
        if i > 0 && one_thread {
            core.clear();
        }
        core.run(view, events);
    }
}
