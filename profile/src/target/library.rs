//! Finding models: those that come with cprof, by name; others, by path.

use super::source::{Source, read};
use super::{Model, TargetError};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A model that comes with cprof.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// What it is called.
    pub name: &'static str,
    /// Its file's content.
    pub text: &'static str,
}

/// A file of a model that does not come with cprof, as a recording keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelFile {
    /// Where it was, for people.
    pub path: String,
    /// What was in it.
    pub text: String,
}

impl ModelFile {
    /// Whether two recordings were made with the same model: the same text in two places is.
    pub fn same(one: &[ModelFile], other: &[ModelFile]) -> bool {
        one.iter().map(|file| &file.text).eq(other.iter().map(|file| &file.text))
    }
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
        self.is_path(word) || SHIPPED.iter().any(|s| s.name == word)
    }

    /// Whether a word names a model by the path of its file, which need not be there.
    pub fn is_path(self, word: &str) -> bool {
        word.contains('/') || word.ends_with(".toml")
    }

    /// What reports call a model: a shipped one's name, or that of its file, without directory, and without ending but where it would
    /// be a shipped one's name then.
    pub fn short_name(self, word: &str) -> Cow<'_, str> {
        let is_shipped = |name: &str| SHIPPED.iter().any(|s| s.name == name);
        let file = Path::new(word);
        let mut names = [file.file_stem(), file.file_name()].into_iter().flatten().map(|name| name.to_string_lossy());
        names.find(|name| !is_shipped(name)).unwrap_or(Cow::Borrowed(word))
    }

    /// Finds a model and its bases: a shipped one by its name, any other by the path of its file, which has a `/` or ends
    /// with `.toml`. A base that a file names by path stands relative to that file.
    ///
    /// # Errors
    /// Whatever is wrong with any of the files, with the place.
    pub fn load(self, name: &str) -> Result<Model, TargetError> {
        joined(name, |name, beside| self.open(name, beside))
    }

    /// The model that a recording was made with, of the files it keeps: no file is read. Those that come with cprof are this
    /// version's.
    ///
    /// # Errors
    /// As of [`Library::load`], and where a file is missing among those.
    pub fn recorded(self, name: &str, files: &[ModelFile]) -> Result<Model, TargetError> {
        let mut files = files.iter();
        joined(name, |name, beside| {
            if !self.is_path(name) {
                return self.open(name, beside);
            }
            let lacks = || TargetError::new(format!("the recording does not keep the file {name}"));
            let ModelFile { path, text } = files.next().ok_or_else(lacks)?;
            if text.len() as u64 > super::MOST_TEXT {
                return Err(TargetError::new(format!("the recording keeps a file {path:?} that is too large for a model")));
            }
            Ok(Opened { shown: path.escape_debug().to_string(), text: text.clone(), path: Some(path.into()) })
        })
    }

    fn open(self, name: &str, beside: Option<&Path>) -> Result<Opened, TargetError> {
        if !self.is_path(name) {
            return match SHIPPED.iter().find(|s| s.name == name) {
                Some(shipped) => Ok(Opened { shown: name.to_owned(), text: shipped.text.to_owned(), path: None }),
                None => Err(TargetError::new(unknown(name))),
            };
        }
        let path = beside.map_or_else(|| PathBuf::from(name), |directory| directory.join(name));
        let fail = |e: std::io::Error| {
            let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
            TargetError::new(format!("cannot read the target model {}: {e}", absolute.display()))
        };
        // A pipe, as of a shell's `<(…)`, is somewhere only for who has it open.
        let somewhere = |error| if path.exists() { std::path::absolute(&path) } else { Err(error) };
        let real = path.canonicalize().or_else(somewhere).map_err(fail)?;
        let bytes = super::read(&path).map_err(fail)?;
        let shown = if beside.is_none() { path.display().to_string() } else { real.display().to_string() };
        let text = super::text(&shown, bytes)?;
        Ok(Opened { shown, text, path: Some(real) })
    }
}

/// Joins the model of that name with its bases; `open` finds one by its name and the directory of the file that names it.
fn joined(name: &str, mut open: impl FnMut(&str, Option<&Path>) -> Result<Opened, TargetError>) -> Result<Model, TargetError> {
    let mut chain: Vec<Source> = Vec::new();
    let mut seen: Vec<Opened> = Vec::new();
    let mut next = Some(open(name, None)?);
    while let Some(opened) = next.take() {
        let source = Source { path: opened.path.clone(), ..read(&opened.file(), &opened.text)? };
        seen.push(opened);
        if let Some((base, place)) = &source.base {
            let at = |e: TargetError| TargetError { place: e.place.or(Some(place.clone())), ..e };
            let found = open(base, source.path.as_deref().and_then(Path::parent)).map_err(at)?;
            if seen.iter().any(|other| found.is(other)) {
                let circle = seen.iter().chain([&found]).map(|opened| opened.shown.as_str()).collect::<Vec<_>>().join(" → ");
                return Err(at(TargetError::new(format!("the bases go round in a circle: {circle}"))));
            }
            if seen.len() > MOST_BASES {
                return Err(at(TargetError::new(format!(
                    "there are more than {MOST_BASES} bases on top of each other; put some of the files together"
                ))));
            }
            next = Some(found);
        }
        chain.push(source);
    }
    Model::new(&Library.short_name(name), chain)
}

/// A model's file.
struct Opened {
    /// What it is called in messages.
    shown: String,
    text: String,
    /// Without links; a shipped model has none.
    path: Option<PathBuf>,
}

impl Opened {
    /// What places in it are called.
    fn file(&self) -> String {
        if self.path.is_some() { self.shown.clone() } else { format!("cprof's {}.toml", self.shown) }
    }

    /// The same file under two names is the same base.
    fn is(&self, other: &Opened) -> bool {
        self.path == other.path && (self.path.is_some() || self.shown == other.shown)
    }
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = SHIPPED.iter().map(|s| s.name).collect();
    let file = if Path::new(name).is_file() { format!("; for the file of that name write ./{name}") } else { String::new() };
    format!("there is no target {name:?}; cprof has {}, and takes the path of a .toml file{file}", known.join(", "))
}
