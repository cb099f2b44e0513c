//! Which node of a capture is at which place of the arena: a bit for each place, and for each 64 places the number of the first
//! node there. Nodes there follow one another in a capture, so that the others' numbers are counted off the bits. It takes
//! less than a 40th of the arena's size, where a hash table took a fifth and most of the time.

use cprof_instrument::abi;

/// Places in a word.
const PLACES: usize = u64::BITS as usize;

/// Node numbers by reference.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    bits: Vec<u64>,
    /// Per word, the number of its first node.
    first: Vec<u32>,
}

impl Places {
    /// Room for an arena of this many bytes.
    pub(super) fn new(bytes: u64) -> Places {
        let words = bytes.div_ceil(PLACES as u64 * abi::UNIT) as usize;
        Places { bits: vec![0; words], first: vec![0; words] }
    }

    /// Notes the next node. Nodes whose references do not rise, as in a damaged arena only, are not found again.
    pub(super) fn insert(&mut self, reference: u32, node: u32) {
        let (word, bit) = (reference as usize / PLACES, reference as usize % PLACES);
        let Some(bits) = self.bits.get_mut(word) else { return };
        if *bits == 0 {
            self.first[word] = node;
        }
        *bits |= 1 << bit;
    }

    /// The node at a place, if `at` says that it is there indeed.
    pub(super) fn get(&self, reference: u32, at: &[u32]) -> Option<u32> {
        let (word, bit) = (reference as usize / PLACES, reference as usize % PLACES);
        let before = self.bits.get(word)? & ((1 << bit) - 1);
        let node = self.first[word] + before.count_ones();
        (at.get(node as usize) == Some(&reference)).then_some(node)
    }
}

/// A mark for each place of an arena. Pages of it that have none take no memory.
#[derive(Debug)]
pub(super) struct Marks(Vec<u64>);

impl Marks {
    /// Room for an arena of this many bytes.
    pub(super) fn new(bytes: u64) -> Marks {
        Marks(vec![0; bytes.div_ceil(PLACES as u64 * abi::UNIT) as usize])
    }

    /// Marks a place, which may be behind what there was at first: whoever records may go on. False: it was marked.
    pub(super) fn mark(&mut self, reference: u32) -> bool {
        let (word, bit) = (reference as usize / PLACES, 1 << (reference as usize % PLACES));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::{Marks, Places};
    use cprof_instrument::abi;

    #[test]
    fn a_place_is_marked_once() {
        let mut marks = Marks::new(64 * abi::UNIT + 1);
        assert_eq!([0, 63, 64, 0, 64, 128].map(|place| marks.mark(place)), [true, true, true, false, false, true]);
    }

    #[test]
    fn nodes_are_found_by_their_places_and_no_others() {
        let mut places = Places::new(10 * abi::CHUNK_ALIGN);
        // Pages in the order of a capture: one tree's after the other, whatever their order in the arena.
        let p = (abi::CHUNK_ALIGN / abi::UNIT) as u32;
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
