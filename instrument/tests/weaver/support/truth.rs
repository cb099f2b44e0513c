//! What really happens: the calling context tree of an unwoven run, instruction by instruction.

use std::collections::BTreeMap;

use super::interpreter::{Observer, Value};

/// A method in a calling context.
#[derive(Debug, Default)]
pub struct Node {
    /// Method, and bytecode index of the call in the caller plus 1 (0: merged, or called from outside).
    pub key: (usize, usize),
    pub children: BTreeMap<(usize, usize), usize>,
    pub calls: u64,
    pub exceptional_exits: u64,
    /// Executions by bytecode index.
    pub executed: BTreeMap<usize, u64>,
}

/// Observes an unwoven program. Node 0 is the root.
#[derive(Debug)]
pub struct Truth {
    pub nodes: Vec<Node>,
    stack: Vec<usize>,
    sites: bool,
    /// Instructions so far.
    pub instructions: usize,
    /// The program is stopped before the instruction of this number.
    stop_at: usize,
    pub events: Vec<(&'static str, usize, usize)>,
}

impl Truth {
    pub fn new(sites: bool, stop_at: usize) -> Self {
        Self { nodes: vec![Node::default()], stack: vec![0], sites, instructions: 0, stop_at, events: Vec::new() }
    }

    /// The innermost frame stands at this instruction, too.
    pub fn stands_at(&mut self, position: usize) {
        *self.top().executed.entry(position).or_default() += 1;
    }

    fn top(&mut self) -> &mut Node {
        let top = *self.stack.last().expect("the root at least");
        &mut self.nodes[top]
    }
}

impl Observer for Truth {
    fn enter(&mut self, method: usize, site: Option<usize>) {
        let key = (method, if self.sites { site.map_or(0, |s| s + 1) } else { 0 });
        let fresh = self.nodes.len();
        let child = *self.top().children.entry(key).or_insert(fresh);
        if child == fresh {
            self.nodes.push(Node { key, ..Node::default() });
        }
        self.nodes[child].calls += 1;
        self.stack.push(child);
    }

    fn execute(&mut self, _: usize, position: usize) -> bool {
        self.stands_at(position);
        self.instructions += 1;
        self.instructions <= self.stop_at
    }

    fn event(&mut self, what: &'static str, method: usize, position: usize) {
        self.events.push((what, method, position));
    }

    fn leave(&mut self, by_exception: bool) {
        self.top().exceptional_exits += u64::from(by_exception);
        self.stack.pop();
    }

    fn runtime(&mut self, name: &str, _: &[Value]) -> Option<i64> {
        panic!("a program that is not woven calls {name}")
    }
}
