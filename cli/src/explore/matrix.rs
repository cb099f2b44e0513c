//! Which configurations are compared: a matrix, all of whose combinations are.

use super::settings;
use crate::report::processor::{chosen_cache, model};
use anyhow::{Context, Result, bail};
use cprof_profile::cache::CacheSpec;
use cprof_profile::model::Profile;
use cprof_profile::target::{self, Library, Place, TargetError};
use serde::Deserialize;
use std::collections::BTreeMap;
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
    pub target: String,
    pub cache: CacheSpec,
    pub set: Vec<(String, i64)>,
}

impl Configuration {
    pub fn name(&self) -> String {
        format!("{}, {}{}", self.target, self.cache, settings(self.set.iter().map(|(name, value)| (name, value))))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    targets: Vec<Spanned<String>>,
    /// None: those that were simulated, ideal and none.
    caches: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    set: BTreeMap<Spanned<String>, Vec<i64>>,
    base: Option<Base>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    target: Spanned<String>,
    cache: Option<Spanned<String>>,
    #[serde(default)]
    set: BTreeMap<Spanned<String>, i64>,
}

/// Reads a matrix, the default one for none, for a profile.
pub fn read(path: Option<&Path>, profile: &Profile) -> Result<Matrix> {
    let name = path.map_or_else(|| "the default matrix".to_owned(), |path| path.display().to_string());
    let text = match path {
        Some(path) => {
            let bytes = target::read(path).with_context(|| format!("cannot read the matrix {name}"))?;
            target::text(&name, bytes)?
        }
        None => DEFAULT.to_owned(),
    };
    let file: File = toml::from_str(&text).map_err(|e| TargetError::of_toml(&name, &text, &e))?;
    Source { name: &name, text: &text }.matrix(file, profile)
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

    fn cache(&self, text: &Spanned<String>) -> Result<CacheSpec, TargetError> {
        text.get_ref().parse().map_err(|e| self.wrong(text, e))
    }

    /// That there is such a processor, and that it has these parameters.
    fn check<'a>(
        &self,
        target: &Spanned<String>,
        mut parameters: impl Iterator<Item = &'a Spanned<String>>,
    ) -> Result<(), TargetError> {
        let model = Library.load(target.get_ref()).map_err(|e| self.wrong(target, e))?;
        parameters.try_for_each(|name| model.has(name.get_ref()).map_err(|e| self.wrong(name, e)))
    }

    /// All combinations, and the base.
    fn matrix(&self, file: File, profile: &Profile) -> Result<Matrix> {
        let caches: Vec<CacheSpec> = match &file.caches {
            Some(caches) => caches.iter().map(|cache| self.cache(cache)).collect::<Result<_, _>>()?,
            None => profile.caches.iter().copied().chain([CacheSpec::IDEAL, CacheSpec::NONE]).collect(),
        };
        // Counted before there is memory taken for them.
        let mut count = file.targets.len().saturating_mul(caches.len());
        for (name, values) in &file.set {
            if values.is_empty() {
                bail!(self.wrong(name, format!("{} has no values; give it some, or leave it out", name.get_ref())));
            }
            count = count.saturating_mul(values.len());
        }
        if count == 0 || count > MOST {
            bail!("{} has {count} configurations; it must have at least one and at most {MOST}", self.name);
        }
        let mut sets: Vec<Vec<(String, i64)>> = vec![Vec::new()];
        for (name, values) in &file.set {
            let with = |set: &Vec<(String, i64)>, v: i64| set.iter().cloned().chain([(name.get_ref().clone(), v)]).collect();
            sets = sets.iter().flat_map(|set| values.iter().map(move |&v| with(set, v))).collect();
        }
        let mut configurations = Vec::new();
        for target in &file.targets {
            self.check(target, file.set.keys())?;
            for &cache in &caches {
                configurations.extend(sets.iter().map(|set| Configuration {
                    target: target.get_ref().clone(),
                    cache,
                    set: set.clone(),
                }));
            }
        }
        let base = file.base.map(|base| self.base(base, profile)).transpose()?;
        Ok(Matrix { configurations, base })
    }

    /// Without a cache, with the one that reports choose.
    fn base(&self, base: Base, profile: &Profile) -> Result<Configuration> {
        self.check(&base.target, base.set.keys())?;
        let set: Vec<_> = base.set.into_iter().map(|(name, value)| (name.into_inner(), value)).collect();
        let target = base.target.into_inner();
        let cache = match &base.cache {
            Some(text) => self.cache(text)?,
            None => chosen_cache(profile, &model(&target, &set)?),
        };
        Ok(Configuration { target, cache, set })
    }
}
