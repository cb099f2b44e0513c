//! One core: its caches, and the events that it sees in order.

use super::fifo::{Fifo, MOST_LOOKUPS};
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, HasAvx2};
use super::lanes::{LANES, Lanes, Vector};
use super::view::View;
use cprof_instrument::abi::{self, MethodEntry, event, header, node};
use cprof_profile::cache::{CacheKind, CacheSpec, CacheStrategy, Cause, Lookup, strategy};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of what is always there: the reference of the arena's record of that kind.
const HIT: u32 = (header::HIT / abi::UNIT) as u32;
/// Numbers of methods begin here.
const FIRST: usize = 64;

/// What is known of a method beside its caches.
#[derive(Debug, Clone, Copy, Default)]
struct Method {
    id: u32,
    code_length: u32,
}

/// A core.
pub struct Core {
    specs: Vec<CacheSpec>,
    /// The FIFO caches, in their lanes.
    fifo_specs: Vec<Option<CacheSpec>>,
    fifo: Fifo,
    /// By number, beside the FIFO caches' entries, whose tag is where the misses are in a method's nodes, in [`abi::UNIT`] from
    /// their start; 0: nowhere.
    methods: Vec<Method>,
    numbers: HashMap<u32, u32>,
    /// The other caches and their lanes.
    others: Vec<(usize, Box<dyn CacheStrategy>)>,
    /// Scratch: lookups of the other caches, and where their misses are counted, in [`abi::UNIT`], if anywhere.
    lookups: Vec<Lookup>,
    charged: Vec<Option<u64>>,
    missed: Vec<bool>,
    /// Places for misses of a cause in a node.
    lanes: u32,
    #[cfg(target_arch = "x86_64")]
    avx2: Option<HasAvx2>,
}

impl Core {
    /// A core with cold caches.
    pub fn new(specs: &[CacheSpec]) -> Core {
        let fifo_specs: Vec<_> = specs.iter().map(|s| Some(*s).filter(|s| s.kind == CacheKind::Fifo)).collect();
        Core {
            specs: specs.to_vec(),
            fifo: Fifo::new(&fifo_specs, FIRST),
            fifo_specs,
            methods: vec![Method::default(); FIRST],
            numbers: HashMap::new(),
            others: others(specs),
            lookups: Vec::new(),
            charged: Vec::new(),
            missed: Vec::new(),
            lanes: super::lanes(specs),
            #[cfg(target_arch = "x86_64")]
            avx2: HasAvx2::detect(),
        }
    }

    /// As on a processor without AVX2.
    #[cfg(all(test, target_arch = "x86_64"))]
    pub fn without_avx2(self) -> Core {
        Core { avx2: None, ..self }
    }

    /// Loses all methods.
    pub fn clear(&mut self) {
        self.fifo.rebase();
        self.fifo.clear();
        self.others = others(&self.specs);
    }

    /// Simulates events, none of them [`event::COLD`].
    pub fn run(&mut self, view: &mut View<'_>, events: &[AtomicU64]) {
        for events in events.chunks(MOST_LOOKUPS / 2) {
            self.fifo.rebase();
            match self.lanes {
                4 => self.run_lanes::<4>(view, events),
                _ => self.run_lanes::<LANES>(view, events),
            }
        }
        if !self.others.is_empty() {
            self.run_others(view, events);
        }
    }

    fn run_lanes<const N: usize>(&mut self, view: &mut View<'_>, events: &[AtomicU64]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = self.avx2 {
            // SAFETY: this processor has AVX2.
            return unsafe { self.run_avx2::<N>(proof, view, events) };
        }
        self.run_each::<Lanes, N>((), view, events);
    }

    /// [`Self::run_each`], compiled for the vector's instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2<const N: usize>(&mut self, proof: HasAvx2, view: &mut View<'_>, events: &[AtomicU64]) {
        self.run_each::<Avx2, N>(proof, view, events);
    }

    /// Its branches are predicted well: what it takes time for is the number of its instructions.
    #[inline(always)]
    fn run_each<V: Vector, const N: usize>(&mut self, proof: V::Proof, view: &mut View<'_>, events: &[AtomicU64]) {
        let mut next = V::new(proof, &self.fifo.next);
        for event in events {
            let (entered, returned) = parts(event);
            if let Some(callee) = entered
                && let Some((misses, missed)) = self.load(proof, view, callee, &mut next)
            {
                count::<V, N>(view, callee, misses, missed);
            }
            if let Some((callee, caller)) = returned
                && let Some((_, missed)) = self.load(proof, view, caller, &mut next)
            {
                let misses = self.misses(view, callee);
                if misses != 0 {
                    count::<V, N>(view, callee, misses + N as u32, missed);
                }
            }
        }
        self.fifo.next = next.get();
    }

    /// Looks a node's method up and loads it where it is missing: where the misses are in its nodes, and where it was missing, if
    /// anywhere.
    #[inline(always)]
    fn load<V: Vector>(&mut self, proof: V::Proof, view: &mut View<'_>, node: u32, next: &mut V) -> Option<(u32, V)> {
        // A method without a number is missing everywhere: so nobody needs to ask who finds one.
        match self.fifo.lookup(proof, view.record(node)?, next)? {
            (0, _) => {
                self.fifo.forget_unknown();
                let number = self.give_number(view, node);
                self.fifo.lookup(proof, number, next)
            }
            found => Some(found),
        }
    }

    /// Where the misses are in a node, in [`abi::UNIT`] from its start; 0: nowhere.
    #[inline(always)]
    fn misses(&mut self, view: &mut View<'_>, node: u32) -> u32 {
        let number = self.number(view, node);
        self.fifo.tag(number)
    }

    fn run_others(&mut self, view: &mut View<'_>, events: &[AtomicU64]) {
        self.lookups.clear();
        self.charged.clear();
        for event in events {
            let (entered, returned) = parts(event);
            if let Some(callee) = entered {
                self.other_lookup(view, callee, Cause::Enter, callee);
            }
            if let Some((callee, caller)) = returned {
                self.other_lookup(view, caller, Cause::Return, callee);
            }
        }
        self.missed.resize(self.lookups.len(), false);
        for (lane, cache) in &mut self.others {
            cache.lookups(&self.lookups, &mut self.missed);
            let missed = self.charged.iter().zip(&self.missed).filter(|(_, missed)| **missed);
            for at in missed.filter_map(|(at, _)| *at) {
                view.increment(at + *lane as u64);
            }
        }
    }

    fn other_lookup(&mut self, view: &mut View<'_>, node: u32, cause: Cause, charged: u32) {
        let number = self.number(view, node);
        let Some(&Method { id, code_length }) = self.methods.get(number as usize).filter(|m| m.id != 0) else { return };
        let row = if cause == Cause::Return { u64::from(self.lanes) } else { 0 };
        let misses = self.misses(view, charged);
        self.lookups.push(Lookup { method: id, code_length, cause });
        // A node without counters is that of all calls without room.
        self.charged.push((misses != 0).then(|| u64::from(charged) + u64::from(misses) + row));
    }

    /// The number of a node's method.
    #[inline(always)]
    fn number(&mut self, view: &mut View<'_>, node: u32) -> u32 {
        match view.record(node) {
            Some(0) => self.give_number(view, node),
            Some(number) => number,
            None => HIT,
        }
    }

    #[cold]
    fn give_number(&mut self, view: &mut View<'_>, node: u32) -> u32 {
        let id = view.u32(u64::from(node) * abi::UNIT + node::METHOD);
        let Some(id) = id.filter(|id| (abi::FIRST_METHOD..abi::MAX_METHODS).contains(id)) else { return HIT };
        let entry = abi::METHODS + abi::METHOD_ENTRY * u64::from(id);
        let (Some(shape), Some(code)) = (view.u32(entry), view.u32(entry + 4)) else { return HIT };
        let (fifo, methods) = (&mut self.fifo, &mut self.methods);
        let number = *self.numbers.entry(id).or_insert_with(|| {
            let MethodEntry { counters, leaf, code_length, .. } = MethodEntry::of([shape, code]);
            let code_length = code_length.into();
            methods.push(Method { id, code_length });
            let misses = abi::node_size(counters, leaf, 0) / abi::UNIT;
            fifo.add(&self.fifo_specs, code_length, misses as u32)
        });
        view.set_u32(u64::from(node) * abi::UNIT + node::RECORD, number);
        number
    }
}

/// Counts misses of one cause: `misses` is where they are in the node.
#[inline(always)]
fn count<V: Vector, const N: usize>(view: &mut View<'_>, node: u32, misses: u32, missed: V) {
    view.counters::<N>(u64::from(node) + u64::from(misses), |counters| missed.count(counters));
}

/// The node of the callee that was entered, if one was, and those of a callee that returned and its caller: of a leaf both.
#[inline(always)]
fn parts(event: &AtomicU64) -> (Option<u32>, Option<(u32, u32)>) {
    let event = event.load(Ordering::Relaxed);
    let callee = event as u32;
    match (event >> 32) as u32 {
        0 => (Some(callee), None),
        caller if event & event::LEAF != 0 => {
            (Some(callee), Some((callee, (caller & !((event::LEAF >> 32) as u32)).wrapping_sub(event::CALLER as u32))))
        }
        caller => (None, Some((callee.wrapping_sub(event::CALLEE as u32), caller.wrapping_sub(event::CALLER as u32)))),
    }
}

fn others(specs: &[CacheSpec]) -> Vec<(usize, Box<dyn CacheStrategy>)> {
    specs.iter().enumerate().filter(|(_, s)| s.kind != CacheKind::Fifo).map(|(lane, s)| (lane, strategy(*s))).collect()
}
