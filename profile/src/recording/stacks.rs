//! Frames that were active when the trees were captured.
//!
//! Each frame executed its last block in part only, which the flow equations must know. Its context is found by the
//! rules by which the runtime chose it.

use super::capture::{Capture, CapturedTree, Where};
use super::memory::Memory;
use crate::model::DepartureKind;
use crate::names::counted;
use cprof_instrument::abi::{self, MethodEntry, flags};
use rustc_hash::FxHashMap;

/// A thread's active frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Reference in the arena of the root of the tree that the thread has leased.
    pub tree: u32,
    /// Reference of the node that was the thread's current one, a tree's root when it had none; `None` when it is not known.
    pub current: Option<u32>,
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
pub(super) fn place(capture: &mut Capture, mem: &dyn Memory, stacks: &[Stack]) {
    let methods = || stacks.iter().flat_map(|s| &s.frames).map(|f| f.method);
    let Some(highest) = methods().max() else { return };
    // There may be millions of contexts: a look at a list for each, and no search.
    let mut is_active = vec![false; highest as usize + 1];
    methods().for_each(|method| is_active[method as usize] = true);
    let mut children: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
    for (i, what) in capture.what.iter().enumerate() {
        if is_active.get(*what as usize).is_some_and(|&active| active) {
            let site = capture.site.get(i).copied().unwrap_or(0);
            children.insert((capture.parent[i], *what, site), i as u32);
        }
    }
    // Each of a million virtual threads may have a tree, and they stand still meanwhile.
    let trees: FxHashMap<u32, &CapturedTree> = capture.trees.iter().map(|tree| (tree.reference, tree)).collect();
    let mut departures = Vec::new();
    let mut unplaced = 0;
    for stack in stacks {
        let Some(tree) = trees.get(&stack.tree) else {
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
        let current = stack.current.and_then(find);
        let (path, lost) = match current.and_then(|current| walk.path_to(current, &stack.frames, mem)) {
            Some(path) => (path, 0),
            None => {
                // From the root they do not lead there: if that places no more frames than another way, it is wrong.
                let outwards = current.map(|current| walk.outwards(current, &stack.frames, mem));
                let displaced = current.and_then(|current| walk.displaced(current, &stack.frames, mem));
                let ways = [outwards, displaced].into_iter().flatten();
                ways.fold(walk.path(&stack.frames), |best, way| if way.0.len() >= best.0.len() { way } else { best })
            }
        };
        unplaced += lost;
        departures.extend(path.into_iter().map(|(node, bci)| (node, Where { bci, kind: DepartureKind::Active }, 1)));
    }
    capture.departures.extend(departures);
    if unplaced > 0 {
        let frames = counted(unplaced as u64, "frame was active and has", "frames were active and have");
        capture.warnings.push(format!(
            "{frames} no context (those of methods that another agent, or JFR, has changed have none): each of their blocks may count \
             once too often or too rarely"
        ));
    }
}

struct Walk<'a> {
    capture: &'a Capture,
    children: &'a FxHashMap<(u32, u32, u32), u32>,
    root: u32,
    overflow: Option<u32>,
    outside: Option<u32>,
}

/// Contexts of frames, each with the frame's bytecode index.
type Path = Vec<(u32, u32)>;

impl Walk<'_> {
    /// The contexts of the counted ones of these frames, when the last of them is in `current`. `None` where they do not lead
    /// there.
    ///
    /// Frames that were entered while counting was off have no context, even if other threads have been in one of the same name.
    fn path_to(&self, current: u32, frames: &[Frame], mem: &dyn Memory) -> Option<Path> {
        /// So many of the outermost frames may be without a context where the tree's depth does not say how many are.
        const TRIED: usize = 64;
        let leaf = frames.last().is_some_and(|f| is_leaf(mem, f.method));
        let depth = self.ancestors(current).count();
        // As many as can be: where contexts are not those of all callers (`depth=`, `recursion=fold`, want of room), fewer lead
        // there as well, and where they are, no other number does.
        let tries = |end: usize| (0..=end.min(TRIED)).chain(end.checked_sub(depth));
        let published = || tries(frames.len()).find_map(|from| self.published(self.root, current, &frames[from..]));
        let unpublished = || {
            let callers = frames.len().checked_sub(1)?;
            tries(callers).find_map(|from| self.unpublished(self.root, current, &frames[from..]))
        };
        if leaf { unpublished().or_else(published) } else { published().or_else(unpublished) }
    }

    /// The contexts of frames of which the first was called from context `base`, if the last of them is in `current`.
    fn published(&self, base: u32, current: u32, frames: &[Frame]) -> Option<Path> {
        let mut path = Path::with_capacity(frames.len());
        let mut p = base;
        for frame in frames {
            p = self.step(p, frame.method, self.site(path.last().map(|&(_, bci)| bci)))?;
            path.push((p, frame.bci));
        }
        (p == current).then_some(path)
    }

    /// As [`Walk::published`], if all but the last lead there: a leaf method leaves its caller's node as it is, and so has, on
    /// its way out, one that is not.
    fn unpublished(&self, base: u32, current: u32, frames: &[Frame]) -> Option<Path> {
        let (last, callers) = frames.split_last()?;
        let mut path = self.published(base, current, callers)?;
        let node = self.step(current, last.method, self.site(callers.last().map(|caller| caller.bci)))?;
        path.push((node, last.bci));
        Some(path)
    }

    /// The contexts of frames as far as they have one, and how many have none though their callers do.
    fn path(&self, frames: &[Frame]) -> (Path, usize) {
        let (mut path, mut lost) = (Path::new(), 0);
        for frame in frames {
            let (p, bci) = path.last().map_or((self.root, None), |&(node, bci)| (node, Some(bci)));
            match self.step(p, frame.method, self.site(bci)) {
                Some(node) => path.push((node, frame.bci)),
                // Entered before counting began: neither it nor its callers have a context, and nothing of it was counted.
                None if p == self.root => {}
                None => lost += 1,
            }
        }
        (path, lost)
    }

    /// As [`Walk::path`], of frames that were called below another context than their caller's, one above the current. So it is
    /// after a constructor has failed inside `super(...)`, if what is not woven caught the exception.
    fn displaced(&self, current: u32, frames: &[Frame], mem: &dyn Memory) -> Option<(Path, usize)> {
        /// How far that context is looked for, and the first of those frames: as far out as can be.
        const TRIED: usize = 64;
        // Where contexts are those of all callers, they are found outwards.
        if self.capture.depth == 0 && self.capture.flags & flags::FOLD == 0 {
            return None;
        }
        let leaf = frames.last().is_some_and(|f| is_leaf(mem, f.method));
        let above: Vec<u32> = self.ancestors(current).take(TRIED).collect();
        (0..frames.len().min(TRIED)).find_map(|from| {
            let (before, rest) = frames.split_at(from);
            let published = |base| self.published(base, current, rest);
            let unpublished = |base| self.unpublished(base, current, rest);
            let below = |&base: &u32| match leaf {
                true => unpublished(base).or_else(|| published(base)),
                false => published(base).or_else(|| unpublished(base)),
            };
            let below = above.iter().rev().find_map(below)?;
            let (mut path, lost) = self.path(before);
            path.extend(below);
            Some((path, lost))
        })
    }

    /// As [`Walk::path`], from the thread's current context outwards: what is called from a frame without a context has one all
    /// the same. Such is the frame of a method that another agent has redefined since it was entered, which is not among the
    /// frames, or that of a class whose name another one has in the class log by now. Where contexts are not those of all callers
    /// (`depth=`, `recursion=fold`), that leads nowhere, and few frames are placed. The context of a constructor may be that of a
    /// call that has failed ([`Walk::displaced`]), of which there is no frame.
    fn outwards(&self, current: u32, frames: &[Frame], mem: &dyn Memory) -> (Path, usize) {
        let mut contexts: Vec<u32> = self.ancestors(current).collect();
        contexts.reverse();
        let what = |context: u32| self.capture.what[context as usize];
        let mut left: FxHashMap<u32, usize> = FxHashMap::default();
        contexts.iter().for_each(|&context| *left.entry(what(context)).or_insert(0) += 1);
        let mut path = Path::new();
        let mut rest = frames;
        if let Some((last, callers)) = frames.split_last().filter(|(last, _)| is_leaf(mem, last.method))
            && let Some(node) = self.step(current, last.method, self.site(callers.last().map(|caller| caller.bci)))
        {
            path.push((node, last.bci));
            rest = callers;
        }
        // Frames without a context and contexts without a frame since the last that has both, and before.
        let (mut frameless, mut contextless, mut lost) = (0, 0, 0);
        for frame in rest.iter().rev() {
            if left.get(&frame.method).is_none_or(|&count| count == 0) {
                contextless += 1;
                continue;
            }
            while let Some(context) = contexts.pop() {
                *left.entry(what(context)).or_insert(1) -= 1;
                if what(context) == frame.method {
                    path.push((context, frame.bci));
                    break;
                }
                frameless += usize::from(!is_constructor(mem, what(context)));
            }
            lost += usize::max(frameless, contextless);
            (frameless, contextless) = (0, 0);
        }
        // Outermost frames without a context may have been entered before counting began.
        lost += contexts.iter().filter(|&&context| !is_constructor(mem, what(context))).count();
        path.reverse();
        (path, lost)
    }

    /// The call site of a call from a frame at this bytecode index.
    fn site(&self, bci: Option<u32>) -> u32 {
        if self.capture.flags & flags::SITES == 0 { 0 } else { bci.map_or(0, |bci| bci + 1) }
    }

    fn child(&self, parent: u32, method: u32, site: u32) -> Option<u32> {
        self.children.get(&(parent, method, site)).copied()
    }

    /// A child of the node of what was folded for want of room, whose children have the site of the call or none.
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
        let (mut p, mut site) = (p, site);
        // What runs outside of the roots has one context for each method, all below the marker.
        let is_outside = |p: u32| Some(self.capture.parent[p as usize]) == self.outside;
        if self.capture.flags & flags::ROOTS != 0 && (p == self.root || is_outside(p)) {
            // Only methods named by root= are children of the tree's root. Out there call sites are not distinguished.
            site = 0;
            match self.child(self.root, method, site) {
                Some(_) => p = self.root,
                None => {
                    let found = self.outside.and_then(|outside| self.child(outside, method, site));
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
            // It is where that one called, too.
            site = self.capture.site.get(p as usize).copied().unwrap_or(0);
            p = self.capture.parent[p as usize];
        }
        // The first of a thread has no site, and with `recursion=fold` one that is not known.
        let child = self.child(p, method, site).or_else(|| self.child(p, method, 0));
        child.or_else(|| self.marked(self.overflow, method, site))
    }
}

/// Whether a method's frames have a node that is nobody's current one.
fn is_leaf(mem: &dyn Memory, method: u32) -> bool {
    entry(mem, method).is_some_and(|entry| entry.leaf)
}

/// Whether a method is a constructor.
fn is_constructor(mem: &dyn Memory, method: u32) -> bool {
    entry(mem, method).is_some_and(|entry| entry.class != 0)
}

/// What the method table says of a method.
fn entry(mem: &dyn Memory, method: u32) -> Option<MethodEntry> {
    let at = abi::METHODS + abi::METHOD_ENTRY * u64::from(method);
    Some(MethodEntry::of([mem.u32(at)?, mem.u32(at + 4)?]))
}
