//! Contexts as columns. In a large profile there are tens of millions.

use crate::leb128;
use crate::model::Method;

/// Values of [`Nodes::method`] that are no method.
pub mod special {
    /// The root of a thread's tree; its parent is itself.
    pub const ROOT: u32 = u32::MAX;
    /// Parent of contexts that were folded for want of room.
    pub const FOLDED: u32 = u32::MAX - 1;
    /// The smallest special value.
    pub const FIRST: u32 = FOLDED;
}

/// Contexts as columns. A parent stands before its children.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nodes {
    /// Index in [`Profile::methods`](crate::model::Profile::methods), or [`special`].
    pub method: Vec<u32>,
    /// Index of the parent.
    pub parent: Vec<u32>,
    /// Call site in the parent: bci + 1, 0 unknown. Empty when call sites were not distinguished.
    pub site: Vec<u32>,
    /// The counters of all nodes.
    pub counters: Counters,
}

impl Nodes {
    /// Number of contexts.
    pub fn len(&self) -> usize {
        self.method.len()
    }

    /// No contexts at all.
    pub fn is_empty(&self) -> bool {
        self.method.is_empty()
    }

    /// Their counters.
    pub fn rows(&self) -> Rows<'_> {
        Rows { nodes: self, next: 0, rest: &self.counters.bytes, row: Vec::new() }
    }

    /// A node's call site, 0 when unknown.
    pub fn site_of(&self, node: usize) -> u32 {
        self.site.get(node).copied().unwrap_or(0)
    }
}

/// A row of counters for each node, packed as the file has them: most are small. How many a row has is its method's number.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// In LEB128, one row after the other.
    bytes: Vec<u8>,
    /// Number of counters, by method.
    lengths: Vec<u16>,
    /// Where the rows of every [`STEP`]th node begin; may be missing from some node on, which are then reached step by step.
    index: Vec<usize>,
}

/// Nodes between two whose place is known.
const STEP: usize = 64;

/// Why bytes are not the packed numbers that they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotPacked {
    /// They end too early, or a number is above 64 bits.
    Short,
    /// There are more.
    Long,
}

impl Counters {
    /// Counters that are known to be right, of nodes that are read from front to back.
    pub(crate) fn packed(bytes: Vec<u8>, methods: &[Method]) -> Counters {
        Counters { bytes, lengths: methods.iter().map(|m| m.flow.counters).collect(), index: Vec::new() }
    }

    /// As [`Counters::packed`], of numbers: those of the first node, of the second, and so on.
    pub(crate) fn in_rows(numbers: impl Iterator<Item = u64>, methods: &[Method]) -> Counters {
        let mut bytes = Vec::new();
        numbers.for_each(|number| leb128::put(number, &mut bytes));
        Counters::packed(bytes, methods)
    }

    /// Counters from anywhere, of nodes with these methods (which exist).
    ///
    /// # Errors
    /// When they are not exactly as many as the nodes have.
    pub fn new(bytes: Vec<u8>, methods: &[Method], of_nodes: &[u32]) -> Result<Counters, NotPacked> {
        let mut counters = Counters::packed(bytes, methods);
        let mut rest = &counters.bytes[..];
        let mut index = Vec::with_capacity(of_nodes.len() / STEP + 1);
        for (node, &method) in of_nodes.iter().enumerate() {
            if node % STEP == 0 {
                index.push(counters.bytes.len() - rest.len());
            }
            for _ in 0..counters.length(method) {
                leb128::get(&mut rest).ok_or(NotPacked::Short)?;
            }
        }
        if !rest.is_empty() {
            return Err(NotPacked::Long);
        }
        counters.index = index;
        Ok(counters)
    }

    /// As [`Counters::new`], of numbers.
    ///
    /// # Errors
    /// When they are not exactly as many as the nodes have.
    pub fn pack(numbers: impl IntoIterator<Item = u64>, methods: &[Method], of_nodes: &[u32]) -> Result<Counters, NotPacked> {
        Counters::new(Counters::in_rows(numbers.into_iter(), methods).bytes, methods, of_nodes)
    }

    /// As the file has them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Special nodes have none.
    fn length(&self, method: u32) -> usize {
        self.lengths.get(method as usize).map_or(0, |&length| length.into())
    }
}

impl PartialEq for Counters {
    fn eq(&self, other: &Counters) -> bool {
        (&self.bytes, &self.lengths) == (&other.bytes, &other.lengths)
    }
}

/// The counters of nodes, which are best asked for in rising order.
pub struct Rows<'n> {
    nodes: &'n Nodes,
    /// The node behind the one in `row`, and the bytes from its row on.
    next: usize,
    rest: &'n [u8],
    row: Vec<u64>,
}

impl Rows<'_> {
    /// A node's counters.
    pub fn of(&mut self, node: usize) -> &[u64] {
        let Nodes { method, counters, .. } = self.nodes;
        if self.next == 0 || node != self.next - 1 {
            let known = counters.index.get(..=node / STEP).map_or(0, |index| (index.len() - 1) * STEP);
            if node < self.next || self.next < known {
                self.next = known;
                self.rest = &counters.bytes[counters.index.get(known / STEP).copied().unwrap_or(0)..];
            }
            for &method in &method[self.next..node] {
                self.rest = &self.rest[leb128::length(self.rest, counters.length(method))..];
            }
            self.row.clear();
            // Counters were checked when they came from outside.
            self.row.extend((0..counters.length(method[node])).map_while(|_| leb128::get(&mut self.rest)));
            self.next = node + 1;
        }
        &self.row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Flow;
    use crate::model::Level;

    fn nodes(indexed: bool) -> (Nodes, Vec<Vec<u64>>) {
        let method = |counters| Method {
            class: 0,
            index: 0,
            name: String::new(),
            descriptor: String::new(),
            access: 0,
            level: Level::Precise,
            flow: Flow { counters, ..Flow::default() },
        };
        let methods = [0, 1, 5].map(method);
        let of_nodes: Vec<u32> = (0..1000u32).map(|i| if i % 7 == 0 { special::FOLDED } else { i * i % 3 }).collect();
        let rows: Vec<Vec<u64>> = of_nodes
            .iter()
            .enumerate()
            .map(|(i, &m)| (0..methods.get(m as usize).map_or(0, |m| m.flow.counters)).map(|c| (i as u64) << (9 * c)).collect())
            .collect();
        let mut counters = Counters::pack(rows.concat(), &methods, &of_nodes).unwrap();
        let bytes = counters.bytes().to_vec();
        assert_eq!(Counters::new(bytes[..bytes.len() - 1].to_vec(), &methods, &of_nodes), Err(NotPacked::Short));
        assert_eq!(Counters::new([&bytes[..], &[0]].concat(), &methods, &of_nodes), Err(NotPacked::Long));
        if !indexed {
            counters = Counters::packed(bytes, &methods);
        }
        (Nodes { parent: vec![0; 1000], method: of_nodes, site: Vec::new(), counters }, rows)
    }

    #[test]
    fn rows_come_in_any_order() {
        for indexed in [false, true] {
            let (nodes, expected) = nodes(indexed);
            let mut rows = nodes.rows();
            (0..1000).for_each(|node| assert_eq!(rows.of(node), expected[node]));
            for step in [1, 3, 63, 64, 65, 127, 501, 999] {
                let mut rows = nodes.rows();
                for at in 0..1000 {
                    let node = at * step % 1000;
                    assert_eq!(rows.of(node), expected[node], "node {node} in steps of {step}");
                    assert_eq!(rows.of(node), expected[node], "node {node} again");
                }
            }
        }
    }
}
