//! `cprof flamegraph` and `cprof html`: pictures of profiles.

mod code;
mod flamegraph;
mod html;

pub use flamegraph::flamegraph;
pub use html::html;

use crate::args::{Part, Processors};
use crate::compare::{MODELS_DIFFER, models_differ, recorded_differently};
use crate::loaded::view::{Shape, View};
use crate::metrics::{OnProcessor, load};
use crate::output::{self, Output};
use crate::style::printable;
use anyhow::Result;
use cprof_compare::methods::Methods;
use cprof_compare::renumbering::Side;
use cprof_profile::names;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// A profile with what its nodes cost on the processors asked for.
struct Loaded {
    view: View,
    processors: Vec<OnProcessor>,
    /// What makes its numbers differ from those of the profile that it stands beside, other than the program.
    beside: Vec<String>,
}

impl Loaded {
    /// `out` is what will be written.
    fn new(part: &Part, on: &Processors, out: &Path, shape: Shape) -> Result<Loaded> {
        let (view, processors) = load(part, on, out, shape)?;
        view.tell_if_nothing();
        Ok(Loaded { view, processors, beside: Vec::new() })
    }

    /// The same part of another file, to be compared with this: its methods have the names that they have in this.
    fn before(&self, file: &Path, part: &Part, on: &Processors, out: &Path, shape: Shape) -> Result<Loaded> {
        let part = Part { file: file.to_owned(), root: part.root.clone(), thread: part.thread.clone() };
        let mut before = Loaded::new(&part, on, out, shape)?;
        let methods = Methods::join(side(&before.view), side(&self.view));
        before.beside = recorded_differently(&before.view, &self.view);
        before.beside.extend(models_differ(&before.view, &self.view, on).then(|| MODELS_DIFFER.to_owned()));
        output::notes(&before.beside);
        before.view.symbols.list = methods.renamed(&before.view.symbols, &self.view.symbols);
        Ok(before)
    }

    /// What ran, or the file's name.
    fn title(&self) -> String {
        let main = &self.view.profile.run.main_class;
        if main.is_empty() { self.view.file.clone() } else { main.clone() }
    }
}

fn side(view: &View) -> Side<'_> {
    Side { profile: &view.profile, symbols: &view.symbols }
}

/// Says at the end what was written, where someone looks.
fn written(path: &Path, output: Output, what: &str) -> Result<()> {
    if let (Some(size), true) = (output.finish()?, io::stderr().is_terminal()) {
        // Whether anybody reads it changes nothing.
        let _ = writeln!(io::stderr(), "{}: {}, {}", path.display(), printable(what), names::size(size));
    }
    Ok(())
}
