//! Colour, where someone looks: on terminals, unless NO_COLOR (no-color.org) says otherwise.

use std::io::IsTerminal;

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
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Headings.
    pub fn bold(self, text: &str) -> String {
        self.mark("1", text)
    }

    /// What matters less.
    pub fn dim(self, text: &str) -> String {
        self.mark("2", text)
    }

    /// What a reader must not overlook.
    pub fn warning(self, text: &str) -> String {
        self.mark("33", text)
    }
}
