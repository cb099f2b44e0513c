//! Which model a budget's metric is of.

use crate::args::{Check, Evaluating, setting};
use crate::loaded::processor::{chosen_cache, has_no_cache, model_has_changed, options_for, recorded_model, with};
use crate::loaded::view::View;
use crate::metrics::{OnProcessor, evaluated};
use crate::output;
use anyhow::{Context, Result, bail};
use cprof_compare::budget::Budget;
use cprof_profile::cache::CacheSpec;
use cprof_profile::model::Profile;
use cprof_profile::target::source::METRICS_WITHOUT_MODEL;
use cprof_profile::target::{CYCLES, CycleEstimator, Library, Model};

/// What a metric's name is read beside.
pub struct Named<'a> {
    /// The profile, or the baseline.
    pub view: &'a View,
    /// The profile.
    pub checked: &'a Profile,
    /// The options.
    pub args: &'a Check,
    /// As [`limits_cycles`] answers.
    pub beside: bool,
}

/// Whether a name may be of a model, whatever the recording is for.
pub fn may_be_of_model(metric: &str) -> bool {
    !METRICS_WITHOUT_MODEL.contains(&unit_of(metric))
}

/// Whether some limit is of cycles: then options are about processors, see [`options_for`].
pub fn limits_cycles(budgets: &[Budget]) -> bool {
    let mut metrics = budgets.iter().flat_map(|budget| &budget.limits).map(|(limit, _)| limit.metric.as_str());
    metrics.any(|metric| unit_of(metric) == CYCLES)
}

/// `cycles` of `cycles[jop]`.
fn unit_of(metric: &str) -> &str {
    metric.split_once('[').map_or(metric, |(unit, _)| unit)
}

/// `jop,4k/16` of `cycles[jop,4k/16]`, `mine.toml` of `accesses[mine.toml]`, and a model that comes with cprof and is called like
/// what it counts, by that. What there is without a model is none's, nor is what is called by a cache alone, as misses are.
fn model_in(metric: &str) -> Option<&str> {
    match metric.split_once('[') {
        Some((unit, _)) if METRICS_WITHOUT_MODEL.contains(&unit) => None,
        Some((_, model)) => model.strip_suffix(']').filter(|model| model.parse::<CacheSpec>().is_err()),
        None => Some(metric).filter(|name| counts_itself(name)),
    }
}

/// Whether a name is that of a model that comes with cprof and of what it counts: a processor's cycles are not called like it.
fn counts_itself(name: &str) -> bool {
    !Library.is_path(name) && Library.load(name).is_ok_and(|model| model.unit == name)
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
        () if model.counts_cycles() => format!("{counts}[{processor}]"),
        () => format!("{counts}[{without_cache}]"),
    };
    bail!("{} counts {counts}: there is no {metric}, but {right}", model.name())
}

impl Named<'_> {
    /// What a name means; none for what is of no model.
    pub fn numbers(&self, metric: &str) -> Option<Result<OnProcessor>> {
        let run = &self.checked.run;
        let is_recorded = || may_be_of_model(metric) && recorded_model(run).is_ok_and(|model| model.unit == metric);
        match model_in(metric) {
            Some(model) => Some(self.named(metric, model)),
            None if !run.target.is_empty() && (metric == CYCLES || is_recorded()) => Some(self.recorded(metric)),
            None => None,
        }
    }

    /// Of a model that is named: `jop`, `jop,4k/16` or `jop rws=3,4k/16`.
    fn named(&self, metric: &str, named: &str) -> Result<OnProcessor> {
        let (before, cache) = match named.split_once(',') {
            Some((before, cache)) => (before.trim(), Some(cache)),
            None => (named.trim(), None),
        };
        let (name, _) = settings(before, &self.args.how)?;
        let (is_recorded, model) = match self.recorded_as(name)? {
            Some(model) => (true, model),
            None => (false, Library.load(name)?),
        };
        named_rightly(metric, (named, name), &model)?;
        let (_, how) = settings(before, &options_for(&self.args.how, &model, self.beside))?;
        let model = with(model, &how.set)?;
        let cache = cache.map(str::parse::<CacheSpec>).transpose()?;
        if cache.is_some() && !model.counts_cycles() {
            bail!(has_no_cache(&model, "the cache"));
        }
        self.evaluated(Some(name).filter(|_| !is_recorded), &model, cache, &how)
    }

    /// Of the model with which the checked profile was recorded.
    fn recorded(&self, metric: &str) -> Result<OnProcessor> {
        let target = &self.checked.run.target;
        let model = recorded_model(&self.checked.run).with_context(|| of_recording(target))?;
        if model.unit != metric {
            bail!("the recording is for {}, which counts {}; name a processor, as cycles[jop]", model.name(), model.unit);
        }
        let how = options_for(&self.args.how, &model, self.beside);
        let model = with(model, &how.set)?;
        self.evaluated(None, &model, None, &how)
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
        may_be.then(|| recorded_model(run).with_context(|| of_recording(&run.target))).transpose()
    }
}

/// Whose model cannot be read, and what to do.
fn of_recording(target: &str) -> String {
    format!("the recording names the processor {target}; name another, as cycles[jop]")
}

/// `jop` of `jop rws=3 no-upcalls`, which is how metrics of a processor are called with another parameter and without that; and both
/// beside what options say.
fn settings<'n>(mut name: &'n str, how: &Evaluating) -> Result<(&'n str, Evaluating)> {
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
    Ok((name, Evaluating { set, no_upcalls: left_out.0, no_exceptions: left_out.1 }))
}
