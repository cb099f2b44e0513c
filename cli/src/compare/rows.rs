//! The rows of a comparison, as other tools read them.

use crate::args::By;
use crate::table::field;
use cprof_compare::diff::{Comparison, Fate, Row};
use cprof_profile::names::{parameters, signature};
use cprof_profile::tree::{Symbol, What};
use serde::Serialize;
use std::io::{self, Write};

/// A row; `docs/compare.md` describes the fields.
#[derive(Serialize)]
pub struct Line<'a> {
    #[serde(flatten)]
    place: Option<Place>,
    fate: Fate,
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    native: bool,
    /// What the first profile calls it, when that is something else.
    was: Option<String>,
    before: u64,
    after: u64,
    change: i128,
    before_total: u64,
    after_total: u64,
    change_total: i128,
}

/// Where a context is.
#[derive(Serialize)]
struct Place {
    index: u32,
    parent: u32,
    site: Option<u32>,
}

impl<'a> Line<'a> {
    /// A row's.
    pub fn new(comparison: &Comparison<'a>, by: By, row: &Row) -> Line<'a> {
        let context = (by == By::Context).then(|| comparison.contexts.list[row.at as usize]);
        let method = match context.map(|c| c.what) {
            None => Some(row.at),
            Some(What::Method(m)) => Some(m),
            Some(What::Root | What::Folded) => None,
        };
        let symbol = method.map(|m| comparison.symbol(m));
        Line {
            place: context.map(|c| Place { index: row.at, parent: c.parent, site: c.site.checked_sub(1) }),
            fate: row.fate,
            class: symbol.map_or("", |s| &s.class),
            method: symbol.map_or("(folded)", |s| &s.method),
            descriptor: symbol.map_or("", |s| &s.descriptor),
            native: symbol.is_some_and(|s| s.native),
            was: method.and_then(|m| was(comparison, m)),
            before: row.before.own,
            after: row.after.own,
            change: row.change(),
            before_total: row.before.total,
            after_total: row.after.total,
            change_total: row.total_change(),
        }
    }

    /// As RFC 4180 wants it.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(Place { index, parent, site }) = self.place {
            write!(out, "{index},{parent},{},", site.map(|s| s.to_string()).unwrap_or_default())?;
        }
        let fate = match self.fate {
            Fate::New => "new",
            Fate::Gone => "gone",
            Fate::Changed => "changed",
            Fate::Same => "same",
        };
        let names = [self.class, self.method, self.descriptor].map(field).join(",");
        let was = field(self.was.as_deref().unwrap_or_default());
        write!(out, "{fate},{names},{},{was},{},{},{},", self.native, self.before, self.after, self.change)?;
        write!(out, "{},{},{}\r\n", self.before_total, self.after_total, self.change_total)
    }
}

/// The header of [`Line::csv`].
pub fn header(by: By) -> String {
    let place = if by == By::Context { "index,parent,site," } else { "" };
    format!("{place}fate,class,method,descriptor,native,was,before,after,change,before_total,after_total,change_total")
}

/// `Class.method` in the first profile, when that is not its name in the second; with its parameters, if these alone differ, and
/// its result, if that alone does.
fn was(comparison: &Comparison<'_>, method: u32) -> Option<String> {
    let joined = comparison.methods.list[method as usize];
    let (before, after) = (joined.before?, joined.after?);
    let (before, after) = (&comparison.before.symbols.list[before as usize], &comparison.after.symbols.list[after as usize]);
    let name = |s: &Symbol| format!("{}.{}", s.class, s.method);
    match (name(before) != name(after), before.descriptor != after.descriptor) {
        (true, _) => Some(name(before)),
        (false, true) => {
            let results_alone = parameters(&before.descriptor) == parameters(&after.descriptor);
            Some(name(before) + &signature(&before.descriptor, results_alone))
        }
        (false, false) => None,
    }
}
