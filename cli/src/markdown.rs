//! Markdown as GitHub and GitLab have it, in comments of reviews and summaries of jobs.

use crate::style::printable;
use std::io::{self, Write};

/// A name as it is, whatever characters it has.
pub fn code(text: &str) -> String {
    let text = printable(text);
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    // A space at both ends is taken away again.
    let space = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A sentence: what would mark it up is escaped.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    for c in printable(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '#' | '$' | '&') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A table of cells that are Markdown already, its first `left` columns and its last aligned left, numbers between them right.
pub fn table(out: &mut dyn Write, heads: &[&str], left: usize, rows: &[Vec<String>]) -> io::Result<()> {
    let last = heads.len() - 1;
    writeln!(out, "| {} |", heads.join(" | "))?;
    let rule = |at: usize| if at < left || at == last { "---" } else { "---:" };
    writeln!(out, "|{}|", (0..heads.len()).map(rule).collect::<Vec<_>>().join("|"))?;
    for row in rows {
        // In code, too, a bar would end the cell.
        let cells: Vec<String> = row.iter().map(|cell| bars(cell)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

/// Escapes bars that are not yet.
fn bars(cell: &str) -> String {
    let mut out = String::new();
    let mut escaped = false;
    for c in cell.chars() {
        if c == '|' && !escaped {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code_and_sentences_are_plain() {
        for (name, expected) in [
            ("a.B.<init>(int[])", "`a.B.<init>(int[])`"),
            ("a`b", "``a`b``"),
            ("`", "`` ` ``"),
            ("a\nb\u{1b}[2J", "`a\\nb\\u{1b}[2J`"),
        ] {
            assert_eq!(code(name), expected);
        }
        assert_eq!(prose("a_b <init> [x](y) *z* `c` \\ $1$ #2 1.5%"), r"a\_b \<init\> \[x\](y) \*z\* \`c\` \\ \$1\$ \#2 1.5%");
    }

    #[test]
    fn bars_do_not_end_cells() {
        let mut out = Vec::new();
        table(&mut out, &["a", "n", "b"], 1, &[vec![code("x|y"), "1".to_owned(), prose("p|q")]]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "| a | n | b |\n|---|---:|---|\n| `x\\|y` | 1 | p\\|q |\n");
    }
}
