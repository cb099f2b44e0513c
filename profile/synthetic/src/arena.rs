//! An arena written as the Java runtime writes it.

use cprof_instrument::abi::{self, header, kind, node, root};

/// An arena (`cprof_instrument::abi`). Positions are bytes from its beginning, references are in units.
pub struct Arena {
    bytes: Vec<u8>,
    open: Vec<Open>,
}

/// A tree's chunk that has room.
struct Open {
    tree: u32,
    next: u64,
    end: u64,
}

/// Bytes of a chunk.
pub const CHUNK: u64 = 4096;

impl Default for Arena {
    fn default() -> Arena {
        Arena::new()
    }
}

impl Arena {
    /// Without methods and trees.
    pub fn new() -> Arena {
        let mut arena = Arena { bytes: vec![0; abi::CHUNKS as usize], open: vec![] };
        arena.put(header::MAGIC, abi::MAGIC);
        arena.put(header::VERSION, abi::LAYOUT_VERSION);
        arena.put(header::METHOD_COUNT, abi::FIRST_METHOD);
        arena.set_top();
        arena
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes a u32.
    pub fn put(&mut self, at: u64, value: u32) {
        self.bytes[at as usize..at as usize + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Reads a u32.
    pub fn get(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.bytes[at as usize..at as usize + 4].try_into().unwrap())
    }

    /// Writes a u64.
    pub fn put64(&mut self, at: u64, value: u64) {
        self.bytes[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn set_top(&mut self) {
        self.put64(header::TOP, self.bytes.len() as u64);
    }

    /// Enters a method in the table.
    pub fn method(&mut self, id: u32, counters: u16, leaf: bool) {
        let entry = u32::from(counters) | if leaf { abi::METHOD_LEAF } else { 0 };
        self.put(abi::METHODS + abi::METHOD_ENTRY * u64::from(id), entry);
        self.put(header::METHOD_COUNT, id + 1);
    }

    fn chunk(&mut self, tree: Option<u32>, size: u64) -> u32 {
        let at = self.bytes.len() as u64;
        self.bytes.resize((at + size) as usize, 0);
        let tree = tree.unwrap_or(((at + 16) / abi::UNIT) as u32);
        self.put(at, kind::CHUNK);
        self.put(at + 4, tree);
        self.put64(at + 8, size);
        self.set_top();
        self.open.retain(|o| o.tree != tree);
        self.open.push(Open { tree, next: at + 16, end: at + size });
        tree
    }

    fn object(&mut self, tree: u32, size: u64) -> u64 {
        let size = size.next_multiple_of(8);
        let fits = |o: &Open| o.tree == tree && o.next + size <= o.end;
        if !self.open.iter().any(fits) {
            self.chunk(Some(tree), (size + 16).next_multiple_of(abi::CHUNK_ALIGN));
        }
        let open = self.open.iter_mut().find(|o| fits(o)).unwrap();
        open.next += size;
        open.next - size
    }

    /// A tree in a chunk of its own, with `root::FLAGS`; answers its reference.
    pub fn tree(&mut self, name: &str, flags: u32, leases: u32) -> u32 {
        let tree = self.chunk(None, CHUNK);
        let at = self.object(tree, root::SIZE);
        let label = self.object(tree, 16 + name.len() as u64);
        self.put(label, kind::LABEL);
        self.put(label + 4, name.len() as u32);
        self.bytes[label as usize + 16..][..name.len()].copy_from_slice(name.as_bytes());
        self.put(at + root::NEXT, self.get(header::TREES));
        self.put(at + root::LABEL, (label / abi::UNIT) as u32);
        self.put(at + root::FLAGS, flags);
        self.put(at + root::LEASES, leases);
        self.put(at, kind::ROOT);
        self.put(header::TREES, tree);
        self.put(header::TREE_COUNT, self.get(header::TREE_COUNT) + 1);
        tree
    }

    /// A context below another; answers its reference.
    pub fn node(&mut self, tree: u32, parent: u32, method: u32, site: u32, counters: &[u64]) -> u32 {
        let entry = self.get(abi::METHODS + abi::METHOD_ENTRY * u64::from(method));
        assert_eq!(entry & 0x3FFF, counters.len() as u32, "counters of method {method}");
        let leaf = entry & abi::METHOD_LEAF != 0;
        let at = self.object(tree, abi::node_size(counters.len() as u16, leaf, 0));
        let first = at + if leaf { node::LEAF_COUNTERS } else { node::COUNTERS };
        for (i, &counter) in counters.iter().enumerate() {
            self.put64(first + 8 * i as u64, counter);
        }
        self.link(at, parent, method, site)
    }

    fn link(&mut self, at: u64, parent: u32, what: u32, site: u32) -> u32 {
        self.put(at + node::SITE, site);
        self.put(at + node::PARENT, parent);
        self.put(at + node::METHOD, what);
        (at / abi::UNIT) as u32
    }

    /// The tree's OVERFLOW or OUTSIDE node.
    pub fn marker(&mut self, tree: u32, what: u32) -> u32 {
        let at = self.object(tree, node::COUNTERS);
        let reference = self.link(at, tree, what, 0);
        let field = if what == kind::OVERFLOW { root::OVERFLOW } else { root::OUTSIDE };
        self.put(u64::from(tree) * abi::UNIT + field, reference);
        reference
    }

    /// Exceptions raised at a place (`kind::DEPARTURE`) in a context.
    pub fn departure(&mut self, tree: u32, node: u32, place: u32, count: u64) {
        let at = self.object(tree, 24);
        let head = u64::from(node) * abi::UNIT + node::DEPARTURES;
        self.put(at + 4, place);
        self.put(at + 8, self.get(head));
        self.put64(at + 16, count);
        self.put(at, kind::DEPARTURE);
        self.put(head, (at / abi::UNIT) as u32);
    }

    /// Adds to a counter of a context.
    pub fn add(&mut self, node: u32, leaf: bool, counter: u64, amount: u64) {
        let at = u64::from(node) * abi::UNIT + if leaf { node::LEAF_COUNTERS } else { node::COUNTERS } + 8 * counter;
        let old = u64::from_le_bytes(self.bytes[at as usize..at as usize + 8].try_into().unwrap());
        self.put64(at, old + amount);
    }
}
