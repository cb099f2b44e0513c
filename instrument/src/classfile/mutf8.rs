//! Modified UTF-8 (JVMS §4.4.7).

use std::borrow::Cow;

/// Decodes modified UTF-8. A surrogate without its pair, which no `str` can hold, becomes `\uD83D` (with its own number); so that
/// nothing else does, a backslash before a `u` becomes `\u005c`. Bytes that are no modified UTF-8, which no JVM loads, become
/// U+FFFD.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if bytes.is_ascii() && !bytes.contains(&0) && !bytes.contains(&b'\\') {
        // ASCII is the same in both encodings.
        return String::from_utf8_lossy(bytes);
    }
    let mut text = String::with_capacity(bytes.len());
    let mut decoded = char::decode_utf16(units(bytes)).peekable();
    while let Some(unit) = decoded.next() {
        match unit {
            Ok('\\') if decoded.peek() == Some(&Ok('u')) => text.push_str("\\u005c"),
            Ok(c) => text.push(c),
            Err(lone) => text.push_str(&format!("\\u{:04X}", lone.unpaired_surrogate())),
        }
    }
    Cow::Owned(text)
}

/// Decodes modified UTF-8 for people: a surrogate without its pair becomes U+FFFD, and everything else is as it is, backslashes
/// too.
pub fn decode_lossy(bytes: &[u8]) -> String {
    char::decode_utf16(units(bytes)).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// The UTF-16 code units.
fn units(bytes: &[u8]) -> Vec<u16> {
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
    units
}

#[cfg(test)]
mod tests {
    use super::{decode, decode_lossy};

    #[test]
    fn decodes_what_the_jvm_encodes() {
        assert_eq!(decode(b"java/lang/Object"), "java/lang/Object");
        assert_eq!(decode(&[0xC0, 0x80]), "\0");
        assert_eq!(decode(&[0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]), "\u{1F600}");
        assert_eq!(decode("\u{20AC}".as_bytes()), "\u{20AC}");
    }

    #[test]
    fn surrogates_without_their_pair_stay_apart() {
        assert_eq!(decode(&[b'a', 0xED, 0xA0, 0xBD, b'b']), "a\\uD83Db");
        assert_eq!(decode(&[0xED, 0xB8, 0x80, 0xED, 0xA0, 0xBD]), "\\uDE00\\uD83D");
        assert_eq!(decode(b"\\uD83D"), "\\u005cuD83D");
        assert_eq!(decode(b"\\u005c"), "\\u005cu005c");
        assert_eq!(decode(b"a\\b\\"), "a\\b\\");
        assert_eq!(decode_lossy(b"\\uD83D"), "\\uD83D");
        assert_eq!(decode_lossy(&[b'a', 0xED, 0xA0, 0xBD, b'b']), "a\u{FFFD}b");
    }

    #[test]
    fn replaces_what_is_not() {
        assert_eq!(decode(&[0xFF, b'a']), "\u{FFFD}a");
        assert_eq!(decode(&[0xE2, 0x82]), "\u{FFFD}\u{FFFD}");
    }
}
