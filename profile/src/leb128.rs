//! Unsigned LEB128: a counter in as few bytes as it needs, seven bits in each, the lowest first.

/// Appends a number.
pub(crate) fn put(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front. None when cut short or above 64 bits.
pub(crate) fn get(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7F);
        if shift > 63 || (shift == 63 && bits > 1) {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

/// How many bytes the first `count` numbers take; all there are when they are fewer.
pub(crate) fn length(bytes: &[u8], count: usize) -> usize {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte < 0x80).map(|(at, _)| at + 1);
    if count == 0 { 0 } else { ends.take(count).last().unwrap_or(bytes.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 63, u64::MAX] {
            let mut out = Vec::new();
            put(value, &mut out);
            for cut in 0..out.len() {
                assert_eq!(get(&mut &out[..cut]), None);
            }
            let mut rest = &out[..];
            assert_eq!(get(&mut rest), Some(value));
            assert!(rest.is_empty());
        }
        assert_eq!(get(&mut &[0xFF; 11][..]), None);
        assert_eq!(get(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2][..]), None);
    }

    #[test]
    fn numbers_are_stepped_over() {
        let mut out = Vec::new();
        [300, 1, 1 << 40].iter().for_each(|&value| put(value, &mut out));
        assert_eq!([0, 1, 2, 3, 4].map(|count| length(&out, count)), [0, 2, 3, 9, 9]);
    }
}
