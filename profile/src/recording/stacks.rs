//! Frames that were active when the trees were captured.
//!
//! Each frame executed its last block in part only, which the flow equations must know. Its context is found by the
//! rules by which the runtime chose it.

use super::capture::{Capture, Where};
use crate::model::DepartureKind;
use cprof_instrument::abi::{flags, kind};
use rustc_hash::{FxHashMap, FxHashSet};

/// A thread's active frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Reference in the arena of the root of the tree that the thread has leased.
    pub tree: u32,
    /// The frames of woven methods, outermost first.
    pub frames: Vec<Frame>,
}

/// An active frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Method id.
    pub method: u32,
    /// Bytecode index in the original code.
    pub bci: u32,
}

/// Adds a departure for each frame.
pub(super) fn place(capture: &mut Capture, stacks: &[Stack]) {
    let methods: FxHashSet<u32> = stacks.iter().flat_map(|s| &s.frames).map(|f| f.method).collect();
    if methods.is_empty() {
        return;
    }
    let mut children: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
    for (i, what) in capture.what.iter().enumerate() {
        if methods.contains(what) {
            let site = capture.site.get(i).copied().unwrap_or(0);
            children.insert((capture.parent[i], *what, site), i as u32);
        }
    }
    let mut departures = Vec::new();
    let mut unplaced = 0;
    for stack in stacks {
        let Some(tree) = capture.trees.iter().find(|t| t.reference == stack.tree) else {
            unplaced += stack.frames.len();
            continue;
        };
        let find = |reference: u32| capture.node_at(reference);
        let walk = Walk {
            capture,
            children: &children,
            root: tree.first_node,
            overflow: find(tree.overflow),
            outside: find(tree.outside),
        };
        let mut p = walk.root;
        let mut bci = None;
        for frame in &stack.frames {
            let site = if capture.flags & flags::SITES == 0 { 0 } else { bci.map_or(0, |b: u32| b + 1) };
            match walk.step(p, frame.method, site) {
                Some(node) => {
                    let place = Where { bci: frame.bci, kind: DepartureKind::Active };
                    departures.push((node, place, 1));
                    (p, bci) = (node, Some(frame.bci));
                }
                // Entered before counting began: neither it nor its callers have a context, and nothing of it was counted.
                None if p == walk.root => {}
                None => unplaced += 1,
            }
        }
    }
    capture.departures.extend(departures);
    if unplaced > 0 {
        capture.warnings.push(format!("{unplaced} active frames have no context; their blocks count whole"));
    }
}

struct Walk<'a> {
    capture: &'a Capture,
    children: &'a FxHashMap<(u32, u32, u32), u32>,
    root: u32,
    overflow: Option<u32>,
    outside: Option<u32>,
}

impl Walk<'_> {
    fn child(&self, parent: u32, method: u32, site: u32) -> Option<u32> {
        self.children.get(&(parent, method, site)).copied()
    }

    /// A child of one of the marker nodes, whose children have the site of the call or none.
    fn marked(&self, marker: Option<u32>, method: u32, site: u32) -> Option<u32> {
        self.child(marker?, method, site).or_else(|| self.child(marker?, method, 0))
    }

    fn ancestors(&self, from: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = Some(from).filter(|&n| n != self.root);
        std::iter::from_fn(move || {
            let node = next?;
            next = Some(self.capture.parent[node as usize]).filter(|&n| n != self.root);
            Some(node)
        })
    }

    /// The context of `method` called from context `p`.
    fn step(&self, p: u32, method: u32, site: u32) -> Option<u32> {
        let mut p = p;
        let outside = |n: u32| self.capture.what[n as usize] == kind::OUTSIDE;
        if self.capture.flags & flags::ROOTS != 0 && (p == self.root || self.ancestors(p).any(outside)) {
            // Only methods named by root= are children of the tree's root.
            match self.marked(Some(self.root), method, site) {
                Some(_) => p = self.root,
                None => {
                    let found = self.marked(self.outside, method, site);
                    return found.or_else(|| self.marked(self.overflow, method, site));
                }
            }
        }
        if self.capture.flags & flags::FOLD != 0
            && let Some(same) = self.ancestors(p).find(|&n| self.capture.what[n as usize] == method)
        {
            return Some(same);
        }
        if self.capture.depth != 0 && self.ancestors(p).count() as u64 == u64::from(self.capture.depth) + 1 {
            p = self.capture.parent[p as usize];
        }
        let child = self.child(p, method, site).or_else(|| if p == self.root { self.child(p, method, 0) } else { None });
        child.or_else(|| self.marked(self.overflow, method, site))
    }
}
