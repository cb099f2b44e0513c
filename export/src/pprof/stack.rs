//! The callers of a context, encoded.

use prost::encoding::encode_varint;

/// Numbers as varints, the last pushed first: as samples have their locations. So a sample copies what its callers have in
/// common.
#[derive(Default)]
pub(super) struct Stack {
    /// What is in use is at the end.
    bytes: Vec<u8>,
    start: usize,
    /// The length of each number.
    lengths: Vec<u8>,
}

impl Stack {
    pub(super) fn push(&mut self, number: u64) {
        let mut encoded = Vec::with_capacity(10);
        encode_varint(number, &mut encoded);
        if self.start < encoded.len() {
            let more = self.bytes.len().max(64);
            self.bytes.splice(0..0, std::iter::repeat_n(0, more));
            self.start += more;
        }
        self.start -= encoded.len();
        self.bytes[self.start..][..encoded.len()].copy_from_slice(&encoded);
        self.lengths.push(encoded.len() as u8);
    }

    pub(super) fn pop(&mut self) {
        self.start += usize::from(self.lengths.pop().unwrap_or(0));
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::encoding::decode_varint;

    #[test]
    fn the_last_is_first() {
        let mut stack = Stack::default();
        let read = |stack: &Stack| {
            let mut bytes = stack.bytes();
            std::iter::from_fn(|| (!bytes.is_empty()).then(|| decode_varint(&mut bytes).unwrap())).collect::<Vec<_>>()
        };
        let numbers: Vec<u64> = (0..1000).map(|n| n * n * n * 1_000_003).collect();
        for (i, number) in numbers.iter().enumerate() {
            stack.push(*number);
            assert_eq!(read(&stack), numbers[..=i].iter().rev().copied().collect::<Vec<_>>());
        }
        for i in (0..numbers.len()).rev() {
            stack.pop();
            assert_eq!(read(&stack), numbers[..i].iter().rev().copied().collect::<Vec<_>>());
        }
        stack.push(7);
        assert_eq!(read(&stack), [7]);
    }
}
