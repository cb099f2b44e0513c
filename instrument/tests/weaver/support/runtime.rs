//! The runtime class, simulated: nodes in memory, at addresses that show when they are mixed up.

use std::collections::BTreeMap;

use cprof_instrument::abi::{self, node};
use cprof_instrument::{Woven, WovenMethod};

use super::interpreter::{Observer, Value};

/// A node of the calling context tree.
#[derive(Debug, Default)]
pub struct Node {
    /// Method id; 0: the root.
    pub id: u32,
    pub parent: usize,
    /// By method id and site.
    pub children: BTreeMap<(u32, u32), usize>,
    pub counters: Vec<u64>,
    /// By `where` and whether it was caught in the method.
    pub departures: BTreeMap<(u32, bool), u64>,
    current_site: u32,
}

/// Observes a woven program, and is its runtime.
#[derive(Debug)]
pub struct Runtime {
    pub nodes: Vec<Node>,
    current: usize,
    methods: Vec<WovenMethod>,
    sites: bool,
    /// For each frame: the current node at its entry, and whether it is a constructor.
    frames: Vec<(usize, bool)>,
    constructors: Vec<bool>,
    pub events: Vec<(&'static str, usize, usize)>,
    pub ended: u64,
    rethrows: bool,
    /// The program's own instructions so far.
    instructions: usize,
    /// The program is stopped before that of its instructions that has this number.
    stop_at: usize,
}

const BASE: i64 = 0x7000_0000_0000;
const STRIDE: i64 = 1 << 20;

impl Runtime {
    /// `constructors`: by method index.
    pub fn new(woven: &Woven, constructors: Vec<bool>, sites: bool, stop_at: usize) -> Self {
        Self {
            nodes: vec![Node::default()],
            current: 0,
            methods: woven.methods.clone(),
            sites,
            frames: Vec::new(),
            constructors,
            events: Vec::new(),
            ended: 0,
            rethrows: false,
            instructions: 0,
            stop_at,
        }
    }

    fn method(&self, id: u32) -> &WovenMethod {
        self.methods.iter().find(|m| m.id == id).expect("an id that was handed out")
    }

    fn find(&mut self, parent: usize, id: i32) -> usize {
        let id = id as u32;
        let counters = self.method(id).counters.into();
        let site = if self.sites { self.nodes[parent].current_site } else { 0 };
        let fresh = self.nodes.len();
        let child = *self.nodes[parent].children.entry((id, site)).or_insert(fresh);
        if child == fresh {
            self.nodes.push(Node { id, parent, counters: vec![0; counters], ..Node::default() });
        }
        self.nodes[child].counters[0] += 1;
        child
    }

    /// The node at an address, which must be exactly such a one as `enter` or `leaf` answered.
    fn at(&self, address: i64) -> usize {
        let leaf = (address - BASE).rem_euclid(STRIDE) == STRIDE - node::LEAF_BIAS as i64;
        let address = address + if leaf { node::LEAF_BIAS as i64 } else { 0 };
        assert_eq!((address - BASE).rem_euclid(STRIDE), 0, "an address that is none");
        let node = ((address - BASE) / STRIDE) as usize;
        assert!(node < self.nodes.len(), "an address beyond the last node");
        if node > 0 {
            assert_eq!(self.method(self.nodes[node].id).leaf, leaf, "a leaf's address is biased, another's is not");
        }
        node
    }

    fn count(&mut self, node: i64, counter: usize) {
        let node = self.at(node);
        assert!(counter > 0, "counter 0 is the entry's");
        self.nodes[node].counters[counter] += 1;
    }
}

fn int(value: Value) -> i32 {
    match value {
        Value::Int(value) => value,
        other => panic!("{other:?} given to the runtime for an int"),
    }
}

fn long(values: &[Value]) -> i64 {
    match values {
        [Value::Long(value), Value::Half, ..] => *value,
        other => panic!("{other:?} given to the runtime for a long"),
    }
}

impl Observer for Runtime {
    fn enter(&mut self, method: usize, _: Option<usize>) {
        self.frames.push((self.current, self.constructors[method]));
    }

    fn execute(&mut self, method: usize, position: usize) -> bool {
        if self.methods[method].instruction_at(position as u32).is_none() {
            return true;
        }
        self.instructions += 1;
        self.instructions <= self.stop_at
    }

    fn event(&mut self, what: &'static str, method: usize, position: usize) {
        if what == "throw" && std::mem::take(&mut self.rethrows) {
            return; // the injected handler passes on what the program threw
        }
        self.events.push((what, method, position));
    }

    fn leave(&mut self, by_exception: bool) {
        let (before, constructor) = self.frames.pop().expect("a frame");
        // No handler may cover super(): what it throws leaves the constructor's node current, until a caller restores its own.
        if !(by_exception && constructor) {
            assert_eq!(self.current, before, "the caller's node is current again");
        }
    }

    fn runtime(&mut self, name: &str, a: &[Value]) -> Option<i64> {
        let fixed = name.strip_prefix("count").and_then(|n| n.parse::<usize>().ok());
        match name {
            "current" => return Some(BASE + self.current as i64 * STRIDE),
            "enter" | "enterRoot" => {
                let parent = self.at(long(a));
                assert_eq!(parent, self.current);
                self.current = self.find(parent, int(a[2]));
                return Some(BASE + self.current as i64 * STRIDE);
            }
            "leaf" | "leafRoot" => {
                let node = self.find(self.current, int(a[0]));
                return Some(BASE + node as i64 * STRIDE - node::LEAF_BIAS as i64);
            }
            "leave" => {
                let parent = self.at(long(a));
                assert_eq!(self.nodes[self.current].parent, parent, "a frame leaves its own node");
                self.current = parent;
            }
            "ret" => {
                let (node, parent) = (self.at(long(a)), self.at(long(&a[2..])));
                assert_eq!((node, self.nodes[node].parent), (self.current, parent), "a frame leaves its own node");
                self.current = parent;
            }
            "unwind" | "unwindConstructor" => {
                let (node, parent) = (self.at(long(a)), self.at(long(&a[2..])));
                assert_eq!(self.nodes[node].parent, parent);
                *self.nodes[node].departures.entry((int(a[4]) as u32 & 0xFFFF, false)).or_default() += 1;
                self.current = parent;
                self.rethrows = true;
            }
            "caught" => {
                let node = self.at(long(a));
                *self.nodes[node].departures.entry((int(a[2]) as u32 & 0xFFFF, true)).or_default() += 1;
                self.current = node;
            }
            "count" => {
                let offset = int(a[2]) as u64 - node::COUNTERS;
                assert_eq!(offset % 8, 0);
                self.count(long(a), offset as usize / 8);
            }
            "site" => {
                let node = self.at(long(a));
                self.nodes[node].current_site = int(a[2]) as u32 & 0xFFFF;
            }
            "end" => self.ended += 1,
            _ => match fixed {
                Some(counter) if counter <= abi::call::COUNT_FIXED.into() => self.count(long(a), counter),
                _ => panic!("the runtime has no {name}"),
            },
        }
        None
    }
}
