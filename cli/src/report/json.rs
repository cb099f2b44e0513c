//! The shapes of `--format json`.

use crate::loaded::processor::{Columns, Sums};
use crate::loaded::view::View;
use cprof_profile::model::{Level, Native, Profile, Run, RunFacts};
use cprof_profile::names::stable;
use cprof_profile::natives;
use cprof_profile::options::values;
use cprof_profile::projections::MethodRow;
use serde::Serialize;

/// `cprof report --format json`: rows, and what is to be known beside them.
#[derive(Serialize)]
pub struct Document<'a, Rows> {
    totals: Totals<'a>,
    /// A struct of one field: `methods`, `contexts` or `threads`.
    #[serde(flatten)]
    rows: Rows,
    coverage: Coverage<'a>,
    run: &'a RunFacts,
    /// Of a merged profile.
    #[serde(skip_serializing_if = "<[Run]>::is_empty")]
    runs: &'a [Run],
}

impl<'a, Rows> Document<'a, Rows> {
    pub fn new(view: &'a View, rows: Rows) -> Document<'a, Rows> {
        Document {
            totals: Totals::new(view),
            rows,
            coverage: Coverage::new(view),
            run: &view.profile.run,
            runs: &view.profile.runs,
        }
    }
}

/// Sums.
#[derive(Serialize)]
pub struct Totals<'a> {
    calls: u64,
    exceptional_exits: u64,
    bytecodes: u64,
    native_calls: u64,
    methods: u64,
    contexts: u64,
    #[serde(flatten)]
    processor: Option<Sums<'a>>,
}

impl<'a> Totals<'a> {
    pub fn new(view: &'a View) -> Totals<'a> {
        let t = &view.totals;
        Totals {
            calls: t.calls,
            exceptional_exits: t.exceptional_exits,
            bytecodes: t.own,
            native_calls: t.native_calls,
            methods: t.methods,
            contexts: t.contexts,
            processor: view.processor.as_ref().map(|p| Sums::new(p, &t.processor, t.own)),
        }
    }
}

/// A row by method; the names are those of the CSV.
#[derive(Serialize)]
pub struct Method<'a> {
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    calls: u64,
    exceptional_exits: u64,
    bytecodes: u64,
    bytecodes_total: u64,
    native: bool,
    #[serde(flatten)]
    processor: Option<Columns>,
}

impl<'a> Method<'a> {
    pub fn new(view: &'a View, row: &MethodRow) -> Method<'a> {
        let symbol = &view.symbols.list[row.symbol as usize];
        Method {
            class: &symbol.class,
            method: &symbol.method,
            descriptor: &symbol.descriptor,
            calls: row.calls,
            exceptional_exits: row.exceptional_exits,
            bytecodes: row.own,
            bytecodes_total: row.total,
            native: symbol.native,
            processor: view.processor.as_ref().map(|_| Columns::new(&row.processor, row.cycles_total, row.own)),
        }
    }
}

/// What was not covered, and how far the numbers can be trusted.
#[derive(Serialize)]
pub struct Coverage<'a> {
    pub classes_not_covered: usize,
    pub methods_not_covered: usize,
    /// Methods that ran and were counted by whole blocks.
    pub methods_counted_by_block: usize,
    /// Those of them that are so because they were too large: which was not asked for.
    pub too_large: Vec<TooLarge<'a>>,
    /// Calls and exceptions that found no room; what these calls called is missing, too, and not counted here.
    pub lost_calls: u64,
    /// Contexts caught between two counters.
    pub inconsistent_contexts: usize,
    pub gaps: Vec<Gap<'a>>,
    /// Native methods whose calls are not all told.
    pub native_calls_not_told: Vec<NotTold<'a>>,
    pub warnings: &'a [String],
}

/// Something that was not counted.
#[derive(Serialize)]
pub struct Gap<'a> {
    pub class: String,
    /// Name and descriptor; none: the whole class.
    pub method: Option<&'a str>,
    pub reason: &'a str,
}

/// A method counted by whole blocks.
#[derive(Serialize)]
pub struct TooLarge<'a> {
    pub class: String,
    pub method: &'a str,
    pub descriptor: &'a str,
}

impl<'a> TooLarge<'a> {
    fn list(profile: &'a Profile) -> Vec<TooLarge<'a>> {
        let asked_for = |run: &RunFacts| values(&run.options, "bba").any(|level| level == "block");
        if asked_for(&profile.run) || profile.runs.iter().any(|run| asked_for(&run.facts)) {
            return Vec::new();
        }
        let by_block = profile.methods.iter().filter(|m| m.level == Level::Block);
        let one = |m: &'a cprof_profile::model::Method| {
            let class = &profile.classes[m.class as usize];
            TooLarge { class: stable(&class.name, class.hidden), method: &m.name, descriptor: &m.descriptor }
        };
        by_block.map(one).collect()
    }
}

/// A native method for which Java methods may have been called, it is not known how often.
#[derive(Serialize)]
pub struct NotTold<'a> {
    pub class: String,
    pub method: &'a str,
    pub descriptor: &'a str,
    pub reason: String,
}

impl<'a> NotTold<'a> {
    fn list(profile: &'a Profile) -> Vec<NotTold<'a>> {
        let not_told = natives::NotTold::of(profile);
        let one = |&native: &u32| {
            let Native { class, name, descriptor } = &profile.natives[native as usize];
            NotTold { class: stable(class, false), method: name, descriptor, reason: not_told.reasons.join(", ") }
        };
        let mut list: Vec<NotTold> = not_told.natives.iter().map(one).collect();
        list.sort_by(|a, b| (&a.class, a.method, a.descriptor).cmp(&(&b.class, b.method, b.descriptor)));
        list
    }
}

impl<'a> Coverage<'a> {
    pub fn new(view: &'a View) -> Coverage<'a> {
        let gap = |g: &'a cprof_profile::model::Gap| Gap {
            class: stable(&g.class, false),
            method: g.method.as_deref(),
            reason: &g.reason,
        };
        let gaps: Vec<Gap> = view.profile.gaps.iter().map(gap).collect();
        let classes_not_covered = gaps.iter().filter(|g| g.method.is_none()).count();
        Coverage {
            classes_not_covered,
            methods_not_covered: gaps.len() - classes_not_covered,
            methods_counted_by_block: view.profile.methods.iter().filter(|m| m.level == Level::Block).count(),
            too_large: TooLarge::list(&view.profile),
            lost_calls: view.profile.run.lost_calls,
            inconsistent_contexts: view.measures.inconsistent,
            gaps,
            native_calls_not_told: NotTold::list(&view.profile),
            warnings: &view.profile.warnings,
        }
    }
}
