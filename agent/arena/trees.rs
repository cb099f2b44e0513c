//! The trees, and who has them.

use super::Arena;
use cprof_instrument::abi::{self, header, lessees};
use cprof_profile::recording::Memory;

impl Arena {
    /// The numbers of trees that are leased, and had a virtual thread once or have one now. The second answer: all such threads
    /// are listed ([`abi::VIRTUALS`]).
    pub fn leased_to_virtual(&self) -> (Vec<u32>, bool) {
        const LEASED_TO_VIRTUAL: u32 = lessees::LEASED | lessees::VIRTUAL_THREADS;
        let (mut numbers, mut all) = (Vec::new(), true);
        for root in self.trees().filter(|&root| self.lessees(root) & LEASED_TO_VIRTUAL == LEASED_TO_VIRTUAL) {
            all &= self.lessees(root) & lessees::UNLISTED == 0;
            numbers.extend(Memory::u32(self, root + abi::root::NUMBER));
        }
        (numbers, all)
    }

    /// The trees that no thread has: the address of the root, and of where the log of the last thread ends.
    pub fn returned_logs(&self) -> impl Iterator<Item = (u64, u64)> {
        let returned = self.trees().filter(|&root| self.lessees(root) & lessees::LEASED == 0);
        returned.filter_map(|root| Some((self.base() + root, Memory::u64(self, root + abi::root::CACHE)?)))
    }

    /// Where the roots of all trees are.
    fn trees(&self) -> impl Iterator<Item = u64> {
        let at = |root: u32| u64::from(root) * abi::UNIT;
        let first = Memory::u32(self, header::TREES);
        let all = std::iter::successors(first, move |&root| Memory::u32(self, at(root) + abi::root::NEXT));
        let count = Memory::u32(self, header::TREE_COUNT).unwrap_or(0);
        all.take_while(|&root| root != 0).take(count as usize).map(at)
    }

    /// Bits of [`lessees`].
    fn lessees(&self, root: u64) -> u32 {
        Memory::u32(self, root + abi::root::FLAGS).unwrap_or(0)
    }
}
