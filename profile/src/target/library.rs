//! Finding models: those that come with cprof, by name; others, by path.

use super::source::{Source, read};
use super::{Model, TargetError};
use std::path::{Path, PathBuf};

/// A model that comes with cprof.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// What it is called.
    pub name: &'static str,
    /// Its file's content.
    pub text: &'static str,
}

// `SHIPPED: &[Shipped]`, from the files in targets/, in order of name.
include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// More bases than this on top of each other are taken for a mistake.
const MOST_BASES: usize = 32;

/// Where models are looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Library;

impl Library {
    /// The models that come with cprof, in order of name.
    pub fn shipped(self) -> &'static [Shipped] {
        SHIPPED
    }

    /// Whether a word names a model: a shipped one's name, or any path.
    pub fn is_named(self, word: &str) -> bool {
        is_path(word) || SHIPPED.iter().any(|s| s.name == word)
    }

    /// Whether a word names a model by the path of its file.
    pub fn is_file(self, word: &str) -> bool {
        is_path(word)
    }

    /// Finds a model and its bases: a shipped one by its name, any other by the path of its file, which has a `/` or ends
    /// with `.toml`. A base that a file names by path stands relative to that file.
    ///
    /// # Errors
    /// Whatever is wrong with any of the files, with the place.
    pub fn load(self, name: &str) -> Result<Model, TargetError> {
        let mut chain: Vec<Source> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        let mut next = Some(self.open(name, None)?);
        while let Some((identity, text, path)) = next.take() {
            let file = match &path {
                Some(_) => identity.clone(),
                None => format!("{identity}.toml"),
            };
            seen.push(identity);
            let source = Source { path, ..read(&file, &text)? };
            if let Some((base, place)) = &source.base {
                let at = |e: TargetError| TargetError { place: e.place.or(Some(place.clone())), ..e };
                let found = self.open(base, source.path.as_deref().and_then(Path::parent)).map_err(at)?;
                if seen.contains(&found.0) || seen.len() > MOST_BASES {
                    let circle = seen.iter().chain([&found.0]).map(String::as_str).collect::<Vec<_>>().join(" → ");
                    return Err(at(TargetError::new(format!("the bases go round in a circle: {circle}"))));
                }
                next = Some(found);
            }
            chain.push(source);
        }
        let short = Path::new(name).file_stem().map_or_else(|| name.to_owned(), |s| s.to_string_lossy().into_owned());
        let is_shipped = SHIPPED.iter().any(|s| s.name == name);
        Model::new(if is_shipped { name } else { &short }, chain)
    }

    /// Identity, text, and the path of a file; a shipped model has none.
    fn open(self, name: &str, beside: Option<&Path>) -> Result<(String, String, Option<PathBuf>), TargetError> {
        if !is_path(name) {
            return match SHIPPED.iter().find(|s| s.name == name) {
                Some(shipped) => Ok((name.to_owned(), shipped.text.to_owned(), None)),
                None => Err(TargetError::new(unknown(name))),
            };
        }
        let path = beside.map_or_else(|| PathBuf::from(name), |directory| directory.join(name));
        let fail = |e: std::io::Error| TargetError::new(format!("cannot read the target model {}: {e}", path.display()));
        // The same file under two names is the same base.
        let identity = path.canonicalize().map_err(fail)?;
        let bytes = std::fs::read(&path).map_err(fail)?;
        let shown = if beside.is_none() { path.display().to_string() } else { identity.display().to_string() };
        let text = super::text(&shown, bytes)?;
        Ok((shown, text, Some(identity)))
    }
}

fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = SHIPPED.iter().map(|s| s.name).collect();
    let file = if Path::new(name).is_file() { format!("; for the file of that name write ./{name}") } else { String::new() };
    format!("there is no target {name:?}; cprof has {}, and takes the path of a .toml file{file}", known.join(", "))
}
