//! The agent: where its library is, and its options as it takes them.

use crate::args::{Bba, CacheScope, Counting};
use crate::output;
use crate::usage::Usage;
use anyhow::{Context, Result, bail};
use cprof_profile::target::Library;
use std::fs;
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
        return output::absolute(&path);
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
    /// None yet, but that the agent says nothing by itself.
    pub fn quiet() -> Options {
        Options(vec!["quiet".to_owned()])
    }

    /// Adds what is to be counted, and how.
    pub fn counting(&mut self, counting: &Counting) -> Result<()> {
        if let Some(bba) = counting.bba {
            self.add("bba", if bba == Bba::Block { "block" } else { "precise" })?;
        }
        if counting.sites {
            self.add("sites", "on")?;
        }
        if let Some(depth) = counting.depth {
            self.add("depth", &depth.to_string())?;
        }
        if counting.fold_recursion {
            self.add("recursion", "fold")?;
        }
        counting.root.iter().try_for_each(|root| self.add("root", root))?;
        counting.include.iter().try_for_each(|pattern| self.add("include", pattern))?;
        counting.exclude.iter().try_for_each(|pattern| self.add("exclude", pattern))?;
        if let Some(nodes) = counting.max_nodes {
            self.add("max-nodes", &nodes.to_string())?;
        }
        if let Some(size) = &counting.max_memory {
            self.add("max-memory", size)?;
        }
        if let Some(target) = &counting.target {
            // Where the JVM has other files it may be there, too.
            if Library.is_path(target) && fs::metadata(target).is_ok_and(|named| !named.is_file()) {
                bail!(Usage(format!(
                    "--target {target} is no file that can be read more than once, as the JVM must; name a file"
                )));
            }
            self.add("target", target)?;
        }
        if let Some(cache) = &counting.cache {
            self.add("cache", cache)?;
        }
        if let Some(scope) = counting.cache_scope {
            self.add("cache-scope", if scope == CacheScope::Shared { "shared" } else { "thread" })?;
        }
        Ok(())
    }

    /// Says what the agent would say, without a JVM that has been started for that, or disturbed.
    pub fn check(&self) -> Result<()> {
        match cprof_profile::options::Options::parse(&self.text()) {
            Ok(_) => Ok(()),
            Err(wrong) => bail!(Usage(self.as_arguments(&wrong.to_string()))),
        }
    }

    /// What is said of the agent's options, of the arguments that they come from: `--depth 0` for `depth=0`.
    fn as_arguments(&self, said: &str) -> String {
        let is_given = |name: &str| self.0.iter().any(|option| option.split_once('=').is_some_and(|(given, _)| given == name));
        let is_argument = |name: &str| is_given(name) || name == "cache" || name == "target";
        let word = |word: &str| match word.split_once('=') {
            Some((name, "")) if is_argument(name) => format!("--{name}"),
            Some((name, value)) if is_argument(name) => format!("--{name} {value}"),
            _ => word.to_owned(),
        };
        said.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    /// One of the commands that an agent takes which is there already.
    pub fn command(name: &str) -> Options {
        Options(vec![format!("command={name}")])
    }

    /// Adds an option.
    pub fn add(&mut self, name: &str, value: &str) -> Result<()> {
        if value.is_empty() {
            bail!(Usage(format!("--{name} is empty; give it a value, or leave it out")));
        }
        if value.contains(',') {
            let way = match name {
                "root" => {
                    "; give the option once for each method, and its parameters as in class files, as in Codec.encode([BI)V"
                }
                "include" | "exclude" => "; give the option once for each pattern",
                _ => "",
            };
            bail!(Usage(format!("--{name} cannot contain a comma, which separates the agent's options: {value}{way}")));
        }
        self.0.push(format!("{name}={value}"));
        Ok(())
    }

    /// All of them.
    pub fn text(&self) -> String {
        self.0.join(",")
    }
}
