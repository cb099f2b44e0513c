//! Columns of text, and fields of CSV.

use crate::markdown;
use crate::style::{Style, printable_or_marked};
use std::io::{self, Write};

/// Rows of cells; all columns but the last are aligned right, the last left.
pub struct Table<'h> {
    heads: Vec<&'h str>,
    rows: Vec<Vec<String>>,
}

impl<'h> Table<'h> {
    /// A table with headings.
    pub fn new(heads: &[&'h str]) -> Table<'h> {
        Table { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, a cell for each heading. Whatever is in them, it stays one line.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.heads.len());
        self.rows.push(cells.iter().map(|cell| printable_or_marked(cell).into_owned()).collect());
    }

    /// Prints it, two spaces between columns.
    pub fn print(&self, out: &mut dyn Write, style: Style) -> io::Result<()> {
        let columns = self.heads.len();
        let width = |c: usize| {
            let cells = self.rows.iter().map(|r| r[c].chars().count());
            cells.chain([self.heads[c].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |cells: &[&str]| {
            let padded = cells.iter().enumerate().map(|(c, cell)| {
                if c + 1 == columns { (*cell).to_owned() } else { format!("{cell:>width$}", width = widths[c]) }
            });
            padded.collect::<Vec<_>>().join("  ")
        };
        writeln!(out, "{}", style.bold(&line(&self.heads)))?;
        for row in &self.rows {
            writeln!(out, "{}", line(&row.iter().map(String::as_str).collect::<Vec<_>>()))?;
        }
        Ok(())
    }

    /// Prints it as Markdown, the last column as code.
    pub fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let cell = |(at, text): (usize, &String)| match at + 1 == self.heads.len() {
            true => markdown::code_cell(text),
            false => markdown::prose(text),
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect();
        markdown::table(out, &self.heads, 0, &rows)
    }
}

/// A field of a CSV row as RFC 4180 wants it.
pub fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
