//! What the lines of methods cost, for formats that have them.

use crate::loaded::view::View;
use crate::metrics::OnProcessor;
use crate::output::note;
use crate::progress::Progress;
use anyhow::Result;
use cprof_annotate::charges::Charges;
use cprof_annotate::lines::{Costs, costs};
use cprof_annotate::method::Choice;
use cprof_export::{ByLine, source_path};
use cprof_profile::cycles::EvaluateError;
use cprof_profile::metrics::Metric;
use cprof_profile::names::few;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// So many classes are named in a note.
const NAMED: usize = 5;

/// What has lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Methods, in all contexts of the view.
    Methods,
    /// Each context of its tree.
    Contexts,
}

/// Bytecodes, and cycles on the processors, by line, of a view that has nodes, as far as they are among the `chosen` metrics. Where a
/// class is damaged there are none, which is noted: what was counted is there all the same.
pub fn by_line(view: &View, processors: &[OnProcessor], chosen: &[Metric], of: Of) -> Result<ByLine> {
    let progress = Progress::start(format!("annotating {}", view.file));
    let names: Vec<String> = chosen.iter().map(|metric| metric.name.clone()).collect();
    let by_line = ByLine::new(names.clone());
    let mut lines = Lines { view, of, by_line, known: HashMap::new(), several: BTreeSet::new() };
    let placed = lines.place(processors, &names);
    drop(progress);
    match placed {
        Ok(()) => lines.tell_versions(),
        Err(EvaluateError::Code(error)) => {
            note(&format!("{}: all own costs stand on methods' first lines: {error}", view.file));
            return Ok(ByLine::default());
        }
        Err(error) => return Err(error.into()),
    }
    Ok(lines.by_line)
}

struct Lines<'v> {
    view: &'v View,
    of: Of,
    by_line: ByLine,
    /// By symbol, the source and the lines of the first method of that name.
    known: HashMap<u32, (String, Vec<u16>)>,
    /// Classes of which another version has others.
    several: BTreeSet<String>,
}

impl Lines<'_> {
    fn place(&mut self, processors: &[OnProcessor], wanted: &[String]) -> Result<(), EvaluateError> {
        let View { profile, measures, natives, .. } = self.view;
        let position = |name: &str| wanted.iter().position(|metric| metric == name);
        let nodes = self.view.chosen_nodes();
        let ran = self.view.ran(&nodes);
        let mut bytecodes = position("bytecodes");
        let (of, tree) = (self.of, &self.view.tree);
        let group = |node: u32| if of == Of::Contexts { tree.of_node[node as usize] } else { 0 };
        let on_processors: Vec<_> = processors.iter().filter_map(|on| Some((on, position(&on.column())?))).collect();
        let mut each = |charges: Option<&Charges<'_>>, cycles: Option<usize>| {
            let choice = Choice { profile, measures, nodes: &nodes, charges };
            // Bytecodes are the same with any of them.
            let bytecodes = bytecodes.take();
            let add = |method, group, lines: BTreeMap<_, _>| self.add(method, group, &lines, bytecodes, cycles);
            costs(&choice, |method| ran[method as usize], group, add)
        };
        for &(on, metric) in &on_processors {
            let charges = Charges::by_group(profile, measures, natives, &on.model, &on.options, &nodes, group)?;
            each(Some(&charges), Some(metric))?;
        }
        if on_processors.is_empty() && position("bytecodes").is_some() {
            each(None, None)?;
        }
        Ok(())
    }

    /// The lines of a method, or of a context of it.
    fn add(&mut self, method: u32, context: u32, lines: &BTreeMap<u16, Costs>, bytecodes: Option<usize>, cycles: Option<usize>) {
        let View { profile, symbols, .. } = self.view;
        let symbol = symbols.of_method(method);
        let of = if self.of == Of::Contexts { context } else { symbol };
        let class = &symbols.list[symbol as usize].class;
        let file = source_path(class, &profile.classes[profile.methods[method as usize].class as usize].source_file);
        if let Some(metric) = bytecodes {
            self.by_line.add(of, &file, metric, lines.iter().map(|(line, costs)| (*line, costs.bytecodes)));
        }
        if let Some(metric) = cycles {
            self.by_line.add(of, &file, metric, lines.iter().map(|(line, costs)| (*line, costs.cycles)));
        }
        let version = (file, lines.keys().copied().collect());
        if self.known.get(&symbol).is_some_and(|known| *known != version) {
            self.several.insert(class.clone());
        }
        self.known.entry(symbol).or_insert(version);
    }

    fn tell_versions(&self) {
        if !self.several.is_empty() {
            let classes: Vec<String> = self.several.iter().cloned().collect();
            let (file, named) = (&self.view.file, few(&classes, NAMED));
            note(&format!(
                "{file}: there are several versions of {named}: costs stand on the lines of each, which no one source has all"
            ));
        }
    }
}
