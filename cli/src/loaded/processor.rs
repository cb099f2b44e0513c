//! Columns and lines of a report about a processor (`--target`).

use super::view::{Evaluated, share};
use crate::args::{Evaluating, OnTarget};
use crate::usage::Usage;
use anyhow::{Context, Result, bail};
use cprof_profile::cache::CacheSpec;
use cprof_profile::cycles::{Metrics, NotSimulated, Outcomes, evaluate};
use cprof_profile::measure::Measures;
use cprof_profile::model::{Profile, RunFacts};
use cprof_profile::natives::NativeCalls;
use cprof_profile::target::{self, CYCLES, CycleEstimator, Library, Model, ModelFile, TargetError};
use serde::Serialize;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// The model that `--target` names, with its parameters set.
pub fn model_of_option(name: &str, set: &[(String, i64)]) -> Result<Model> {
    // What is wrong with a file is no matter of options.
    let wrong = |e: TargetError| if Library.is_named(name) { e.into() } else { anyhow::Error::from(Usage(e.to_string())) };
    with_options(Library.load(name).map_err(wrong)?, set)
}

/// The model that a recording names, with the parameters that the options set.
pub fn model_of_recording(run: &RunFacts, set: &[(String, i64)]) -> Result<Model> {
    let way_out =
        || format!("the recording names the processor {}; --target chooses another, --target bytecodes none", run.target);
    with_options(recorded_model(run).with_context(way_out)?, set)
}

/// The model that a recording names.
pub fn recorded_model(run: &RunFacts) -> Result<Model> {
    let name = &*run.target;
    if !run.model.is_empty() {
        return Ok(Library.recorded(name, &run.model)?);
    }
    // Whoever sent the profile chose the name: a pipe would be waited for.
    if Library.is_path(name) && fs::metadata(name).is_ok_and(|named| !named.is_file()) {
        bail!("{name} is no file");
    }
    Ok(Library.load(name)?)
}

/// That the model of a recording is no longer what it was, for who expects its file to be read; `way_out` says how it is.
pub fn model_has_changed(run: &RunFacts, way_out: impl FnOnce(&str) -> String) -> Option<String> {
    let is_another = |kept: &ModelFile| {
        let path = Path::new(&kept.path);
        // As above.
        fs::metadata(path).is_ok_and(|named| named.is_file()) && target::read(path).is_ok_and(|now| now != kept.text.as_bytes())
    };
    let file = &run.model.iter().find(|kept| is_another(kept))?.path;
    let way_out = way_out(&run.target);
    Some(format!("{file} has changed since that was recorded, and this is the model as it was; {way_out} takes it as it is now"))
}

/// A model with the parameters that the options set.
pub fn with_options(model: Model, set: &[(String, i64)]) -> Result<Model> {
    with(model, set).map_err(|e| Usage(e.to_string()).into())
}

/// A model with other values for its parameters.
pub fn with(mut model: Model, set: &[(String, i64)]) -> Result<Model> {
    let mut names = HashSet::new();
    if let Some((twice, _)) = set.iter().find(|(parameter, _)| !names.insert(parameter)) {
        bail!(Usage(format!("--set gives {twice} a value more than once; give it one")));
    }
    model.set(set.iter().map(|(name, value)| (name.as_str(), *value)))?;
    Ok(model)
}

/// Evaluates a profile as the options say, into its measures: on the processor of `--target`, or else of the recording; none
/// without either.
pub fn load(args: &OnTarget, profile: &Profile, measures: &mut Measures, natives: &[NativeCalls]) -> Result<Option<Evaluated>> {
    let recorded = Some(&profile.run.target).filter(|name| !name.is_empty());
    let Some(name) = args.target.as_ref().or(recorded) else {
        args.how.refuse_without_processor(args.cache.iter().len())?;
        return Ok(None);
    };
    let model = match &args.target {
        Some(name) => model_of_option(name, &args.how.set),
        None => model_of_recording(&profile.run, &args.how.set),
    }?;
    if args.cache.is_some() {
        refuse_cache(&model)?;
    }
    let cache = args.cache.unwrap_or_else(|| chosen_cache(profile, name, &model));
    let options = args.how.options(cache);
    let evaluation = evaluate(profile, measures, natives, &model, &options).map_err(|e| hint(e.into(), profile, name))?;
    measures.processor = evaluation.nodes;
    let mut notes = evaluation.notes;
    if args.target.is_none() {
        notes.extend(model_has_changed(&profile.run, |name| format!("--target {name}")));
    }
    let name = args.how.named(&model);
    Ok(Some(Evaluated { model, name, cache, notes, options }))
}

/// What the options mean to a model: one that counts something else than cycles takes the parameters that it has, and `beside`
/// processors the rest of the options is about these.
pub fn options_for(how: &Evaluating, model: &Model, beside: bool) -> Evaluating {
    let mut how = how.clone();
    if !model.counts_cycles() {
        how.set.retain(|(parameter, _)| model.has(parameter).is_ok());
        how.no_upcalls &= !beside;
        how.no_exceptions &= !beside;
    }
    how
}

/// Why a model that counts something else than cycles has no method cache, and what to leave out.
pub fn has_no_cache(model: &Model, given: &str) -> String {
    format!("{} counts {}, which no method cache changes; leave {given} out", model.name(), model.unit)
}

/// Refuses the option of a method cache for such a model.
pub fn refuse_cache(model: &Model) -> Result<()> {
    if model.counts_cycles() { Ok(()) } else { bail!(Usage(has_no_cache(model, "--cache"))) }
}

/// The cache of the model that is named so, for a recording: its own, if it was simulated in any scope; where none was, because
/// the recording was to be with one like `ideal`, that, unless this is another processor whose own is such a one. Who recorded for it
/// with other caches wants to see the first of those.
pub fn chosen_cache(profile: &Profile, name: &str, model: &Model) -> CacheSpec {
    let wanted = model.cache();
    if !model.counts_cycles() {
        return wanted;
    }
    let same = |c: &&CacheSpec| (c.kind, c.size, c.blocks) == (wanted.kind, wanted.size, wanted.blocks);
    let own = profile.caches.iter().find(|c| **c == wanted).or_else(|| profile.caches.iter().find(same)).copied();
    // A file's name is kept in full.
    let in_full = |name: &str| Library.is_path(name).then(|| fs::canonicalize(name).ok()).flatten();
    let is_recorded = name == profile.run.target || in_full(name).is_some_and(|path| Some(path) == in_full(&profile.run.target));
    let fixed = || profile.fixed_cache().filter(|_| profile.caches.is_empty() && (is_recorded || !wanted.is_fixed()));
    let own = own.or_else(fixed).unwrap_or(wanted);
    let simulated = profile.caches.first().filter(|_| is_recorded && Outcomes::of(profile, own).is_err());
    simulated.copied().unwrap_or(own)
}

/// Says which model it is about, where the error does not.
fn hint(e: anyhow::Error, profile: &Profile, target: &str) -> anyhow::Error {
    match e.downcast_ref::<NotSimulated>() {
        Some(e) if Outcomes::of(profile, e.wanted).is_err() => anyhow::anyhow!("target {target}: {e}"),
        _ if e.to_string().starts_with(&format!("{target}:")) => e,
        _ => e.context(format!("target {target}")),
    }
}

/// Cycles per bytecode; none where no bytecode was executed.
pub fn cpi(cycles: u64, bytecodes: u64) -> Option<f64> {
    (bytecodes > 0).then(|| cycles as f64 / bytecodes as f64)
}

/// Two digits after the point, or `-`.
pub fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"))
}

/// A share between 0 and 1 as percent.
pub fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{:.2}%", v * 100.0))
}

/// The numbers of a row; the names are those of the CSV, also where cycles are what a model counts instead.
#[derive(Serialize)]
pub struct Columns {
    cycles: u64,
    cycles_total: u64,
    entry_misses: u64,
    return_misses: u64,
    hit_rate: Option<f64>,
    cpi: Option<f64>,
}

/// Their names, after the others of a CSV header.
pub const HEADER: &str = ",cycles,cycles_total,entry_misses,return_misses,hit_rate,cpi";

impl Columns {
    /// A row's.
    pub fn new(metrics: &Metrics, cycles_total: u64, bytecodes: u64) -> Columns {
        Columns {
            cycles: metrics.cycles,
            cycles_total,
            entry_misses: metrics.entry_misses,
            return_misses: metrics.return_misses,
            hit_rate: metrics.hit_rate(),
            cpi: cpi(metrics.cycles, bytecodes),
        }
    }

    /// As fields of a CSV row, each after a comma. Rates have six digits, and are empty where there is nothing to divide by.
    pub fn csv(&self) -> String {
        let rate = |r: Option<f64>| r.map(|r| format!("{r:.6}")).unwrap_or_default();
        let Columns { cycles, cycles_total, entry_misses, return_misses, .. } = self;
        format!(",{cycles},{cycles_total},{entry_misses},{return_misses},{},{}", rate(self.hit_rate), rate(self.cpi))
    }
}

/// Sums, and what they are of.
#[derive(Serialize)]
pub struct Sums<'a> {
    target: &'a str,
    accuracy: String,
    /// What the cycles are, if they are none.
    unit: &'a str,
    cache: String,
    cycles: u64,
    cpi: Option<f64>,
    clock_mhz: Option<u64>,
    milliseconds: Option<f64>,
    entry_misses: u64,
    return_misses: u64,
    lookups: u64,
    hit_rate: Option<f64>,
    estimated_cycles: u64,
    upcall_cycles: u64,
    upcalls_included: bool,
    exception_cycles: u64,
    exceptions_included: bool,
    notes: &'a [String],
}

impl<'a> Sums<'a> {
    /// Of a report.
    pub fn new(on: &'a Evaluated, m: &Metrics, bytecodes: u64) -> Sums<'a> {
        let clock_mhz = on.model.clock_mhz();
        Sums {
            target: &on.name,
            accuracy: on.model.accuracy.to_string(),
            unit: &on.model.unit,
            cache: on.cache.to_string(),
            cycles: m.cycles,
            cpi: cpi(m.cycles, bytecodes),
            clock_mhz,
            milliseconds: clock_mhz.map(|mhz| m.cycles as f64 / (mhz as f64 * 1000.0)),
            entry_misses: m.entry_misses,
            return_misses: m.return_misses,
            lookups: m.lookups(),
            hit_rate: m.hit_rate(),
            estimated_cycles: m.estimated,
            upcall_cycles: m.upcalls,
            upcalls_included: !on.options.without_upcalls,
            exception_cycles: m.exceptions,
            exceptions_included: !on.options.without_exceptions && !on.model.only_completed(),
            notes: &on.notes,
        }
    }

    /// As lines for people: name, number, and what is to be said about it.
    pub fn lines(&self) -> Vec<(String, u64, String)> {
        let unit = self.unit;
        let time = match (self.milliseconds, self.clock_mhz) {
            (Some(ms), Some(mhz)) => format!("{ms:.3} ms at {mhz} MHz, "),
            _ => String::new(),
        };
        let about = match (unit, self.target) {
            (CYCLES, target) => format!("on {target} (model: {}): {time}CPI {}", self.accuracy, ratio(self.cpi)),
            (unit, target) if unit == target => format!("({})", self.accuracy),
            (_, target) => format!("by {target} ({})", self.accuracy),
        };
        let mut lines = vec![(unit.to_owned(), self.cycles, about)];
        if !self.cache.starts_with(&CacheSpec::IDEAL.to_string()) {
            let rate = percent(self.hit_rate);
            lines.push((
                "entry misses".to_owned(),
                self.entry_misses,
                format!("of method cache {}: hit rate {rate}", self.cache),
            ));
            lines.push(("return misses".to_owned(), self.return_misses, String::new()));
        }
        if self.estimated_cycles > 0 {
            lines.push((
                format!("estimated {unit}"),
                self.estimated_cycles,
                format!("averages, {} of all", share(self.estimated_cycles, self.cycles)),
            ));
        }
        if self.upcalls_included && self.upcall_cycles > 0 {
            lines.push((
                format!("upcall {unit}"),
                self.upcall_cycles,
                "calls by the JVM and native code; --no-upcalls leaves them out".to_owned(),
            ));
        }
        if self.exceptions_included && self.exception_cycles > 0 {
            lines.push((
                format!("exception {unit}"),
                self.exception_cycles,
                "bytecodes that threw; --no-exceptions leaves them out".to_owned(),
            ));
        }
        lines
    }
}
