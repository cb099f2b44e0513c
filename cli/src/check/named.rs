//! Which model a budget's metric is of.

use crate::args::{Check, Evaluating, setting};
use crate::loaded::processor::{chosen_cache, model_has_changed, recorded_model, with};
use crate::loaded::view::View;
use crate::metrics::{OnProcessor, evaluated};
use crate::output;
use anyhow::{Result, bail};
use cprof_compare::budget::Budget;
use cprof_profile::cache::CacheSpec;
use cprof_profile::model::Profile;
use cprof_profile::target::source::TAKEN;
use cprof_profile::target::{CYCLES, CycleEstimator, Library, Model};

/// What a metric's name is read beside.
pub struct Named<'a> {
    /// The profile, or the baseline.
    pub view: &'a View,
    /// The profile.
    pub checked: &'a Profile,
    /// The options.
    pub args: &'a Check,
    /// As [`of_processors`] answers.
    pub of_processors: bool,
}

/// Whether a name may be of a model.
pub fn is_of_model(metric: &str) -> bool {
    metric == CYCLES || processor_of(metric).is_some()
}

/// Whether some limit is of cycles: then options with parameters are about processors, and what counts something else takes those that
/// it has.
pub fn of_processors(budgets: &[Budget]) -> bool {
    let mut metrics = budgets.iter().flat_map(|budget| &budget.limits).map(|(limit, _)| limit.metric.as_str());
    metrics.any(|metric| unit_of(metric) == CYCLES)
}

/// `cycles` of `cycles[jop]`.
fn unit_of(metric: &str) -> &str {
    metric.split_once('[').map_or(metric, |(unit, _)| unit)
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
    !Library.is_path(shipped) && Library.load(shipped).is_ok_and(|model| model.unit == shipped)
}

/// That a metric is called by what its model counts; `processor` is what stands in it, or would, and `name` that without settings.
fn named_rightly(metric: &str, (processor, name): (&str, &str), model: &Model) -> Result<()> {
    let counts = &model.unit;
    if unit_of(metric) == counts {
        return Ok(());
    }
    let without_cache = processor.split_once(',').map_or(processor, |(name, _)| name).trim();
    let right = match () {
        () if counts_itself(name) => name.to_owned(),
        () if model.is_processor() => format!("{counts}[{processor}]"),
        () => format!("{counts}[{without_cache}]"),
    };
    bail!("{} counts {counts}: there is no {metric}, but {right}", model.name())
}

impl Named<'_> {
    /// The numbers that a name means; none for what is of no model.
    pub fn model(&self, metric: &str) -> Option<Result<OnProcessor>> {
        let run = &self.checked.run;
        let is_recorded = || recorded_model(run).is_ok_and(|model| model.unit == metric);
        match processor_of(metric) {
            Some(processor) => Some(self.named(metric, processor)),
            None if !run.target.is_empty() && (metric == CYCLES || is_recorded()) => Some(self.recorded(metric)),
            None => None,
        }
    }

    /// On a processor that is named: `jop`, `jop,4k/16` or `jop rws=3,4k/16`.
    fn named(&self, metric: &str, processor: &str) -> Result<OnProcessor> {
        let (before, cache) = match processor.split_once(',') {
            Some((before, cache)) => (before, Some(cache)),
            None => (processor, None),
        };
        let Set { name, own, how } = settings(before.trim(), &self.args.how)?;
        let (is_recorded, model) = match self.recorded_as(name)? {
            Some(model) => (true, model),
            None => (false, Library.load(name)?),
        };
        named_rightly(metric, (processor, name), &model)?;
        let how = self.of_model(&model, how, &own);
        let model = with(model, &how.set)?;
        let cache = cache.map(str::parse::<CacheSpec>).transpose()?;
        if cache.is_some() && !model.is_processor() {
            bail!("{} counts {}, which no method cache changes; leave the cache out", model.name(), model.unit);
        }
        self.evaluated(Some(name).filter(|_| !is_recorded), &model, cache, &how)
    }

    /// On the model with which the checked profile was recorded.
    fn recorded(&self, metric: &str) -> Result<OnProcessor> {
        let model = recorded_model(&self.checked.run)?;
        let name = Library.short_name(&self.checked.run.target);
        named_rightly(metric, (&name, &name), &model)?;
        let how = self.of_model(&model, self.args.how.clone(), &[]);
        let model = with(model, &how.set)?;
        self.evaluated(None, &model, None, &how)
    }

    /// How a model is evaluated: the parameters of processors are none of others, but for those that these have, too, or are given
    /// (`own`).
    fn of_model(&self, model: &Model, mut how: Evaluating, own: &[(String, i64)]) -> Evaluating {
        if self.of_processors && !model.is_processor() {
            how.set.retain(|parameter| own.contains(parameter) || model.has(&parameter.0).is_ok());
        }
        how
    }

    /// `name`: none for the recording's.
    fn evaluated(&self, name: Option<&str>, model: &Model, cache: Option<CacheSpec>, how: &Evaluating) -> Result<OnProcessor> {
        let checked = self.checked;
        output::spares(&self.args.out, &model.paths)?;
        let cache = cache.unwrap_or_else(|| chosen_cache(checked, name.unwrap_or(&checked.run.target), model));
        let mut on = evaluated(self.view.counted(), model, cache, how)?;
        if name.is_none() {
            let unit = &model.unit;
            on.notes.extend(model_has_changed(&checked.run, |name| format!("a limit on {unit}[{name}]")));
        }
        Ok(on)
    }

    /// The model that the checked profile was recorded with, where that is called so: a file's, which reports name without its folder.
    fn recorded_as(&self, name: &str) -> Result<Option<Model>> {
        let run = &self.checked.run;
        let may_be = Library.is_path(&run.target) && Library.short_name(&run.target) == name;
        may_be.then(|| recorded_model(run)).transpose()
    }
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
