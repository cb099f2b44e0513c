//! Where source files are.

use crate::args::Export;
use crate::output;
use anyhow::Result;
use cprof_annotate::source::{Source, Sources};
use cprof_export::{names, source_path};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Source files by what their classes say.
pub struct Places {
    /// None: where their packages say.
    sources: Option<Sources>,
    /// What may not be written over.
    out: PathBuf,
    /// By path in the package's directories.
    known: BTreeMap<String, Option<Found>>,
}

/// A source that is there.
pub struct Found {
    /// Its path; what is in an archive has the package's.
    path: String,
    /// The file itself; none: it is in an archive.
    pub file: Option<PathBuf>,
    /// Its name, for notes.
    pub name: String,
    /// How many lines it has.
    pub lines: usize,
    /// The last line that classes have.
    pub last: usize,
}

impl Places {
    /// Where `--source` says.
    pub fn new(args: &Export) -> Result<Places> {
        output::spares(&args.out, &args.source)?;
        let sources = (!args.source.is_empty()).then(|| Sources::open(&args.source)).transpose()?;
        Ok(Places { sources, out: args.out.clone(), known: BTreeMap::new() })
    }

    /// The path of a class's source (internal name, SourceFile attribute), which has a line `last`; none where it was not found.
    pub fn path(&mut self, class: &str, source_file: &str, last: u16) -> Result<Option<String>> {
        let wanted = source_path(&class.replace('/', "."), source_file);
        let Some(sources) = &mut self.sources else { return Ok(Some(one_line(&wanted))) };
        if !self.known.contains_key(&wanted) {
            let found = sources.find(class, source_file)?.map(|source| Found::new(source, &wanted));
            output::spares(&self.out, found.iter().filter_map(|found| found.file.as_ref()))?;
            self.known.insert(wanted.clone(), found);
        }
        let found = self.known.get_mut(&wanted).and_then(Option::as_mut);
        Ok(found.map(|found| {
            found.last = found.last.max(usize::from(last));
            found.path.clone()
        }))
    }

    /// Those that were not found.
    pub fn missing(&self) -> Vec<&String> {
        self.known.iter().filter(|(_, found)| found.is_none()).map(|(path, _)| path).collect()
    }

    /// Those that were.
    pub fn found(&self) -> impl Iterator<Item = &Found> {
        self.known.values().flatten()
    }
}

impl Found {
    fn new(source: Source, wanted: &str) -> Found {
        let is_file = source.is_file();
        Found {
            path: one_line(if is_file { &source.name } else { wanted }),
            file: is_file.then_some(source.file),
            name: source.name,
            lines: source.lines.len(),
            last: 0,
        }
    }
}

/// Control characters would end the line that has it.
fn one_line(path: &str) -> String {
    let mut out = String::new();
    match path.contains(|c: char| c.is_control()) {
        true => names::escaped(path, |_| false, &mut out),
        false => out.push_str(path),
    }
    out
}
