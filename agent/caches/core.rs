//! One core: its caches, and the events that it sees in order.

use super::fifo::{Fifo, LANES, MOST_LOOKUPS};
use super::view::View;
use cprof_instrument::abi::{self, event, header, node};
use cprof_profile::cache::{CacheKind, CacheSpec, CacheStrategy, Cause, Lookup, strategy};
use std::collections::HashMap;

/// The number of what is always there: the reference of the arena's record of that kind.
const HIT: u32 = (header::HIT / abi::UNIT) as u32;
/// Numbers of methods begin here.
const FIRST: usize = 64;

/// What is known of a method beside its caches.
#[derive(Debug, Clone, Copy, Default)]
struct Method {
    id: u32,
    code_length: u32,
    /// Offset of the misses in the method's nodes.
    misses: u64,
}

/// A core.
pub struct Core {
    specs: Vec<CacheSpec>,
    /// The FIFO caches, in their lanes.
    fifo_specs: Vec<Option<CacheSpec>>,
    fifo: Fifo,
    /// By number, beside the FIFO caches' entries.
    methods: Vec<Method>,
    numbers: HashMap<u32, u32>,
    /// The other caches and their lanes.
    others: Vec<(usize, Box<dyn CacheStrategy>)>,
    /// Scratch: lookups of the other caches, and where their misses are counted.
    lookups: Vec<Lookup>,
    charged: Vec<u64>,
    missed: Vec<bool>,
    /// Places for misses of a cause in a node.
    lanes: u32,
    avx2: bool,
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
            avx2: avx2(),
        }
    }

    /// Loses all methods.
    pub fn clear(&mut self) {
        self.fifo.rebase();
        self.fifo.clear();
        self.others = others(&self.specs);
    }

    /// Simulates events, none of them [`event::COLD`].
    pub fn run(&mut self, view: &mut View<'_>, events: &[u64]) {
        for events in events.chunks(MOST_LOOKUPS / 2) {
            self.fifo.rebase();
            #[cfg(target_arch = "x86_64")]
            if self.avx2 {
                // SAFETY: this processor has AVX2.
                unsafe { self.run_avx2(view, events) };
                continue;
            }
            self.run_lanes(view, events);
        }
        if !self.others.is_empty() {
            self.run_others(view, events);
        }
    }

    /// [`Self::run_lanes`], compiled for registers of eight lanes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(&mut self, view: &mut View<'_>, events: &[u64]) {
        self.run_lanes(view, events);
    }

    #[inline(always)]
    fn run_lanes(&mut self, view: &mut View<'_>, events: &[u64]) {
        let mut next = self.fifo.next;
        for &event in events {
            let (callee, caller, leaf) = parts(event);
            if caller == 0 || leaf {
                let method = self.number(view, callee);
                if let Some(missed) = self.fifo.lookup(method, &mut next) {
                    let at = self.misses(callee, method);
                    self.count(view, at, &missed);
                }
            }
            if caller != 0 {
                let method = self.number(view, caller - event::CALLER as u32);
                if let Some(missed) = self.fifo.lookup(method, &mut next) {
                    let method = self.number(view, callee);
                    let at = self.misses(callee, method) + self.row();
                    self.count(view, at, &missed);
                }
            }
        }
        self.fifo.next = next;
    }

    fn run_others(&mut self, view: &mut View<'_>, events: &[u64]) {
        self.lookups.clear();
        self.charged.clear();
        for &event in events {
            let (callee, caller, leaf) = parts(event);
            if caller == 0 || leaf {
                let method = self.number(view, callee);
                self.other_lookup(method, Cause::Enter, self.misses(callee, method));
            }
            if caller != 0 {
                let method = self.number(view, caller - event::CALLER as u32);
                let own = self.number(view, callee);
                self.other_lookup(method, Cause::Return, self.misses(callee, own) + self.row());
            }
        }
        self.missed.resize(self.lookups.len(), false);
        for (lane, cache) in &mut self.others {
            cache.lookups(&self.lookups, &mut self.missed);
            for (&at, _) in self.charged.iter().zip(&self.missed).filter(|(_, missed)| **missed) {
                view.add(at + 8 * *lane as u64, 1);
            }
        }
    }

    fn other_lookup(&mut self, method: u32, cause: Cause, charged: u64) {
        let Some(&Method { id, code_length, .. }) = self.methods.get(method as usize).filter(|m| m.id != 0) else { return };
        self.lookups.push(Lookup { method: id, code_length, cause });
        self.charged.push(charged);
    }

    /// Bytes of the misses of one cause.
    #[inline(always)]
    fn row(&self) -> u64 {
        8 * u64::from(self.lanes)
    }

    /// Where a node's entry misses are; the junk node's are nowhere.
    #[inline(always)]
    fn misses(&self, node: u32, method: u32) -> u64 {
        match self.methods.get(method as usize) {
            Some(method) if method.id != 0 => u64::from(node) * abi::UNIT + method.misses,
            _ => abi::JUNK + node::COUNTERS,
        }
    }

    #[inline(always)]
    fn count(&self, view: &mut View<'_>, at: u64, missed: &[i32; LANES]) {
        if self.row() == 8 * LANES as u64 {
            view.subtract::<LANES>(at, missed);
        } else {
            view.subtract::<4>(at, missed);
        }
    }

    /// The number of a node's method.
    #[inline(always)]
    fn number(&mut self, view: &mut View<'_>, node: u32) -> u32 {
        match view.u32(u64::from(node) * abi::UNIT + node::RECORD) {
            Some(0) => self.give_number(view, node),
            Some(number) => number,
            None => HIT,
        }
    }

    #[cold]
    fn give_number(&mut self, view: &mut View<'_>, at: u32) -> u32 {
        let at = u64::from(at) * abi::UNIT;
        let Some(id) = view.u32(at).filter(|id| (abi::FIRST_METHOD..abi::MAX_METHODS).contains(id)) else { return HIT };
        let entry = abi::METHODS + abi::METHOD_ENTRY * u64::from(id);
        let (Some(shape), Some(code_length)) = (view.u32(entry), view.u32(entry + 4)) else { return HIT };
        let (fifo, methods) = (&mut self.fifo, &mut self.methods);
        let number = *self.numbers.entry(id).or_insert_with(|| {
            let counters = (shape & abi::METHOD_COUNTERS) as u16;
            methods.push(Method { id, code_length, misses: abi::node_size(counters, shape & abi::METHOD_LEAF != 0, 0) });
            fifo.add(&self.fifo_specs, code_length)
        });
        view.set_u32(at + node::RECORD, number);
        number
    }
}

/// The callee's node, the caller's + [`event::CALLER`] or 0, and whether both are looked up.
#[inline(always)]
fn parts(event: u64) -> (u32, u32, bool) {
    (event as u32, (event >> 32) as u32 & 0x7FFF_FFFF, event & event::LEAF != 0)
}

fn others(specs: &[CacheSpec]) -> Vec<(usize, Box<dyn CacheStrategy>)> {
    specs.iter().enumerate().filter(|(_, s)| s.kind != CacheKind::Fifo).map(|(lane, s)| (lane, strategy(*s))).collect()
}

fn avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}
