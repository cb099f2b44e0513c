//! Which configurations are compared: a matrix, all of whose combinations are.

use crate::args::settings;
use crate::loaded::processor::{chosen_cache, recorded_model, with};
use crate::output;
use anyhow::{Context, Result, bail};
use cprof_profile::cache::CacheSpec;
use cprof_profile::cycles::Outcomes;
use cprof_profile::model::{Profile, RunFacts};
use cprof_profile::names::thousands;
use cprof_profile::target::{self, CycleEstimator, Library, Model, Place, TargetError};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::path::Path;
use toml::Spanned;

/// The matrix when none is given.
const DEFAULT: &str = include_str!("../../../targets/matrices/default.toml");

/// More configurations than this are taken for a mistake.
const MOST: usize = 10_000;

/// What a matrix comes to.
pub struct Matrix {
    /// All combinations; at least one.
    pub configurations: Vec<Configuration>,
    /// What speedups are against; none: the first configuration.
    pub base: Option<Configuration>,
}

/// A processor with its cache and parameters.
#[derive(Clone)]
pub struct Configuration {
    /// What it is called.
    pub target: String,
    /// It is the one that was recorded for, whatever is in the file of that name now.
    pub is_recorded: bool,
    pub cache: CacheSpec,
    pub set: Vec<(String, i64)>,
}

impl Configuration {
    pub fn name(&self) -> String {
        format!("{}, {}{}", self.target, self.cache, settings(self.set.iter().map(|(name, value)| (name, value))))
    }

    /// Its model, for a recording.
    pub fn model(&self, run: &RunFacts) -> Result<Model> {
        let model = if self.is_recorded { recorded_model(run)? } else { Library.load(&self.target)? };
        with(model, &self.set)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// None: that of the recording.
    targets: Option<Vec<Spanned<String>>>,
    /// None: those that were simulated, ideal and none.
    caches: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    set: BTreeMap<Spanned<String>, Vec<Spanned<i64>>>,
    base: Option<Base>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    /// As above.
    target: Option<Spanned<String>>,
    cache: Option<Spanned<String>>,
    #[serde(default)]
    set: BTreeMap<Spanned<String>, Spanned<i64>>,
}

/// Reads a matrix for a profile. Without one, it is the default one, with the processor of the recording before the others.
pub fn read(path: Option<&Path>, profile: &Profile) -> Result<Matrix> {
    let Some(path) = path else {
        let mut matrix = parse("the default matrix", DEFAULT, profile)?;
        let recorded = &*profile.run.target;
        if !recorded.is_empty() && matrix.configurations.iter().all(|c| c.target != recorded) {
            if let Ok(model) = recorded_model(&profile.run)
                && !model.counts_cycles()
            {
                let unit = &model.unit;
                output::tell(format_args!("the recording is for {recorded}, which counts {unit}: it is left out of cycles"));
                return Ok(matrix);
            }
            match parse("the recording's processor", "", profile) {
                Ok(own) => matrix.configurations.splice(..0, own.configurations).for_each(drop),
                Err(e) => output::tell(format_args!("the processor {recorded} of the recording is left out: {e:#}")),
            }
        }
        return Ok(matrix);
    };
    let name = path.display().to_string();
    let bytes = target::read(path).with_context(|| format!("cannot read the matrix {name}"))?;
    parse(&name, &target::text(&name, bytes)?, profile)
}

fn parse(name: &str, text: &str, profile: &Profile) -> Result<Matrix> {
    let file: File = toml::from_str(text).map_err(|e| TargetError::of_toml(name, text, &e))?;
    Source { name, text }.matrix(file, profile)
}

/// Knows where things stand in the file.
struct Source<'s> {
    name: &'s str,
    text: &'s str,
}

impl Source<'_> {
    /// An error with the place of what it is about.
    fn wrong<T>(&self, what: &Spanned<T>, e: impl Display) -> TargetError {
        TargetError { place: Some(Place::behind(self.name, &self.text[..what.span().start])), message: e.to_string() }
    }

    /// A cache whose misses the recording knows.
    fn cache(&self, text: &Spanned<String>, profile: &Profile) -> Result<CacheSpec, TargetError> {
        let cache = text.get_ref().parse().map_err(|e| self.wrong(text, e))?;
        Outcomes::of(profile, cache).map_err(|e| self.wrong(text, e))?;
        Ok(cache)
    }

    /// A processor, the recording's for none: what it is called, and that it has these parameters.
    fn target<'a>(
        &self,
        target: Option<&Spanned<String>>,
        set: impl Iterator<Item = (&'a Spanned<String>, &'a [Spanned<i64>])>,
        run: &RunFacts,
        (whose, example): (&str, &str),
    ) -> Result<String> {
        let model = match target {
            Some(target) => Library.load(target.get_ref()).map_err(|e| self.wrong(target, e))?,
            None if run.target.is_empty() => {
                bail!("{}: {whose} names no processor, and the recording is for none; give it one, as {example}", self.name)
            }
            None => {
                recorded_model(run).with_context(|| format!("{} takes the recording's processor, {}", self.name, run.target))?
            }
        };
        if !model.counts_cycles() {
            let reason = format!("{} counts {}, and cycles are compared; name a processor", model.name(), model.unit);
            match target {
                Some(target) => bail!(self.wrong(target, reason)),
                None => bail!("{}: the recording's {reason}, as {example}", self.name),
            }
        }
        for (name, values) in set {
            model.has(name.get_ref()).map_err(|e| self.wrong(name, e))?;
            for value in values {
                model.takes(name.get_ref(), *value.get_ref()).map_err(|e| self.wrong(value, e))?;
            }
        }
        Ok(target.map_or(&run.target, |target| target.get_ref()).clone())
    }

    /// All combinations, and the base.
    fn matrix(&self, file: File, profile: &Profile) -> Result<Matrix> {
        let caches: Vec<CacheSpec> = match &file.caches {
            Some(caches) => caches.iter().map(|cache| self.cache(cache, profile)).collect::<Result<_, _>>()?,
            None => {
                let simulated = profile.caches.iter().copied().filter(|cache| !cache.is_fixed());
                simulated.chain([CacheSpec::IDEAL, CacheSpec::NONE]).collect()
            }
        };
        // None of its own: that of the recording.
        let targets: Vec<Option<&Spanned<String>>> =
            file.targets.as_ref().map_or_else(|| vec![None], |targets| targets.iter().map(Some).collect());
        // Counted before there is memory taken for them.
        let mut count = targets.len().saturating_mul(caches.len());
        for (name, values) in &file.set {
            if values.is_empty() {
                bail!(self.wrong(name, format!("{} has no values; give it some, or leave it out", name.get_ref())));
            }
            count = count.saturating_mul(values.len());
        }
        for (name, is_empty) in [("targets", targets.is_empty()), ("caches", caches.is_empty())] {
            if is_empty {
                bail!("{}: {name} is empty; give it some, or leave it out", self.name);
            }
        }
        if count > MOST {
            bail!(
                "{} has {} configurations, more than the {} that are taken",
                self.name,
                thousands(count as u64),
                thousands(MOST as u64)
            );
        }
        let mut sets: Vec<Vec<(String, i64)>> = vec![Vec::new()];
        for (name, values) in &file.set {
            let with = |set: &Vec<(String, i64)>, v: i64| set.iter().cloned().chain([(name.get_ref().clone(), v)]).collect();
            sets = sets.iter().flat_map(|set| values.iter().map(move |v| with(set, *v.get_ref()))).collect();
        }
        let mut configurations = Vec::new();
        for named in targets {
            let set = file.set.iter().map(|(name, values)| (name, values.as_slice()));
            let target = self.target(named, set, &profile.run, ("it", "targets = [\"jop\"]"))?;
            let is_recorded = named.is_none();
            for &cache in &caches {
                let with = |set: &Vec<_>| Configuration { target: target.clone(), is_recorded, cache, set: set.clone() };
                configurations.extend(sets.iter().map(with));
            }
        }
        let mut names = HashSet::new();
        if let Some(twice) = configurations.iter().map(Configuration::name).find(|name| !names.insert(name.clone())) {
            bail!("{} has {twice} more than once; name each processor, cache and value once", self.name);
        }
        let base = file.base.map(|base| self.base(base, profile)).transpose()?;
        Ok(Matrix { configurations, base })
    }

    /// Without a cache, with the one that reports choose.
    fn base(&self, base: Base, profile: &Profile) -> Result<Configuration> {
        let set = base.set.iter().map(|(name, value)| (name, std::slice::from_ref(value)));
        let target = self.target(base.target.as_ref(), set, &profile.run, ("[base]", "target = \"jop\""))?;
        let set = base.set.into_iter().map(|(name, value)| (name.into_inner(), value.into_inner())).collect();
        let mut base_of = Configuration { target, is_recorded: base.target.is_none(), cache: CacheSpec::IDEAL, set };
        base_of.cache = match &base.cache {
            Some(text) => self.cache(text, profile)?,
            None => chosen_cache(profile, &base_of.target, &base_of.model(&profile.run)?),
        };
        Ok(base_of)
    }
}
