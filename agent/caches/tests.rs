//! The simulation of many caches at once against one cache after the other, literally.

use super::core::Core;
use super::lanes;
use super::view::View;
use crate::arena::Arena;
use cprof_instrument::abi::{self, MethodEntry, caches, event, header, kind, node};
use cprof_profile::cache::{CacheSpec, strategy};
use cprof_profile::cache::{Cause, Lookup};
use cprof_profile::options::{Options, simulation};
use std::sync::RwLock;
use std::sync::atomic::AtomicU64;

/// The published cache: each block has a name, a lookup searches them all, and a method's blocks are written behind the last.
struct Published {
    block_size: u32,
    names: Vec<u32>,
    next: usize,
}

impl Published {
    fn new(spec: CacheSpec) -> Published {
        Published { block_size: spec.block_size(), names: vec![0; spec.blocks as usize], next: 0 }
    }

    fn misses(&mut self, method: u32, code_length: u32) -> bool {
        if self.names.contains(&method) {
            return false;
        }
        for block in 0..code_length.div_ceil(self.block_size) {
            self.names[self.next] = if block == 0 { method } else { 0 };
            self.next += 1;
            if self.next == self.names.len() {
                self.next = 0;
            }
        }
        true
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

const METHODS: u32 = 50;
const COUNTERS: u16 = 3;

/// An arena with one node for each of [`METHODS`] methods, and their code lengths. Every second one is a leaf.
fn arena(options: &Options, random: &mut Random) -> (Arena, Vec<u32>, Vec<u32>) {
    let arena = Arena::new(None, options, crate::cgroup::Limits::of_groups("", "")).unwrap();
    let words = arena.base() as *mut u8;
    // SAFETY: the arena is this test's alone, and `at` inside its first step.
    let put = |at: u64, value: u32| unsafe { words.add(at as usize).cast::<u32>().write(value) };
    let (mut nodes, mut lengths) = (vec![0], vec![0]);
    let mut at = abi::CHUNKS + 4096;
    for i in 1..=METHODS {
        let leaf = i % 2 == 0;
        let range = [200, 3000, 40_000][random.below(3) as usize];
        let length = 1 + random.below(range) as u32;
        let entry = MethodEntry { counters: COUNTERS, leaf, code_length: length as u16, class: 0, superclass: 0 };
        assert!(arena.add_method(abi::FIRST_METHOD + i, entry));
        put(at, abi::FIRST_METHOD + i);
        nodes.push((at / abi::UNIT) as u32);
        lengths.push(length);
        at += abi::node_size(COUNTERS, leaf, lanes(&options.caches));
    }
    let top = at.next_multiple_of(abi::CHUNK_ALIGN);
    put(header::TOP, top as u32);
    (arena, nodes, lengths)
}

/// Misses of every node: entries and returns per cache.
fn found(arena: &Arena, nodes: &[u32], specs: &[CacheSpec]) -> Vec<[u64; 2]> {
    let row = u64::from(lanes(specs));
    let read = |at| cprof_profile::recording::Memory::u64(arena, at).unwrap();
    let mut out = Vec::new();
    for (i, node) in nodes.iter().enumerate().skip(1) {
        let at = u64::from(*node) * abi::UNIT + abi::node_size(COUNTERS, i % 2 == 0, 0);
        for lane in 0..row {
            let misses = [read(at + 8 * lane), read(at + 8 * (lane + row))];
            if lane < specs.len() as u64 {
                out.push(misses);
            } else {
                assert_eq!(misses, [0, 0], "a lane without a cache");
            }
        }
    }
    out
}

/// Plays random events through the caches of a configuration, with each kind of vectors. Answers the sum of all misses.
fn compare(text: &str, count: usize, seed: u64) -> u64 {
    let options = Options::parse(&format!("cache={text}")).unwrap();
    let specs = &options.caches;
    assert_eq!(simulation(specs), caches::LOGGED);
    let mut random = Random(seed);
    let (first, nodes, lengths) = arena(&options, &mut random);
    let mut simulated = vec![(first, Core::new(specs))];
    #[cfg(target_arch = "x86_64")]
    simulated.push((arena(&options, &mut Random(seed)).0, Core::new(specs).without_avx2()));
    let mut fifo: Vec<_> = specs.iter().map(|s| Published::new(*s)).collect();
    let mut others: Vec<_> = specs.iter().map(|s| strategy(*s)).collect();
    let mut expected = vec![[0u64; 2]; METHODS as usize * specs.len()];
    let gate = RwLock::new(());
    let reading = gate.read().unwrap();
    let mut near = 4;
    for batch in 0..count {
        if batch % 7 == 6 {
            simulated.iter_mut().for_each(|(_, core)| core.clear());
            fifo = specs.iter().map(|s| Published::new(*s)).collect();
            others = specs.iter().map(|s| strategy(*s)).collect();
        }
        let mut events = Vec::new();
        for _ in 0..random.below(9000) {
            if random.below(300) == 0 {
                near = [3, 6, 15, METHODS][random.below(4) as usize];
            }
            let callee = 1 + random.below(near.into()) as usize;
            let caller = 1 + random.below(near.into()) as usize;
            let form = random.below(3);
            let both = u64::from(nodes[callee]) + (u64::from(nodes[caller]) << 32);
            let event = [u64::from(nodes[callee]), both + event::CALLEE - event::RETURN, both][form as usize];
            events.push(AtomicU64::new(event));
            for (what, looked_up) in [(0, callee), (1, caller)] {
                if form == 2 || form as usize == what {
                    for (i, spec) in specs.iter().enumerate() {
                        let lookup = Lookup {
                            method: looked_up as u32,
                            code_length: lengths[looked_up],
                            cause: [Cause::Enter, Cause::Return][what],
                        };
                        let missed = match spec.kind {
                            cprof_profile::cache::CacheKind::Fifo => fifo[i].misses(looked_up as u32, lengths[looked_up]),
                            _ => others[i].lookup(lookup),
                        };
                        expected[(callee - 1) * specs.len() + i][what] += u64::from(missed);
                    }
                }
            }
        }
        for (arena, core) in &mut simulated {
            // SAFETY: the only view.
            let mut view = unsafe { View::new(arena, &reading) };
            core.run(&mut view, &events);
        }
    }
    for (arena, _) in &simulated {
        assert_eq!(found(arena, &nodes, specs), expected, "{text}");
    }
    expected.iter().flatten().sum()
}

#[test]
fn all_at_once_is_one_after_the_other() {
    let misses = compare("1k/4+4k/16+16k/64+64k/256", 9, 0x9E37_79B9_7F4A_7C15)
        + compare("1k/4+2k/8+4k/16+8k/32+16k/64+32k/128+64k/256+256k/1024", 9, 0x2545_F491_4F6C_DD1D)
        + compare("1k/1024+4k/1+lru:4k/16+lru:1k/4+4k/16", 9, 77)
        + compare("lru:4k/16", 9, 99);
    assert!(misses > 100_000, "{misses}");
}

/// Blocks of one byte, so that numbers of blocks grow fast.
#[test]
fn block_numbers_begin_anew() {
    assert!(compare("1k/1024+4k/4096", 40, 5) > 100_000);
}

#[test]
fn what_points_nowhere_is_ignored() {
    let options = Options::parse("cache=1k/4+4k/16+lru:4k/16").unwrap();
    let (arena, nodes, _) = arena(&options, &mut Random(3));
    let gate = RwLock::new(());
    let reading = gate.read().unwrap();
    let mut core = Core::new(&options.caches);
    let hit = header::HIT / abi::UNIT;
    let far = 0x7FFF_FFFE;
    let caller = u64::from(nodes[2]);
    let returned = |callee: u64, caller: u64| (callee + event::CALLEE + (caller << 32)).wrapping_sub(event::RETURN);
    let junk = abi::JUNK / abi::UNIT;
    let events = [
        far,
        hit,
        junk,
        returned(far, far),
        returned(nodes[1].into(), far),
        returned(0, far),
        returned(nodes[1].into(), 0),
        u64::MAX,
        far << 32 | far,
        caller << 32 | far,
    ];
    // SAFETY: the only view.
    let mut view = unsafe { View::new(&arena, &reading) };
    core.run(&mut view, &events.map(AtomicU64::new));
    let misses: u64 = found(&arena, &nodes, &options.caches).iter().flatten().sum();
    assert_eq!(misses, 0, "the only method that was looked up was charged to no node");
    assert_eq!(cprof_profile::recording::Memory::u32(&arena, header::HIT), Some(kind::RECORD));
    let number = node::RECORD + u64::from(nodes[2]) * abi::UNIT;
    assert_ne!(cprof_profile::recording::Memory::u32(&arena, number), Some(0), "it was looked up");
}
