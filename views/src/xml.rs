//! Text within XML: SVG pictures, JUnit reports.

use std::fmt::Write;

/// Marked characters and line ends as references, so that the text may stand in an attribute, too; characters that XML does not
/// have (§2.2), by their numbers.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            c if c < ' ' || matches!(c, '\u{FFFE}' | '\u{FFFF}') => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c)); // a String takes everything
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn everything_can_be_said_in_xml() {
        assert_eq!(escaped("a<b>&\"\n\t\r\u{1}\u{FFFF}é"), "a&lt;b&gt;&amp;&quot;&#10;&#9;&#13;\\u{1}\\u{ffff}é");
    }
}
