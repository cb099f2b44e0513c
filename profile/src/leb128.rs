//! Unsigned LEB128: a counter in as few bytes as it needs, seven bits in each, the lowest first.

/// The longest.
pub(crate) const LONGEST: usize = 10;

/// Writes a number at the beginning of at least [`LONGEST`] bytes; answers how many it took.
pub(crate) fn write(mut value: u64, out: &mut [u8]) -> usize {
    // Most take one or two bytes, and no processor can tell beforehand which.
    if value < 1 << 14 {
        let two = value >= 0x80;
        out[0] = value as u8 | u8::from(two) << 7;
        out[1] = (value >> 7) as u8;
        return 1 + usize::from(two);
    }
    let mut at = 0;
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    out[at] = value as u8;
    at + 1
}

/// Appends a number.
pub(crate) fn put(value: u64, out: &mut Vec<u8>) {
    let mut bytes = [0; LONGEST];
    let length = write(value, &mut bytes);
    out.extend_from_slice(&bytes[..length]);
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
        for value in [0, 1, 127, 128, 300, (1 << 14) - 1, 1 << 14, u64::from(u32::MAX), 1 << 63, u64::MAX] {
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
