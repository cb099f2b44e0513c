//! Many profiles made one: of several runs, several machines, several JDKs.
//!
//! What is the same is one: classes of the same bytes, name and loader, methods with the same flow, trees whose threads have the
//! same label, contexts with the same caller, method and call site. Their counts add up, so that the order of the
//! profiles makes no difference to any count. Classes of one name and different bytes stay apart; reports join them by name.
//!
//! Profiles are added one at a time, and memory is that of the result and of the one being added.

mod classes;
mod contexts;
mod executed;
mod facts;

use crate::cache::CacheSpec;
use crate::code::CodeError;
use crate::model::{Gap, Profile, Run};
use crate::target::ModelFile;
use classes::Classes;
use contexts::Contexts;
pub use facts::repeated;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// A profile that cannot be merged with the ones before.
#[derive(Debug, Error)]
pub enum MergeError {
    /// A class, flow or departure that no report could be made of.
    #[error("{file} cannot be merged")]
    Damaged {
        /// The profile.
        file: String,
        /// What is wrong.
        #[source]
        reason: CodeError,
    },
    /// It was recorded in a way that makes its contexts something else.
    #[error(
        "{file} was recorded {how} and {first} was not, so that their contexts are not the same thing. Merge such profiles apart from the others, or record all alike"
    )]
    Unlike {
        /// The profile.
        file: String,
        /// The one it does not go with.
        first: String,
        /// Which way.
        how: String,
    },
    /// Counts, contexts or methods are more than the file format can hold.
    #[error("with {file} the merged profile has {what}. Merge fewer profiles at a time")]
    TooLarge {
        /// The profile.
        file: String,
        /// Of what there is too much.
        what: &'static str,
    },
}

/// What [`Merger::finish`] answers.
#[derive(Debug)]
pub struct Merged {
    /// The profile.
    pub profile: Profile,
    /// What was lost in merging; these sentences are among the profile's warnings, too.
    pub notes: Vec<String>,
}

/// Profiles in the course of being merged.
#[derive(Debug, Default)]
pub struct Merger {
    runs: Vec<Run>,
    classes: Classes,
    contexts: Contexts,
    /// (class, method, reason), each once and in order.
    gaps: BTreeSet<(String, Option<String>, String)>,
    warnings: Vec<String>,
    /// Caches that all profiles so far have simulated; the outcomes are the contexts'.
    caches: Vec<CacheSpec>,
    /// The order in which the profiles have theirs, of several the first by name: which profile comes first makes no difference.
    cache_order: Option<Vec<String>>,
    /// Caches that some have not simulated, and which profile that was.
    left_out: BTreeMap<String, String>,
    /// One of the profiles was merged of runs that have no processor in common.
    without_target: bool,
    /// The files of the processor's model that the profiles so far have recorded, unless they differ.
    model: Option<Vec<ModelFile>>,
    first: Option<First>,
}

/// What all profiles must have in common with the first.
#[derive(Debug)]
struct First {
    file: String,
    sites: bool,
    /// [`Profile::bounds`].
    bounds: Vec<String>,
}

impl Merger {
    /// Adds a profile's counts; `file` is where it is from.
    ///
    /// # Errors
    /// See [`MergeError`]. The merger is of no use after an error.
    pub fn add(&mut self, mut profile: Profile, file: &str) -> Result<(), MergeError> {
        self.check_alike(&profile, file)?;
        self.keep_common_caches(&profile, file);
        let damaged = |reason| MergeError::Damaged { file: file.to_owned(), reason };
        let too_large = |what| MergeError::TooLarge { file: file.to_owned(), what };
        check_departures(&profile).map_err(damaged)?;
        let methods = self.classes.add(&mut profile, &self.contexts).map_err(damaged)?;
        self.contexts.add(&profile, &methods, &self.caches).map_err(too_large)?;
        self.gaps.extend(std::mem::take(&mut profile.gaps).into_iter().map(|g| (g.class, g.method, g.reason)));
        for warning in std::mem::take(&mut profile.warnings) {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        let model = std::mem::take(&mut profile.run.model);
        match &self.model {
            None if self.runs.is_empty() => self.model = Some(model),
            Some(same) if ModelFile::same(same, &model) => {}
            _ => self.model = None,
        }
        if profile.runs.is_empty() {
            self.runs.push(Run { file: file.to_owned(), facts: profile.run });
        } else {
            self.without_target |= profile.run.target.is_empty();
            self.runs.append(&mut profile.runs);
        }
        Ok(())
    }

    fn check_alike(&mut self, profile: &Profile, file: &str) -> Result<(), MergeError> {
        let run = &profile.run;
        let bounds = profile.bounds();
        let new = || First { file: file.to_owned(), sites: run.sites, bounds: bounds.clone() };
        let first = self.first.get_or_insert_with(new);
        let unlike = |this: bool, how: String| {
            let (file, first) = if this { (file, &*first.file) } else { (&*first.file, file) };
            Err(MergeError::Unlike { file: file.to_owned(), first: first.to_owned(), how })
        };
        if run.sites != first.sites {
            return unlike(run.sites, "with call sites (sites=on)".to_owned());
        }
        if bounds != first.bounds {
            let this = !bounds.is_empty();
            let bounds = if this { bounds } else { first.bounds.clone() };
            return unlike(this, format!("with contexts folded ({})", bounds.join(", ")));
        }
        Ok(())
    }

    /// A cache's misses are known when every run has simulated it. One that some have not is left out, and evaluating with it is
    /// then refused: zeros in its place would be wrong in every report, and refusing to merge would take the counts away, too.
    fn keep_common_caches(&mut self, profile: &Profile, file: &str) {
        let order: Vec<String> = profile.caches.iter().map(CacheSpec::to_string).collect();
        self.cache_order = Some(match self.cache_order.take() {
            Some(first) => first.min(order),
            None => order,
        });
        let Some(first) = self.first.as_ref().filter(|_| !self.runs.is_empty()) else {
            self.caches.clone_from(&profile.caches);
            self.contexts.set_caches(self.caches.len());
            return;
        };
        for cache in profile.caches.iter().filter(|c| !self.caches.contains(c)) {
            self.left_out.entry(cache.to_string()).or_insert_with(|| first.file.clone());
        }
        for at in (0..self.caches.len()).rev().filter(|&at| !profile.caches.contains(&self.caches[at])).collect::<Vec<_>>() {
            let cache = self.caches.remove(at);
            self.contexts.remove_cache(at);
            self.left_out.insert(cache.to_string(), file.to_owned());
        }
    }

    /// The merged profile.
    pub fn finish(self) -> Merged {
        let Merger { runs, classes, contexts, gaps, mut warnings, caches, cache_order, left_out, without_target, model, .. } =
            self;
        let mut notes: Vec<String> = left_out
            .iter()
            .map(|(cache, file)| {
                format!("method cache {cache} was left out: only what every run simulated can be added up, and {file} did not simulate it")
            })
            .collect();
        let mut run = facts::combine(&runs, model.as_ref().is_some_and(|model| !model.is_empty()), &mut notes);
        if model.is_none() && !run.target.is_empty() {
            notes.push(format!(
                "the runs were recorded with different models of {}: reports show none unless one is named with --target",
                run.target
            ));
        }
        let mut fixed = runs.iter().map(|run| run.facts.fixed_cache());
        let first = fixed.next();
        let without_cache = caches.is_empty() && !run.target.is_empty() && !fixed.all(|cache| Some(cache) == first);
        if without_cache && left_out.is_empty() {
            notes.push(
                "the runs were recorded for different method caches that need no simulation (ideal, none): reports show no processor unless one is named with --target and --cache"
                    .to_owned(),
            );
        }
        if !left_out.is_empty() || without_target || without_cache || model.is_none() {
            // A report would show this processor with its cache unless asked for another.
            run.target.clear();
        } else {
            run.model = model.filter(|_| !run.target.is_empty()).unwrap_or_default();
        }
        for note in &notes {
            if !warnings.contains(note) {
                warnings.push(note.clone());
            }
        }
        let gaps = gaps.into_iter().map(|(class, method, reason)| Gap { class, method, reason }).collect();
        let columns = contexts.finish(&classes.methods, run.sites);
        // Reports may take the first.
        let order = cache_order.unwrap_or_default();
        let mut simulated: Vec<_> = caches.into_iter().zip(columns.misses).collect();
        simulated.sort_by_cached_key(|(cache, _)| order.iter().position(|name| *name == cache.to_string()));
        let (caches, misses) = simulated.into_iter().unzip();
        let native_sites = classes.native_sites();
        let profile = Profile {
            run,
            runs,
            classes: classes.classes,
            methods: classes.methods,
            natives: classes.natives,
            native_sites,
            threads: columns.threads,
            nodes: columns.nodes,
            departures: columns.departures,
            caches,
            misses,
            gaps,
            warnings,
        };
        Merged { profile, notes }
    }
}

/// Every departure must be in a block of its method.
fn check_departures(profile: &Profile) -> Result<(), CodeError> {
    for departure in &profile.departures {
        let method = profile.methods.get(profile.nodes.method[departure.node as usize] as usize);
        if let Some(method) = method.filter(|m| m.flow.block_at(departure.bci).is_none()) {
            let class = profile.classes[method.class as usize].name.clone();
            return Err(CodeError { class, reason: format!("{} has no bytecode {}", method.name, departure.bci) });
        }
    }
    Ok(())
}
