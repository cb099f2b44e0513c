//! The agent: where its library is, and its options as it takes them.

use crate::args::{Bba, CacheScope, Counting};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Name of the library.
pub const AGENT: &str = "libcprof.so";

/// `CPROF_AGENT`, or the library beside this command, or where an installation puts it.
pub fn find() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("CPROF_AGENT").filter(|p| !p.is_empty()) {
        let path = PathBuf::from(path);
        if !path.is_file() {
            bail!("CPROF_AGENT names {}, which is no file; let it name {AGENT}", path.display());
        }
        return Ok(std::path::absolute(path)?);
    }
    let command = std::env::current_exe().context("finding the cprof command itself")?;
    let directory = command.parent().unwrap_or(Path::new("/"));
    let candidates = [directory.join(AGENT), directory.join("../lib").join(AGENT)];
    candidates.iter().find(|c| c.is_file()).cloned().with_context(|| {
        format!("{AGENT} is not in {}; build it with cargo build --release, or name it in CPROF_AGENT", directory.display())
    })
}

/// The text after `-agentpath:libcprof.so=`, which is the same when an agent is attached.
pub struct Options(Vec<String>);

impl Options {
    /// What is to be counted, and how.
    pub fn new(counting: &Counting) -> Result<Options> {
        let mut options = Options(Vec::new());
        if let Some(bba) = counting.bba {
            options.add("bba", if bba == Bba::Block { "block" } else { "precise" })?;
        }
        if counting.sites {
            options.add("sites", "on")?;
        }
        if let Some(depth) = counting.depth {
            options.add("depth", &depth.to_string())?;
        }
        if counting.fold_recursion {
            options.add("recursion", "fold")?;
        }
        counting.root.iter().try_for_each(|root| options.add("root", root))?;
        counting.include.iter().try_for_each(|pattern| options.add("include", pattern))?;
        counting.exclude.iter().try_for_each(|pattern| options.add("exclude", pattern))?;
        if let Some(nodes) = counting.max_nodes {
            options.add("max-nodes", &nodes.to_string())?;
        }
        if let Some(size) = &counting.max_memory {
            options.add("max-memory", size)?;
        }
        if let Some(target) = &counting.target {
            options.add("target", target)?;
        }
        if let Some(cache) = &counting.cache {
            options.add("cache", cache)?;
        }
        if let Some(scope) = counting.cache_scope {
            options.add("cache-scope", if scope == CacheScope::Shared { "shared" } else { "thread" })?;
        }
        Ok(options)
    }

    /// One of the commands that an agent takes which is there already.
    pub fn command(name: &str) -> Options {
        Options(vec![format!("command={name}")])
    }

    /// Adds an option without a value.
    pub fn flag(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    /// Adds an option.
    pub fn add(&mut self, name: &str, value: &str) -> Result<()> {
        if value.contains(',') {
            bail!("{name} cannot contain a comma, which separates the agent's options: {value}");
        }
        self.0.push(format!("{name}={value}"));
        Ok(())
    }

    /// All of them.
    pub fn text(&self) -> String {
        self.0.join(",")
    }
}
