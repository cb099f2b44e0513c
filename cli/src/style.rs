//! Colour, where someone looks: on terminals, unless NO_COLOR (no-color.org) says otherwise.

use std::borrow::Cow;
use std::io::IsTerminal;

const MARK: &str = "\x1b[";
const END: &str = "\x1b[0m";
const BOLD: &str = "1";
const DIM: &str = "2";
const WARNING: &str = "33";

/// Whether a character steers the terminal: the controls, and those that reorder a line (Unicode Standard Annex #9, explicit
/// directional formatting).
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text from elsewhere as it may stand in a line on a terminal: names of methods, threads and files may have any characters.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let plain = |c: char| if steers(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(plain).collect())
}

/// As [`printable`], for text that may be marked already, as [`Style`] does.
pub fn printable_or_marked(text: &str) -> Cow<'_, str> {
    let marked = text.strip_prefix(MARK).and_then(|t| t.strip_suffix(END)).and_then(|t| t.split_once('m'));
    match marked {
        Some((code, inner)) if [BOLD, DIM, WARNING].contains(&code) && !inner.contains(steers) => Cow::Borrowed(text),
        _ => printable(text),
    }
}

/// Whether and how to mark text.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// For output to a stream.
    pub fn of(stream: &impl IsTerminal) -> Style {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let able = std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        Style { colour: wanted && able && stream.is_terminal() }
    }

    /// Without any marks, for files.
    pub fn plain() -> Style {
        Style { colour: false }
    }

    fn mark(self, code: &str, text: &str) -> String {
        let text = printable(text);
        if self.colour && !text.is_empty() { format!("{MARK}{code}m{text}{END}") } else { text.into_owned() }
    }

    /// Headings.
    pub fn bold(self, text: &str) -> String {
        self.mark(BOLD, text)
    }

    /// What matters less.
    pub fn dim(self, text: &str) -> String {
        self.mark(DIM, text)
    }

    /// What a reader must not overlook.
    pub fn warning(self, text: &str) -> String {
        self.mark(WARNING, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_elsewhere_controls_the_terminal() {
        assert_eq!(printable("Straße <init>"), "Straße <init>");
        assert_eq!(printable("a\n\x1b[2Jb\r\0\u{85}"), "a\\n\\u{1b}[2Jb\\r\\u{0}\\u{85}");
        assert_eq!(printable("a\u{202e}b\u{2066}"), "a\\u{202e}b\\u{2066}");
        let style = Style { colour: true };
        let marked = style.dim("a\x1b[2J");
        assert_eq!(marked, "\x1b[2ma\\u{1b}[2J\x1b[0m");
        assert_eq!(printable_or_marked(&marked), marked);
        for hostile in ["\x1b[2J\x1b[0m", "\x1b[8mhidden\x1b[0m", "\x1b[1mx\ny\x1b[0m", "\x1b[1m", "x\x1b[0m"] {
            assert!(!printable_or_marked(hostile).contains(char::is_control), "{hostile:?}");
        }
    }
}
