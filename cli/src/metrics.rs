//! The numbers of a view as columns: what it counted, and its cycles on several processors with several caches.

use crate::args::{Evaluating, Part, Processors};
use crate::loaded::processor::{
    chosen_cache, model_has_changed, model_of_option, model_of_recording, options_for, refuse_cache, with_options,
};
use crate::loaded::view::{Counted, Measured, Shape, View};
use crate::output;
use crate::progress::Progress;
use crate::usage::Usage;
use anyhow::{Context, Result, bail};
use cprof_profile::cache::CacheSpec;
use cprof_profile::cycles::{Columns, Options, evaluate};
use cprof_profile::metrics::{self, Metric};
use cprof_profile::model::Profile;
use cprof_profile::names::few;
use cprof_profile::target::{CycleEstimator, Model};
use cprof_profile::tree::Tree;
use std::collections::HashSet;
use std::path::Path;

/// A processor with a cache, and what a profile's nodes cost on it.
pub struct OnProcessor {
    /// The processor.
    pub model: Model,
    /// The model's name with the parameters that were set.
    pub name: String,
    /// Its method cache.
    pub cache: CacheSpec,
    /// A report would show this cache if none was asked for.
    pub own: bool,
    /// How it was evaluated.
    pub options: Options,
    /// Per node of the profile.
    pub nodes: Columns,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// How a metric of cycles is had where there is none.
pub const TARGET_ADDS: &str = "--target adds cycles, or allocations";

/// What a reader of cycles must know: each note once, with the columns that it is about.
#[derive(Default)]
pub struct Notes(Vec<(String, Vec<String>)>);

/// So many columns are named in a note.
const NAMED: usize = 4;

/// Metrics to show unless one is asked for, the one that says most first: cycles with the processor's own method cache, or what
/// else a model counts; cycles with others; bytecodes.
pub fn telling(processors: &[OnProcessor]) -> Vec<String> {
    let (own, others): (Vec<_>, Vec<_>) = processors.iter().partition(|p| p.own);
    let cycles = own.into_iter().chain(others).map(OnProcessor::column);
    cycles.chain(["bytecodes".to_owned()]).collect()
}

impl Notes {
    /// Of several processors.
    pub fn of(processors: &[OnProcessor]) -> Notes {
        let mut notes = Notes::default();
        processors.iter().for_each(|on| notes.add(on));
        notes
    }

    /// Adds a processor's.
    pub fn add(&mut self, on: &OnProcessor) {
        let column = on.column();
        for note in &on.notes {
            match self.0.iter_mut().find(|(same, _)| same == note) {
                Some((_, columns)) if columns.contains(&column) => {}
                Some((_, columns)) => columns.push(column.clone()),
                None => self.0.push((note.clone(), vec![column.clone()])),
            }
        }
    }

    /// About a profile's columns, one line each.
    pub fn lines(&self, file: &str) -> Vec<String> {
        let line = |(note, columns): &(String, Vec<String>)| {
            let named = few(columns, NAMED);
            format!("{file}: {named}: {note}")
        };
        self.0.iter().map(line).collect()
    }

    /// Says them on standard error, where a format has no room for them.
    pub fn tell(&self, file: &str) {
        output::notes(&self.lines(file));
    }
}

impl OnProcessor {
    /// The name of its numbers.
    pub fn column(&self) -> String {
        metrics::name_on(&self.model, &self.name, self.cache)
    }

    /// Its numbers, of a tree of the profile.
    pub fn metric(&self, tree: &Tree) -> Metric {
        metrics::on_model(tree, &self.model, &self.name, self.cache, &self.nodes)
    }
}

/// A view, evaluated on each processor that `on` or the recording names, with each of the caches that `on` names or that were
/// simulated. `out` is what will be written.
pub fn load(part: &Part, on: &Processors, out: &Path, shape: Shape) -> Result<(View, Vec<OnProcessor>)> {
    let measured = Measured::read(part)?;
    let progress = Progress::start(format!("evaluating {}", part.file.display()));
    let processors = processors(measured.counted(), on, out)?;
    drop(progress);
    Ok((View::new(measured, part, None, shape)?, processors))
}

/// Calls, exceptional exits and bytecodes; misses of the caches that were simulated; cycles on the processors. Of a tree of the
/// view's profile.
pub fn columns(view: &View, tree: &Tree, processors: &[OnProcessor]) -> Vec<Metric> {
    let mut all = metrics::counted(tree);
    all.extend(metrics::misses(&view.profile, tree));
    all.extend(processors.iter().map(|on| on.metric(tree)));
    all
}

/// The processors that `on` or the recording names, each once, by what they are named there. None of their parameters is set.
fn models<'n>(profile: &'n Profile, on: &'n Processors) -> Result<Vec<(&'n str, Model)>> {
    let recorded = Some(&profile.run).filter(|run| on.target.is_empty() && !run.target.is_empty());
    let named = on.target.iter().map(|name| (name.as_str(), model_of_option(name, &[])));
    let mut models: Vec<(&str, Model)> = Vec::new();
    for (name, model) in named.chain(recorded.map(|run| (run.target.as_str(), model_of_recording(run, &[])))) {
        let model = model?;
        match models.iter().map(|(_, other)| other).find(|other| other.name() == model.name()) {
            None => models.push((name, model)),
            Some(same) if same.paths == model.paths => {}
            // One column would be taken for the other.
            Some(other) => bail!(Usage(format!(
                "{} and {} are different models, and both are called {}; give one of the files another name",
                other.files[0],
                model.files[0],
                model.name()
            ))),
        }
    }
    Ok(models)
}

/// Evaluates a profile on the processors that `on` or the recording names, whose files must not be `out`, which will be written.
pub fn processors(counted: Counted<'_>, on: &Processors, out: &Path) -> Result<Vec<OnProcessor>> {
    let profile = counted.profile;
    let models = models(profile, on)?;
    output::spares(out, models.iter().flat_map(|(_, model)| &model.paths))?;
    if models.is_empty() {
        on.how.refuse_without_processor(on.cache.len())?;
    }
    let recorded = Some(&profile.run).filter(|_| on.target.is_empty());
    let changed = recorded.and_then(|run| model_has_changed(run, |name| format!("--target {name}")));
    let mut all = Vec::new();
    let some_processor = models.iter().any(|(_, model)| model.counts_cycles());
    if let Some((_, first)) = models.first().filter(|_| !some_processor) {
        if !on.cache.is_empty() {
            refuse_cache(first)?;
        }
        let is_nobodys = |parameter: &str| models.iter().all(|(_, model)| model.has(parameter).is_err());
        if let Some((parameter, _)) = on.how.set.iter().find(|(parameter, _)| is_nobodys(parameter)) {
            first.has(parameter).map_err(|e| Usage(e.to_string()))?;
        }
    }
    for (name, model) in models {
        let how = options_for(&on.how, &model, some_processor);
        let model = with_options(model, &how.set)?;
        let chosen = chosen_cache(profile, name, &model);
        let mut caches = match () {
            () if !model.counts_cycles() => Vec::new(),
            () if on.cache.is_empty() => profile.caches.clone(),
            () => on.cache.clone(),
        };
        if caches.is_empty() {
            caches.push(chosen);
        }
        let mut seen = HashSet::new();
        for cache in caches.into_iter().filter(|cache| seen.insert(*cache)) {
            let mut on = evaluated(counted, &model, cache, &how)?;
            on.own = cache == chosen;
            on.notes.extend(changed.clone());
            all.push(on);
        }
    }
    Ok(all)
}

/// Evaluates a profile on a processor with a cache.
pub fn evaluated(counted: Counted<'_>, model: &Model, cache: CacheSpec, how: &Evaluating) -> Result<OnProcessor> {
    let options = how.options(cache);
    let Counted { profile, measures, natives, file } = counted;
    let evaluation = evaluate(profile, measures, natives, model, &options)
        .with_context(|| format!("{file}: target {}, cache {cache}", model.name()))?;
    let name = how.named(model);
    Ok(OnProcessor { model: model.clone(), name, cache, own: false, options, nodes: evaluation.nodes, notes: evaluation.notes })
}
