//! `cprof check`: whether a profile keeps within budgets.

mod formats;
mod junit;
mod markdown;
mod named;

use crate::args::{Check, CheckFormat, Part};
use crate::compare::{doubts, doubts_of_two, recorded_differently};
use crate::loaded::view::{Shape, View};
use crate::metrics::{Notes, columns as numbers};
use crate::output::{self, Output};
use crate::style::Style;
use crate::usage::{self, Usage};
use anyhow::{Context, Result, anyhow, bail};
use cprof_compare::budget::{self, Budget, Columns, Outcome, Verdict};
use cprof_compare::metric::find;
use cprof_profile::metrics::{Metric, Sheet};
use cprof_profile::model::Profile;
use cprof_profile::target::{self, CYCLES, ModelFile};
use named::{Named, limits_cycles, may_be_of_model};
use std::collections::BTreeSet;
use std::io;
use std::process::ExitCode;

/// A limit is exceeded.
const EXCEEDED: u8 = 1;
/// The options or the budget file are wrong, or a limit cannot be checked.
const WRONG: u8 = usage::CODE;
/// A profile cannot be read, or the output not be written.
const UNREADABLE: u8 = 3;

/// Everything to be said about a check.
pub struct Report<'a> {
    budget_file: String,
    profile: &'a str,
    baseline: Option<&'a str>,
    verdicts: Vec<Verdict<'a>>,
    notes: Vec<String>,
}

/// Checks, prints, and answers the exit code.
pub fn check(args: &Check) -> ExitCode {
    let read = |error: anyhow::Error, code: u8| {
        output::tell(format_args!("{error:#}"));
        ExitCode::from(code)
    };
    let budgets = match budgets(args) {
        Ok(budgets) => budgets,
        Err(e) => return read(e, WRONG),
    };
    match checked(args, &budgets) {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            let code = if e.is::<Usage>() { WRONG } else { UNREADABLE };
            read(e, code)
        }
    }
}

fn budgets(args: &Check) -> Result<Vec<Budget>> {
    let file = args.budget.display();
    let bytes = target::read(&args.budget).with_context(|| format!("cannot read the budgets {file}"))?;
    let text = target::text(&file.to_string(), bytes)?;
    budget::parse(&text).map_err(|e| anyhow!("{file}:{}:{}: {}", e.at.line, e.at.column, e.reason))
}

fn checked(args: &Check, budgets: &[Budget]) -> Result<u8> {
    let mut named = budgets.iter().flat_map(|budget| &budget.limits).map(|(limit, _)| limit.metric.as_str());
    if args.how.is_given() && !named.any(may_be_of_model) {
        let file = args.budget.display();
        bail!(Usage(format!("--set, --no-upcalls and --no-exceptions belong to a processor, and {file} limits no cycles")));
    }
    output::spares(&args.out, [&args.part.file, &args.budget].into_iter().chain(&args.baseline))?;
    let view = View::load(&args.part, None, Shape::Both { apart: false })?;
    let base = args.baseline.as_ref().map(|file| {
        let Part { root, thread, .. } = &args.part;
        View::load(&Part { file: file.clone(), root: root.clone(), thread: thread.clone() }, None, Shape::Both { apart: false })
    });
    let base = base.transpose()?;
    let (metrics, columns, cycles) = measured(&view, &view.profile, budgets, args)?;
    let mut base_measured = base.as_ref().map(|base| measured(base, &view.profile, budgets, args)).transpose()?;
    if let Some((base_metrics, base_columns, _)) = &mut base_measured {
        same_metrics((&metrics, &columns), (base_metrics, base_columns));
    }
    let baseline = base.as_ref().zip(base_measured.as_ref());
    let verdicts = budget::check(
        budgets,
        (sheet(&view, &metrics), &columns),
        baseline.map(|(base, (metrics, columns, _))| (sheet(base, metrics), columns)),
    );
    let mut notes = match baseline {
        Some((base, (.., of_base))) => doubts_of_two((&view, &cycles), (base, of_base)),
        None => doubts(&view, &cycles),
    };
    notes.extend(args.how.note());
    if let Some((base, _)) = baseline {
        notes.extend(recorded_differently(base, &view));
        let [before, now] = [base, &view].map(|view| &view.profile.run);
        let same = ModelFile::same(&before.model, &now.model) && (before.target == now.target || !now.model.is_empty());
        if columns.contains_key(CYCLES) && !now.target.is_empty() && !same {
            notes.push(format!(
                "the baseline was recorded for another processor, or another model of it; its cycles are on {}, too, as that profile has it",
                now.target
            ));
        }
    }
    let report = Report {
        budget_file: args.budget.display().to_string(),
        profile: &view.file,
        baseline: base.as_ref().map(|base| base.file.as_str()),
        verdicts,
        notes,
    };
    let mut out = Output::create(&args.out)?;
    let style = if matches!(out, Output::Standard(_)) { Style::of(&io::stdout()) } else { Style::plain() };
    let written = match args.format {
        CheckFormat::Text => formats::text(&report, &mut out, style),
        CheckFormat::Junit => junit::write(&report, &mut out),
        CheckFormat::Github => formats::github(&report, &mut out),
        CheckFormat::Markdown => markdown::write(&report, &mut out),
        CheckFormat::Json => formats::json(&report, &mut out),
    };
    // Whoever reads has seen enough; what holds holds all the same.
    let cut = |e: &anyhow::Error| e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe);
    match written.with_context(|| output::cannot(&args.out)).and_then(|()| out.finish()) {
        Err(e) if !cut(&e) => Err(e),
        _ => Ok(report.code()),
    }
}

impl Report<'_> {
    fn code(&self) -> u8 {
        let any = |is: fn(&Outcome) -> bool| self.verdicts.iter().any(|v| is(&v.outcome));
        match () {
            () if any(|o| matches!(o, Outcome::Wrong(_))) => WRONG,
            () if any(|o| matches!(o, Outcome::Exceeded { .. })) => EXCEEDED,
            () => 0,
        }
    }
}

fn sheet<'a>(view: &'a View, metrics: &'a [Metric]) -> Sheet<'a> {
    Sheet { profile: &view.profile, symbols: &view.symbols, tree: &view.tree, metrics }
}

/// A profile's numbers, which of them the budgets mean, and what is to be known of cycles, which are computed on the processors
/// that budgets name. `cycles` without one means the processor for which the `checked` profile was recorded, if it was for one, and
/// a processor without a cache the one that is chosen for that profile: of another one's the cycles would be others.
fn measured(view: &View, checked: &Profile, budgets: &[Budget], args: &Check) -> Result<(Vec<Metric>, Columns, Notes)> {
    let named = Named { view, checked, args, beside: limits_cycles(budgets) };
    // Parameters that no model has; processors must have them all.
    let mut nobodys: Vec<&str> = args.how.set.iter().map(|(parameter, _)| parameter.as_str()).collect();
    let mut metrics = numbers(view, &view.tree, &[]);
    let mut notes = Notes::default();
    let names: BTreeSet<&String> = budgets.iter().flat_map(|b| b.limits.iter().map(|(limit, _)| &limit.metric)).collect();
    let mut columns = Columns::new();
    let mut processors: Vec<(usize, (String, Vec<String>))> = Vec::new();
    for name in names {
        let found = match named.numbers(name) {
            Some(on) => on.map(|on| {
                nobodys.retain(|parameter| on.model.has(parameter).is_err());
                notes.add(&on);
                // Budgets may name one in several ways, and different files may have one name.
                let processor = (on.column(), on.model.texts.clone());
                processors.iter().find(|(_, known)| *known == processor).map(|(at, _)| *at).unwrap_or_else(|| {
                    metrics.push(on.metric(&view.tree));
                    processors.push((metrics.len() - 1, processor));
                    metrics.len() - 1
                })
            }),
            None if name == CYCLES => Err(anyhow!("the recording is for no processor; name one, as cycles[jop]")),
            None => find(metrics.iter(), name, "allocations are objects made, cycles[jop] are cycles on a processor")
                .map_err(Into::into),
        };
        let found = match found {
            // No limit's fault.
            Err(e) if e.is::<Usage>() => return Err(e),
            found => found.map_err(|e| format!("{e:#}")),
        };
        columns.insert(name.clone(), found);
    }
    if let Some(parameter) = nobodys.first().filter(|_| !named.beside && !processors.is_empty()) {
        bail!(Usage(format!("none of the models that {} limits has a parameter {parameter}", args.budget.display())));
    }
    Ok((metrics, columns, notes))
}

/// A short name, of misses say, may mean another metric in the baseline: of another cache. That is nothing to compare with.
fn same_metrics((metrics, columns): (&[Metric], &Columns), (base_metrics, base_columns): (&[Metric], &mut Columns)) {
    for (name, found) in base_columns {
        let Some(Ok(ours)) = columns.get(name) else { continue };
        if let Ok(theirs) = *found
            && metrics[*ours].name != base_metrics[theirs].name
        {
            *found = Err(format!("it has {}, and the profile {}", base_metrics[theirs].name, metrics[*ours].name));
        }
    }
}
