//! Finding a context by its caller and what tells it from its siblings, in trees of millions.
//!
//! Most contexts have few siblings. Those are looked through one by one, which costs eight bytes a context; an entry in a hash
//! table costs five times that, and a miss of the processor's cache.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// How many callees of a caller are looked through one by one.
const NEAR: usize = 8;

/// Who calls whom in a tree that grows, from its root on. Contexts are numbers from 0, the root's, without gaps.
#[derive(Debug)]
pub struct Siblings<K> {
    /// Per context its latest callee; 0: none.
    latest: Vec<u32>,
    /// Per context the callee that its caller had before; 0: none.
    before: Vec<u32>,
    /// Callees that are not among the latest of their caller.
    far: FxHashMap<(u32, K), u32>,
}

/// What [`Siblings::place`] answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A context that is there.
    Known(u32),
    /// The number of the context that has to be made now.
    New(u32),
}

impl<K: Copy + Eq + Hash> Default for Siblings<K> {
    fn default() -> Siblings<K> {
        Siblings { latest: Vec::new(), before: Vec::new(), far: FxHashMap::default() }
    }
}

impl<K: Copy + Eq + Hash> Siblings<K> {
    /// The number for a root, which nobody calls: 0 for the first.
    pub fn root(&mut self) -> u32 {
        self.latest.push(0);
        self.before.push(0);
        self.latest.len() as u32 - 1
    }

    /// How many contexts there are.
    pub fn len(&self) -> usize {
        self.latest.len()
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.latest.is_empty()
    }

    /// Finds the callee of `caller` with this key, or takes the next number for it. `key_of` tells the keys of callees that were
    /// placed before.
    pub fn place(&mut self, caller: u32, key: K, key_of: impl Fn(u32) -> K) -> Place {
        let mut at = self.latest[caller as usize];
        for seen in 1.. {
            if at == 0 {
                break;
            }
            let other = key_of(at);
            if other == key {
                return Place::Known(at);
            }
            if seen == NEAR {
                if let Some(&far) = self.far.get(&(caller, key)) {
                    return Place::Known(far);
                }
                // The new one makes it a far one.
                self.far.insert((caller, other), at);
                break;
            }
            at = self.before[at as usize];
        }
        let new = self.root();
        self.before[new as usize] = std::mem::replace(&mut self.latest[caller as usize], new);
        Place::New(new)
    }
}

/// The callees of all contexts, caller after caller, each caller's in order; before them, where each caller's begin, and where
/// the last one's end. `contexts` begin with the root, whose caller does not matter.
pub fn callees<C>(contexts: &[C], caller_of: impl Fn(&C) -> u32) -> (Vec<u32>, Vec<u32>) {
    let n = contexts.len();
    // Counted two further than they are in the end, summed up, and moved by one as each callee takes its place.
    let mut starts = vec![0u32; n + 2];
    for context in contexts.iter().skip(1) {
        starts[caller_of(context) as usize + 2] += 1;
    }
    for i in 2..n + 2 {
        starts[i] += starts[i - 1];
    }
    let mut callees = vec![0u32; n.saturating_sub(1)];
    for (i, context) in contexts.iter().enumerate().skip(1) {
        let at = &mut starts[caller_of(context) as usize + 1];
        callees[*at as usize] = i as u32;
        *at += 1;
    }
    starts.pop();
    (starts, callees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn contexts_are_found_again_however_many_siblings_they_have() {
        let mut siblings = Siblings::default();
        assert_eq!(siblings.root(), 0);
        let mut keys = vec![0u32];
        let mut expected: HashMap<(u32, u32), u32> = HashMap::new();
        let mut state = 1u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Few callers have many callees.
            let caller = (state >> 8) % 40 % keys.len() as u32;
            let key = (state >> 16) % (1 << (caller % 10));
            let next = keys.len() as u32;
            match (siblings.place(caller, key, |at| keys[at as usize]), expected.get(&(caller, key))) {
                (Place::Known(at), Some(&known)) => assert_eq!(at, known),
                (Place::New(at), None) => {
                    assert_eq!(at, next);
                    expected.insert((caller, key), at);
                    keys.push(key);
                }
                (place, known) => panic!("{key} below {caller}: {place:?}, but {known:?}"),
            }
        }
        assert!(siblings.far.len() > 100);
        let root = siblings.root();
        assert_eq!(root, keys.len() as u32);
        keys.push(0);
        assert_eq!(siblings.place(root, 0, |at| keys[at as usize]), Place::New(root + 1));
    }

    #[test]
    fn callees_stand_behind_each_other() {
        // 0 ─ 1 ─ 3, 0 ─ 2, 1 ─ 4
        assert_eq!(callees(&[0, 0, 0, 1, 1], |&caller| caller), (vec![0, 2, 4, 4, 4, 4], vec![1, 2, 3, 4]));
        assert_eq!(callees(&[0], |&caller| caller), (vec![0, 0], vec![]));
    }
}
