//! `cprof check`: whether a profile keeps within budgets.

mod formats;
mod junit;

use crate::args::{Check, CheckFormat, Evaluating, Part, setting};
use crate::compare::{doubts, doubts_of_two, recorded_differently};
use crate::loaded::processor::{chosen_cache, model_has_changed, model_of_recording, recorded_model, with};
use crate::loaded::view::{Shape, View};
use crate::metrics::{Notes, OnProcessor, columns as numbers, evaluated};
use crate::output::{self, Output};
use crate::style::Style;
use crate::usage::{self, Usage};
use anyhow::{Context, Result, anyhow, bail};
use cprof_compare::budget::{self, Budget, Columns, Outcome, Verdict};
use cprof_compare::metric::find;
use cprof_profile::cache::CacheSpec;
use cprof_profile::metrics::{Metric, Sheet};
use cprof_profile::model::Profile;
use cprof_profile::target::source::TAKEN;
use cprof_profile::target::{self, CYCLES, CycleEstimator, Library, Model, ModelFile};
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
    if args.how.is_given() && !named.any(|metric| metric == CYCLES || processor_of(metric).is_some()) {
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
    let recorded = Some(Wanted::Recorded).filter(|_| !checked.run.target.is_empty());
    let mut metrics = numbers(view, &view.tree, &[]);
    let mut notes = Notes::default();
    let names: BTreeSet<&String> = budgets.iter().flat_map(|b| b.limits.iter().map(|(limit, _)| &limit.metric)).collect();
    let mut columns = Columns::new();
    let mut processors: Vec<(usize, (String, Vec<String>))> = Vec::new();
    for name in names {
        let found = match processor_of(name).map(Wanted::Named).or(recorded.filter(|_| name == CYCLES)) {
            Some(processor) => on_processor(view, checked, (name, processor), args).map(|on| {
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
            None => {
                find(metrics.iter(), name, "allocations are objects made, cycles[jop] those on a processor").map_err(Into::into)
            }
        };
        let found = match found {
            // No limit's fault.
            Err(e) if e.is::<Usage>() => return Err(e),
            found => found.map_err(|e| format!("{e:#}")),
        };
        columns.insert(name.clone(), found);
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

/// `jop,4k/16` of `cycles[jop,4k/16]`, `mine.toml` of `accesses[mine.toml]`, and a model that comes with cprof and is called like
/// what it counts, by that. What there is without a model is none's.
fn processor_of(metric: &str) -> Option<&str> {
    match metric.split_once('[') {
        Some((unit, _)) if TAKEN.contains(&unit) => None,
        Some((_, processor)) => processor.strip_suffix(']'),
        None => Library.shipped().iter().map(|model| model.name).find(|name| *name == metric && counts_itself(name)),
    }
}

/// Whether a model that comes with cprof is called like what it counts: a processor's cycles are not.
fn counts_itself(shipped: &str) -> bool {
    Library.load(shipped).is_ok_and(|model| model.unit == shipped)
}

/// That a metric is called by what its model counts, `processor` in it.
fn named_rightly(metric: &str, processor: &str, model: &Model) -> Result<()> {
    let counts = &model.unit;
    if metric.split_once('[').map_or(metric, |(unit, _)| unit) == counts {
        return Ok(());
    }
    let name = processor.split_once(',').map_or(processor, |(name, _)| name).trim();
    let right = if name == counts && counts_itself(name) { name.to_owned() } else { format!("{counts}[{processor}]") };
    bail!("{} counts {counts}: there is no {metric}, but {right}", model.name())
}

/// The processor that a budget means.
#[derive(Clone, Copy)]
enum Wanted<'b> {
    /// `jop`, `jop,4k/16` or `jop rws=3,4k/16`.
    Named(&'b str),
    /// The one for which the checked profile was recorded.
    Recorded,
}

fn on_processor(view: &View, checked: &Profile, (metric, wanted): (&str, Wanted<'_>), args: &Check) -> Result<OnProcessor> {
    // Without a name: the recording's.
    let (name, model, cache, how) = match wanted {
        Wanted::Named(processor) => {
            let (name, cache) = match processor.split_once(',') {
                Some((name, cache)) => (name, Some(cache)),
                None => (processor, None),
            };
            let Set { name, own, how } = settings(name.trim(), &args.how)?;
            let (is_recorded, plain) = match recorded_as(name, checked)? {
                Some(model) => (true, model),
                None => (false, Library.load(name)?),
            };
            named_rightly(metric, processor, &plain)?;
            // The parameters of processors are none of other models'.
            let how = if plain.is_processor() { how } else { Evaluating { set: own, ..how } };
            let model = with(plain, &how.set)?;
            (Some(name).filter(|_| !is_recorded), model, cache.map(str::parse::<CacheSpec>).transpose()?, how)
        }
        Wanted::Recorded => {
            let model = model_of_recording(&checked.run, &args.how.set)?;
            named_rightly(metric, &checked.run.target, &model)?;
            (None, model, None, args.how.clone())
        }
    };
    output::spares(&args.out, &model.paths)?;
    if cache.is_some() && !model.is_processor() {
        bail!("{} counts {}, which no method cache changes; leave the cache out", model.name(), model.unit);
    }
    let cache = cache.unwrap_or_else(|| chosen_cache(checked, name.unwrap_or(&checked.run.target), &model));
    let mut on = evaluated(view.counted(), &model, cache, &how)?;
    if name.is_none() {
        on.notes.extend(model_has_changed(&checked.run, |name| format!("a limit on cycles[{name}]")));
    }
    Ok(on)
}

/// The model that the checked profile was recorded with, where that is called so: a file's, which reports name without its folder.
fn recorded_as(name: &str, checked: &Profile) -> Result<Option<Model>> {
    let run = &checked.run;
    let may_be = Library.is_path(&run.target) && Library.short_name(&run.target) == name;
    may_be.then(|| recorded_model(run)).transpose()
}

/// How metrics of a processor are called with another parameter, and without some cycles: `jop rws=3 no-upcalls`.
struct Set<'n> {
    /// `jop`
    name: &'n str,
    /// `rws=3`
    own: Vec<(String, i64)>,
    /// All this, beside what options say.
    how: Evaluating,
}

/// What is set in the name of a processor, and by the options.
fn settings<'n>(mut name: &'n str, how: &Evaluating) -> Result<Set<'n>> {
    let mut own: Vec<(String, i64)> = Vec::new();
    let mut left_out = (how.no_upcalls, how.no_exceptions);
    for (without, option) in [(&mut left_out.1, " no-exceptions"), (&mut left_out.0, " no-upcalls")] {
        if let Some(rest) = name.strip_suffix(option) {
            (name, *without) = (rest.trim_end(), true);
        }
    }
    while let Some((before, parameter)) = name.rsplit_once(' ').and_then(|(before, last)| Some((before, setting(last).ok()?))) {
        if own.iter().any(|(other, _)| *other == parameter.0) {
            bail!("{} is given a value more than once", parameter.0);
        }
        own.insert(0, parameter);
        name = before.trim_end();
    }
    let of_options = how.set.iter().filter(|(parameter, _)| own.iter().all(|(other, _)| other != parameter)).cloned();
    let set = of_options.chain(own.iter().cloned()).collect();
    Ok(Set { name, own, how: Evaluating { set, no_upcalls: left_out.0, no_exceptions: left_out.1 } })
}
