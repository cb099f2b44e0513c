//! What `cprof diff` says to people, on a terminal or in a review.

use crate::markdown::{code, prose};
use crate::style::Style;
use crate::table::Table;
use std::io::{self, Write};

/// How it is laid out.
#[derive(Clone, Copy)]
pub enum Layout {
    /// As plain text.
    Text(Style),
    /// As Markdown.
    Markdown,
}

/// What is said, one thing after the other.
pub struct Page<'o> {
    layout: Layout,
    out: &'o mut dyn Write,
}

impl<'o> Page<'o> {
    /// Nothing is said yet.
    pub fn new(layout: Layout, out: &'o mut dyn Write) -> Page<'o> {
        Page { layout, out }
    }

    /// Two files.
    pub fn title(&mut self, before: &str, after: &str) -> io::Result<()> {
        match self.layout {
            Layout::Text(style) => writeln!(self.out, "{}", style.bold(&format!("{before} → {after}"))),
            Layout::Markdown => writeln!(self.out, "**{} → {}**", code(before), code(after)),
        }
    }

    /// Space between two things.
    pub fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// A table whose last column has names.
    pub fn table(&mut self, table: &Table<'_>) -> io::Result<()> {
        match self.layout {
            Layout::Text(style) => table.print(self.out, style),
            Layout::Markdown => table.markdown(self.out),
        }
    }

    /// What is to be said of something.
    pub fn fact(&mut self, of: &str, what: &str) -> io::Result<()> {
        match self.layout {
            Layout::Text(_) => writeln!(self.out, "{of:8}  {what}"),
            Layout::Markdown => writeln!(self.out, "- {of}: {}", prose(what)),
        }
    }

    /// A sentence.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        match self.layout {
            Layout::Text(_) => writeln!(self.out, "{text}"),
            Layout::Markdown => writeln!(self.out, "{}", prose(text)),
        }
    }

    /// A sentence about the table above or below it.
    pub fn about(&mut self, text: &str) -> io::Result<()> {
        match self.layout {
            Layout::Text(style) => writeln!(self.out, "{}", style.dim(text)),
            Layout::Markdown => writeln!(self.out, "\n{}\n", prose(text)),
        }
    }

    /// Why the numbers may not be what they seem.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        match self.layout {
            Layout::Text(style) => writeln!(self.out, "{}", style.warning(&format!("note: {text}"))),
            Layout::Markdown => writeln!(self.out, "> note: {}\n", prose(text)),
        }
    }
}
