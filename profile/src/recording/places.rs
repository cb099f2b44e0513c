//! Which node of a capture is at which place of the arena: a bit for each place, and for each page of the arena the number of
//! its first node. Nodes of a page follow one another in a capture, so that the others' numbers are counted off the bits.
//! A 64th of the arena's size, where a hash table took a fifth and most of the time.

use cprof_instrument::abi;

/// Places in a page: a chunk, and so a tree, has pages to itself.
const PAGE: usize = (abi::CHUNK_ALIGN / abi::UNIT) as usize;
const WORDS: usize = PAGE / 64;

/// Node numbers by reference.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    bits: Vec<u64>,
    /// Per page, the number of its first node.
    first: Vec<u32>,
}

impl Places {
    /// Room for an arena of this many bytes.
    pub(super) fn new(bytes: u64) -> Places {
        let pages = bytes.div_ceil(abi::CHUNK_ALIGN) as usize;
        Places { bits: vec![0; WORDS * pages], first: vec![0; pages] }
    }

    /// Notes the next node. References that do not rise within a page, as only a damaged arena has them, are not found again.
    pub(super) fn insert(&mut self, reference: u32, node: u32) {
        let page = reference as usize / PAGE;
        let Some(words) = self.bits.get_mut(WORDS * page..WORDS * (page + 1)) else { return };
        if words.iter().all(|&w| w == 0) {
            self.first[page] = node;
        }
        let place = reference as usize % PAGE;
        words[place / 64] |= 1 << (place % 64);
    }

    /// The node at a place, if `at` says that it is there indeed.
    pub(super) fn get(&self, reference: u32, at: &[u32]) -> Option<u32> {
        let page = reference as usize / PAGE;
        let words = self.bits.get(WORDS * page..WORDS * (page + 1))?;
        let place = reference as usize % PAGE;
        let before = words[..place / 64].iter().map(|w| w.count_ones()).sum::<u32>();
        let node = self.first[page] + before + (words[place / 64] & ((1 << (place % 64)) - 1)).count_ones();
        (at.get(node as usize) == Some(&reference)).then_some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, Places};
    use cprof_instrument::abi;

    #[test]
    fn nodes_are_found_by_their_places_and_no_others() {
        let mut places = Places::new(10 * abi::CHUNK_ALIGN);
        // Pages in the order of a capture: one tree's after the other, whatever their order in the arena.
        let p = PAGE as u32;
        let at = [5 * p + 2, 5 * p + 70, 5 * p + 511, 6 * p, 6 * p + 63, 6 * p + 64, 2 * p + 9];
        for (node, &reference) in at.iter().enumerate() {
            places.insert(reference, node as u32);
        }
        for reference in 0..12 * p {
            let expected = at.iter().position(|&r| r == reference).map(|n| n as u32);
            assert_eq!(places.get(reference, &at), expected, "{reference}");
        }
    }
}
