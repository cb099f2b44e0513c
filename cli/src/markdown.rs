//! Markdown as GitHub and GitLab have it, in comments of reviews and summaries of jobs.

use crate::style::printable;
use std::io::{self, Write};

/// A name as it is, whatever characters it has; not for a table, whose cells a bar would end.
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

/// The same for a cell of a table.
pub fn code_cell(text: &str) -> String {
    // The table's parser takes these backslashes away again, also within code.
    code(text).replace('|', "\\|")
}

/// A sentence, or a cell of one: what would mark it up is escaped.
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
    rows.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))
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
        let rows = [["x|y", "p|q"], ["x\\|y", "p\\|q"]].map(|[a, b]| vec![code_cell(a), "1".to_owned(), prose(b)]);
        table(&mut out, &["a", "n", "b"], 1, &rows).unwrap();
        let expected = ["| a | n | b |", "|---|---:|---|", r"| `x\|y` | 1 | p\|q |", r"| `x\\|y` | 1 | p\\\|q |"];
        assert_eq!(String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(), expected);
    }
}
