//! Modified UTF-8 (JVMS §4.4.7).

use std::borrow::Cow;

/// Decodes modified UTF-8. Bytes that are not, and surrogates without their pair, become U+FFFD.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if bytes.is_ascii() && !bytes.contains(&0) {
        // ASCII is the same in both encodings.
        return String::from_utf8_lossy(bytes);
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let (unit, length) = match (*first, tail) {
            (b @ 0x01..=0x7F, _) => (u16::from(b), 1),
            (b, [c, ..]) if b >> 5 == 0b110 && c >> 6 == 0b10 => (u16::from(b & 0x1F) << 6 | u16::from(c & 0x3F), 2),
            (b, [c, d, ..]) if b >> 4 == 0b1110 && c >> 6 == 0b10 && d >> 6 == 0b10 => {
                (u16::from(b & 0x0F) << 12 | u16::from(c & 0x3F) << 6 | u16::from(d & 0x3F), 3)
            }
            _ => (0xFFFD, 1),
        };
        units.push(unit);
        rest = &rest[length..];
    }
    Cow::Owned(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn decodes_what_the_jvm_encodes() {
        assert_eq!(decode(b"java/lang/Object"), "java/lang/Object");
        assert_eq!(decode(&[0xC0, 0x80]), "\0");
        assert_eq!(decode(&[0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]), "\u{1F600}");
        assert_eq!(decode("\u{20AC}".as_bytes()), "\u{20AC}");
    }

    #[test]
    fn replaces_what_is_not() {
        assert_eq!(decode(&[0xFF, b'a']), "\u{FFFD}a");
        assert_eq!(decode(&[0xE2, 0x82]), "\u{FFFD}\u{FFFD}");
    }
}
