//! The options about the processor: its model, and the method caches to simulate.

use super::{Options, Wrong};
use crate::cache::{CacheKind, CacheSpec, Scope};
use crate::file;
use crate::target::{CycleEstimator, Library, ModelFile, TargetError};
use cprof_instrument::abi::{caches, event};
use std::path::PathBuf;

/// Most blocks of a cache, so that numbers of blocks stay within 31 bits while it is simulated.
pub const MOST_BLOCKS: u32 = 1 << 20;

/// How these caches are simulated: a value of [`caches`].
pub fn simulation(specs: &[CacheSpec]) -> u32 {
    match specs {
        [] => caches::OFF,
        [CacheSpec { kind: CacheKind::Fifo, scope: Scope::Thread, .. }] => caches::INLINE,
        _ => caches::LOGGED,
    }
}

/// What was given.
#[derive(Debug, Default)]
pub(super) struct Caches {
    target: Option<String>,
    caches: Option<Vec<CacheSpec>>,
    scope: Option<Scope>,
}

impl Caches {
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), Wrong> {
        match (name, value) {
            ("target", _) => self.target = Some(value.to_owned()),
            ("cache", _) => self.caches = Some(CacheSpec::list(value).map_err(|e| Wrong(format!("cache={value}: {e}")))?),
            (_, "thread") => self.scope = Some(Scope::Thread),
            (_, "shared") => self.scope = Some(Scope::Shared),
            _ => return Err(Wrong(format!("cache-scope={value} is not valid; cache-scope= takes thread or shared"))),
        }
        Ok(())
    }

    /// Fills in what follows, when all options are known.
    pub(super) fn check(self, options: &mut Options) -> Result<(), Wrong> {
        let mut caches = self.caches;
        if let Some(target) = self.target {
            let wrong = |e: TargetError| Wrong(format!("target={target}: {e}"));
            let model = Library.load(&target).map_err(wrong)?;
            // Which sizes methods have is known too late. Those that come with cprof are tested.
            if Library.is_path(&target) {
                model.try_all_sizes().map_err(wrong)?;
            }
            if file::same(&options.out, &model.paths).is_some() {
                let out = options.out.display();
                return Err(Wrong(format!(
                    "out={out} is read for target={target}, and would be written over; name another file"
                )));
            }
            // Without another wish, the processor's own.
            caches = caches.or_else(|| Some(vec![model.cache()]));
            // A report may be asked for elsewhere.
            let file = Library.is_path(&target).then(|| std::path::absolute(&target).ok()).flatten();
            options.target = file.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or(target);
            let file_of = |(path, text): (PathBuf, _)| ModelFile { path: path.display().to_string(), text };
            options.model = model.paths.into_iter().zip(model.texts).map(file_of).collect();
            // Its own as it was named: a link may lead elsewhere when reports are made.
            if let Some(own) = options.model.first_mut() {
                own.path.clone_from(&options.target);
            }
        }
        let Some(caches) = caches else {
            return match self.scope {
                Some(_) => Err(Wrong(
                    "cache-scope= says whose caches are; give the caches, as cache=4k/16, or a processor, as target=jop"
                        .to_owned(),
                )),
                None => Ok(()),
            };
        };
        if let Some(Scope::Thread) = self.scope
            && let Some(shared) = caches.iter().find(|c| c.scope == Scope::Shared)
        {
            return Err(Wrong(format!(
                "cache={shared} is shared by all threads, and cache-scope=thread is not; leave one of them out"
            )));
        }
        // Where all lookups have one outcome, it is the same whose the cache is.
        let scope_of = |cache: &CacheSpec| if cache.is_fixed() { Scope::Thread } else { self.scope.unwrap_or(cache.scope) };
        let scoped = |cache: CacheSpec| CacheSpec { scope: scope_of(&cache), ..cache };
        let caches: Vec<CacheSpec> = caches.into_iter().map(scoped).collect();
        if let Some(twice) = caches.iter().enumerate().find_map(|(i, cache)| caches[..i].contains(cache).then_some(cache)) {
            return Err(Wrong(format!("cache={twice} is given twice; give it once")));
        }
        options.caches = caches.into_iter().filter(|cache| !cache.is_fixed()).collect();
        for cache in &options.caches {
            if cache.blocks > MOST_BLOCKS {
                return Err(Wrong(format!("cache={cache} has more blocks than can be simulated, which is {MOST_BLOCKS}")));
            }
            if cache.scope != options.caches[0].scope {
                return Err(Wrong("cache= names caches of threads and shared ones; simulate them in two runs".to_owned()));
            }
        }
        if options.caches.len() > caches::MOST {
            let (given, most) = (options.caches.len(), caches::MOST);
            return Err(Wrong(format!(
                "cache= names {given} caches; one run simulates up to {most}, further ones need another run"
            )));
        }
        if simulation(&options.caches) == caches::LOGGED && options.max_memory.is_some_and(|memory| memory > event::MOST_MEMORY) {
            let most = event::MOST_MEMORY >> 30;
            return Err(Wrong(format!("max-memory= is at most {most}g when several caches, lru: or shared ones are simulated")));
        }
        Ok(())
    }
}
