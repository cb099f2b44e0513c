//! Which node of a capture is at which place of the arena: a bit for each place, and for each 64 places the number of the first
//! node there. Nodes there follow one another in a capture, so that the others' numbers are counted off the bits. It takes
//! less than a 40th of the arena's size, where a hash table took a fifth and most of the time.

use cprof_instrument::abi::{self, departure};

/// Places in a word.
const PLACES: usize = u64::BITS as usize;

/// Node numbers by reference.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    bits: Vec<u64>,
    /// Per word, the number of its first node.
    first: Vec<u32>,
    /// The word of the last node.
    last: usize,
}

impl Places {
    /// Room for an arena of this many bytes.
    pub(super) fn new(bytes: u64) -> Places {
        let words = bytes.div_ceil(PLACES as u64 * abi::UNIT) as usize;
        Places { bits: vec![0; words], first: vec![0; words], last: 0 }
    }

    /// Notes the next node, whose number is the last one's and one more. Where chunks of several trees share a word, as in a damaged
    /// arena only, the later ones' nodes are not found again.
    pub(super) fn insert(&mut self, reference: u32, node: u32) {
        let (word, bit) = (reference as usize / PLACES, reference as usize % PLACES);
        let Some(bits) = self.bits.get_mut(word) else {
            self.last = usize::MAX;
            return;
        };
        if *bits == 0 {
            self.first[word] = node;
        } else if word != self.last || *bits >> bit != 0 {
            // Nor are those behind it in that word, whose numbers are no longer one more.
            self.last = usize::MAX;
            return;
        }
        *bits |= 1 << bit;
        self.last = word;
    }

    /// The node at a place.
    pub(super) fn get(&self, reference: u32) -> Option<u32> {
        let (word, bit) = (reference as usize / PLACES, reference as usize % PLACES);
        let bits = self.bits.get(word)?;
        let before = bits & ((1 << bit) - 1);
        (bits >> bit & 1 != 0).then(|| self.first[word] + before.count_ones())
    }

    /// The references of all nodes by number; 0 for those that are not found.
    pub(super) fn references(&self, nodes: usize) -> Vec<u32> {
        let mut references = vec![0; nodes];
        for (word, &bits) in self.bits.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            let places = (0..PLACES).filter(|bit| bits >> bit & 1 != 0).map(|bit| (word * PLACES + bit) as u32);
            let numbered = references.iter_mut().skip(self.first[word] as usize);
            numbered.zip(places).for_each(|(reference, place)| *reference = place);
        }
        references
    }
}

/// Marks for the records of departures, one for as many bytes of an arena as a record takes: no two begin in these.
#[derive(Debug)]
pub(super) struct Marks(Vec<u64>);

impl Marks {
    /// Room for an arena of this many bytes.
    pub(super) fn new(bytes: u64) -> Marks {
        Marks(vec![0; bytes.div_ceil(PLACES as u64 * departure::SIZE) as usize])
    }

    /// Marks the record at a place, which may be behind what there was at first: whoever records may go on. False: there was one.
    pub(super) fn mark(&mut self, reference: u32) -> bool {
        let record = (u64::from(reference) * abi::UNIT / departure::SIZE) as usize;
        let (word, bit) = (record / PLACES, 1 << (record % PLACES));
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
    use cprof_instrument::abi::{self, departure};

    #[test]
    fn a_record_is_marked_once() {
        let mut marks = Marks::new(64 * departure::SIZE + 1);
        let size = (departure::SIZE / abi::UNIT) as u32;
        let places = [0, 63, 64, 0, 64, 128].map(|record| record * size);
        assert_eq!(places.map(|place| marks.mark(place)), [true, true, true, false, false, true]);
        // Records lie anywhere; but none within another, save in a damaged arena.
        let mut marks = Marks::new(0);
        assert_eq!([1, 1 + size, 1 + 2 * size, 2].map(|place| marks.mark(place)), [true, true, true, false]);
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
            assert_eq!(places.get(reference), expected, "{reference}");
        }
        assert_eq!(places.references(at.len()), at);
    }

    #[test]
    fn a_word_is_one_chunks() {
        let mut places = Places::new(abi::CHUNK_ALIGN);
        // The second and the last begin, damaged, in the word of another chunk: before its nodes, and behind them after others.
        for (node, reference) in [10, 11, 5, 15, 70, 20].into_iter().enumerate() {
            places.insert(reference, node as u32);
        }
        assert_eq!([10, 11, 5, 15, 70, 20].map(|r| places.get(r)), [Some(0), Some(1), None, None, Some(4), None]);
        assert_eq!(places.references(6), [10, 11, 0, 0, 70, 0]);
    }
}
