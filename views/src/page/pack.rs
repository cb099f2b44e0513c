//! Columns as text within HTML: variable-length numbers, deflated, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};

/// Numbers, seven bits per byte, the lowest first; all bytes but a number's last have the highest bit set.
pub fn varints(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for mut number in numbers {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    bytes
}

/// Deflated (zlib), in base64: nothing in it can end the element that it stands in.
pub fn packed(bytes: &[u8]) -> io::Result<String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// An element that holds data and is never run.
pub fn element(out: &mut impl Write, id: &str, bytes: &[u8]) -> io::Result<()> {
    writeln!(out, r#"<script type="application/octet-stream" id="{id}">{}</script>"#, packed(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_sizes() {
        assert_eq!(varints([0, 127, 128, 300].into_iter()), [0, 127, 0x80, 1, 0xac, 2]);
        assert_eq!(varints([u64::MAX].into_iter()), [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }

    #[test]
    fn what_is_packed_cannot_end_its_element() {
        let mut out = Vec::new();
        element(&mut out, "names", b"</script><img src=x onerror=alert(1)>").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches('<').count(), 2, "{text}");
    }
}
