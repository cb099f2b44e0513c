//! Budgets: what methods may cost, in a TOML file.

mod check;
mod limit;

pub use check::{Columns, Outcome, Responsible, Verdict, check};
pub use limit::{Bound, Limit, LimitError, Order, Right, Scope};

use cprof_profile::names::Pattern;
use cprof_profile::target;
use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

/// Where in a file something stands, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

/// What some methods may cost together.
#[derive(Debug, Clone)]
pub struct Budget {
    /// The methods, as written: `com.acme.Codec.encode`, with `*` or a descriptor if need be.
    pub method: String,
    /// The same.
    pub pattern: Pattern,
    /// It is no error when nothing fits; what fits nothing in the baseline is 0 there.
    pub optional: bool,
    /// Where the method stands in the file.
    pub at: Place,
    /// What must hold; at least one.
    pub limits: Vec<(Limit, Place)>,
}

/// A budget file that is none.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {}, column {}: {reason}", at.line, at.column)]
pub struct BudgetError {
    /// Where.
    pub at: Place,
    /// What is wrong.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    budget: Vec<Spanned<Table>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    method: Spanned<String>,
    limits: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    optional: bool,
}

/// Reads a budget file.
pub fn parse(text: &str) -> Result<Vec<Budget>, BudgetError> {
    let fail = |at: usize, reason: String| BudgetError { at: place(text, at), reason };
    let file: File = toml::from_str(text).map_err(|e| {
        let at = e.span().map_or(text.len(), |span| span.start);
        fail(at, target::in_words(&e))
    })?;
    if file.budget.is_empty() {
        return Err(fail(0, "it has no [[budget]]: nothing would be checked".to_owned()));
    }
    let mut budgets = Vec::new();
    for table in file.budget {
        let Table { method, limits, optional } = table.into_inner();
        let at = place(text, method.span().start);
        if method.get_ref().is_empty() {
            return Err(fail(method.span().start, "method is empty; it takes Class.method, * allowed".to_owned()));
        }
        if limits.get_ref().is_empty() {
            return Err(fail(limits.span().start, "limits is empty: nothing would be checked".to_owned()));
        }
        let parsed = limits.into_inner().into_iter().map(|limit| {
            let parsed = Limit::parse(limit.get_ref());
            let parsed = parsed.map_err(|e| fail(limit.span().start, format!("limit {:?}: {e}", limit.get_ref())))?;
            Ok((parsed, place(text, limit.span().start)))
        });
        let limits = parsed.collect::<Result<_, _>>()?;
        let pattern = Pattern::new(method.get_ref());
        budgets.push(Budget { pattern, method: method.into_inner(), optional, at, limits });
    }
    Ok(budgets)
}

fn place(text: &str, at: usize) -> Place {
    let target::Place { line, column, .. } = target::Place::behind("", text.get(..at).unwrap_or(text));
    Place { line, column }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[[budget]]
method = "com.acme.Codec.encode"
limits = [
    "bytecodes <= 1_250_000",
    "calls == 3",
]

[[budget]]
method = "com.acme.Cache.*"
limits = ["own cycles[jop] +2%"]
optional = true
"#;

    #[test]
    fn a_file() {
        let budgets = parse(GOOD).unwrap();
        assert_eq!(budgets.len(), 2);
        assert_eq!((budgets[0].method.as_str(), budgets[0].optional), ("com.acme.Codec.encode", false));
        assert_eq!(budgets[0].at, Place { line: 3, column: 10 });
        assert_eq!(budgets[0].limits[1].1, Place { line: 6, column: 5 });
        assert!(budgets[1].optional);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        for (file, expected) in [
            ("", "line 1, column 1: it has no [[budget]]: nothing would be checked"),
            ("[[budget]]\nmethod = \"a\"\nlimits = []", "line 3, column 10: limits is empty: nothing would be checked"),
            (
                "[[budget]]\nmethod = \"\"\nlimits = [\"calls == 1\"]",
                "line 2, column 10: method is empty; it takes Class.method, * allowed",
            ),
            ("[[budget]]\nmethod = \"a\"\nlimits = [\"calls == 1\", \"é calls\"]", "line 3, column 25: limit \"é calls\": "),
            ("[[budget]]\nmethod = \"a\"\nlimit = [\"calls == 1\"]", "line 3, column 1: unknown field `limit`"),
            ("[[budget]]\nmethod = 3", "line 2, column 10: a text in quotes is expected, not integer `3`"),
            (
                "[budget]\nmethod = \"a\"",
                "line 1, column 1: a list of tables, with two brackets around its name, as [[budget]], is expected",
            ),
            (
                "[[budget]]\nmethod = \"a\"\nlimits = \"calls == 3\"",
                "line 3, column 10: a list in brackets is expected, not string",
            ),
            ("[[budget]\n", "line 1, column "),
            ("[[budget]]\nmethod = \"a\"", "line 1, column 1: missing field `limits`"),
        ] {
            assert!(error(file).starts_with(expected), "{file:?}: {}", error(file));
        }
    }
}
