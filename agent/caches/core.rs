//! One core: its caches, and the events that it sees in order.

use super::fifo::{self, Fifo, Lookups, MOST_LOOKUPS};
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, HasAvx2};
use super::lanes::{LANES, Lanes, Vector};
use super::view::{Misses, Node, View};
use cprof_instrument::abi::{self, MethodEntry, event, header};
use cprof_profile::cache::{CacheKind, CacheSpec, CacheStrategy, Cause, Lookup, strategy};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of what is always there: the reference of the arena's record of that kind.
const HIT: u32 = (header::HIT / abi::UNIT) as u32;
/// Numbers of methods begin here, [`fifo::NUMBER`] apart.
const FIRST: usize = 64;
const _: () = assert!(HIT < FIRST as u32 * fifo::NUMBER && HIT >= fifo::NUMBER);

/// How many events at once the caches are told of that are no FIFO caches: what they are told and what they answer stays in the
/// processor's first cache.
const TOLD_AT_ONCE: usize = 512;

/// A core.
pub struct Core {
    specs: Vec<CacheSpec>,
    /// The FIFO caches, in their lanes.
    fifo_specs: Vec<Option<CacheSpec>>,
    fifo: Fifo,
    /// Bytes of methods, in the order of their numbers, beside the FIFO caches' entries; 0 of those that are always there.
    code_lengths: Vec<u32>,
    numbers: HashMap<u32, u32>,
    /// The other caches and their lanes.
    others: Vec<(usize, Box<dyn CacheStrategy>)>,
    /// Scratch: lookups of the other caches, and the nodes that their misses are counted in.
    lookups: Vec<Lookup>,
    charged: Vec<u32>,
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
            code_lengths: vec![0; FIRST],
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
            events.chunks(TOLD_AT_ONCE).for_each(|events| self.run_others(view, events));
        }
    }

    fn run_lanes<const N: usize>(&mut self, view: &mut View<'_>, mut events: &[AtomicU64]) {
        while let Some(stop) = self.run_known::<N>(view, events) {
            let (entered, returned) = Event::of(&events[stop.at]).parts();
            if let Some(callee) = entered.filter(|_| !stop.entered) {
                self.look_up::<N>(view, callee, Cause::Enter, callee);
            }
            if let Some((callee, caller)) = returned {
                self.look_up::<N>(view, caller, Cause::Return, callee);
            }
            events = &events[stop.at + 1..];
        }
    }

    fn run_known<const N: usize>(&mut self, view: &mut View<'_>, events: &[AtomicU64]) -> Option<Stop> {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = self.avx2 {
            // SAFETY: this processor has AVX2.
            return unsafe { self.run_avx2::<N>(proof, view, events) };
        }
        self.run_each::<Lanes, N>((), view, events)
    }

    /// [`Self::run_each`], compiled for the vector's instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2<const N: usize>(&mut self, proof: HasAvx2, view: &mut View<'_>, events: &[AtomicU64]) -> Option<Stop> {
        self.run_each::<Avx2, N>(proof, view, events)
    }

    /// Simulates events up to one with a node of which nothing is known yet. Its branches are predicted well: what it takes time for
    /// is the number of its instructions.
    #[inline(always)]
    fn run_each<V: Vector, const N: usize>(
        &mut self,
        proof: V::Proof,
        view: &mut View<'_>,
        events: &[AtomicU64],
    ) -> Option<Stop> {
        let mut caches = self.fifo.lookups::<V>(proof);
        let mut stopped = None;
        for (at, event) in events.iter().enumerate() {
            let done = match Event::of(event) {
                Event::Entered { callee } => entered::<V, N>(&mut caches, view, callee).ok_or(false),
                Event::Returned { callee, caller } => returned::<V, N>(&mut caches, view, callee, caller).ok_or(false),
                Event::Passed { callee, caller } => match entered::<V, N>(&mut caches, view, callee) {
                    Some(()) => returned::<V, N>(&mut caches, view, callee, caller).ok_or(true),
                    None => Err(false),
                },
            };
            if let Err(entered) = done {
                stopped = Some(Stop { at, entered });
                break;
            }
        }
        let next = caches.next();
        self.fifo.goes_on_from(next);
        stopped
    }

    /// One lookup, whatever is known of the nodes: that of `node`'s method, whose misses count in `charged`.
    #[cold]
    fn look_up<const N: usize>(&mut self, view: &mut View<'_>, node: u32, cause: Cause, charged: u32) {
        let Some(node) = view.node(node) else { return };
        let number = self.number(view, node);
        let charged = self.charged(view, charged);
        let mut caches = self.fifo.lookups::<Lanes>(());
        if let Some(miss) = caches.look_up(number) {
            caches.load(&miss);
            if let Some((node, misses)) = charged {
                view.count::<_, N>(node, misses, cause, miss.lanes);
            }
        }
        let next = caches.next();
        self.fifo.goes_on_from(next);
    }

    /// Where misses are counted for a node, if anywhere: one without counters is that of all calls without room.
    fn charged(&mut self, view: &mut View<'_>, node: u32) -> Option<(Node, Misses)> {
        let node = view.node(node)?;
        let number = self.number(view, node);
        Some((node, self.fifo.misses(number)?))
    }

    fn run_others(&mut self, view: &mut View<'_>, events: &[AtomicU64]) {
        self.lookups.clear();
        self.charged.clear();
        for event in events {
            let (entered, returned) = Event::of(event).parts();
            if let Some(callee) = entered {
                self.other_lookup(view, callee, Cause::Enter, callee);
            }
            if let Some((callee, caller)) = returned {
                self.other_lookup(view, caller, Cause::Return, callee);
            }
        }
        let mut missed = std::mem::take(&mut self.missed);
        missed.resize(self.lookups.len(), false);
        for other in 0..self.others.len() {
            let (lane, cache) = &mut self.others[other];
            cache.lookups(&self.lookups, &mut missed);
            let mut here = [0; LANES];
            here[*lane] = -1;
            for at in missed.iter().enumerate().filter_map(|(at, missed)| missed.then_some(at)) {
                let cause = self.lookups[at].cause;
                let Some((node, misses)) = self.charged(view, self.charged[at]) else { continue };
                match self.lanes {
                    4 => view.count::<_, 4>(node, misses, cause, here),
                    _ => view.count::<_, LANES>(node, misses, cause, here),
                }
            }
        }
        self.missed = missed;
    }

    fn other_lookup(&mut self, view: &mut View<'_>, node: u32, cause: Cause, charged: u32) {
        let Some(node) = view.node(node) else { return };
        let method = self.number(view, node) / fifo::NUMBER;
        if let Some(&code_length) = self.code_lengths.get(method as usize).filter(|n| **n != 0) {
            self.lookups.push(Lookup { method, code_length, cause });
            self.charged.push(charged);
        }
    }

    /// The number of a node's method.
    fn number(&mut self, view: &mut View<'_>, node: Node) -> u32 {
        match view.record(node) {
            0 => self.give_number(view, node),
            number if self.fifo.has(number) => number,
            // No node's: what an event named that is none.
            _ => HIT,
        }
    }

    #[cold]
    fn give_number(&mut self, view: &mut View<'_>, node: Node) -> u32 {
        let id = view.method(node).filter(|id| (abi::FIRST_METHOD..abi::MAX_METHODS).contains(id));
        let Some(id) = id else { return HIT };
        let entry = abi::METHODS + abi::METHOD_ENTRY * u64::from(id);
        let (Some(shape), Some(code)) = (view.u32(entry), view.u32(entry + 4)) else { return HIT };
        let (fifo, code_lengths) = (&mut self.fifo, &mut self.code_lengths);
        let number = *self.numbers.entry(id).or_insert_with(|| {
            let entry = MethodEntry::of([shape, code]);
            let code_length = entry.code_length.into();
            code_lengths.push(code_length);
            fifo.add(&self.fifo_specs, code_length, Misses::of(entry))
        });
        view.set_record(node, number);
        number
    }
}

/// An event up to which simulation has come.
struct Stop {
    at: usize,
    /// The leaf's entry is done.
    entered: bool,
}

/// A method was entered. `None`: nothing was done, as something is not known yet.
#[inline(always)]
fn entered<V: Vector, const N: usize>(caches: &mut Lookups<'_, V>, view: &mut View<'_>, callee: u32) -> Option<()> {
    let callee = view.node(callee)?;
    let number = view.record(callee);
    if let Some(miss) = caches.look_up(number) {
        let misses = caches.misses(number)?;
        caches.load(&miss);
        view.count::<V, N>(callee, misses, Cause::Enter, miss.lanes);
    }
    Some(())
}

/// A method returned. `None`: nothing was done, as something is not known yet.
#[inline(always)]
fn returned<V: Vector, const N: usize>(caches: &mut Lookups<'_, V>, view: &mut View<'_>, callee: u32, caller: u32) -> Option<()> {
    let caller = view.node(caller)?;
    let number = view.record(caller);
    if let Some(miss) = caches.look_up(number) {
        caches.misses(number)?;
        let callee = view.node(callee)?;
        let misses = caches.misses(view.record(callee))?;
        caches.load(&miss);
        view.count::<V, N>(callee, misses, Cause::Return, miss.lanes);
    }
    Some(())
}

/// What a log says, with references of nodes.
enum Event {
    /// A method was entered.
    Entered { callee: u32 },
    /// A method returned to its caller.
    Returned { callee: u32, caller: u32 },
    /// A leaf did both.
    Passed { callee: u32, caller: u32 },
}

impl Event {
    #[inline(always)]
    fn of(event: &AtomicU64) -> Event {
        let event = event.load(Ordering::Relaxed);
        if event & event::RETURN != 0 {
            let event = event.wrapping_add(event::RETURN);
            return Event::Returned { callee: (event as u32).wrapping_sub(event::CALLEE as u32), caller: (event >> 32) as u32 };
        }
        match (event >> 32) as u32 {
            0 => Event::Entered { callee: event as u32 },
            caller => Event::Passed { callee: event as u32, caller },
        }
    }

    /// The node of the callee that was entered, if one was, and those of a callee that returned and its caller.
    fn parts(self) -> (Option<u32>, Option<(u32, u32)>) {
        match self {
            Event::Entered { callee } => (Some(callee), None),
            Event::Returned { callee, caller } => (None, Some((callee, caller))),
            Event::Passed { callee, caller } => (Some(callee), Some((callee, caller))),
        }
    }
}

fn others(specs: &[CacheSpec]) -> Vec<(usize, Box<dyn CacheStrategy>)> {
    specs.iter().enumerate().filter(|(_, s)| s.kind != CacheKind::Fifo).map(|(lane, s)| (lane, strategy(*s))).collect()
}
