//! What the lines of methods cost, for formats that have them.

use crate::loaded::view::View;
use crate::metrics::OnProcessor;
use crate::progress::Progress;
use anyhow::{Context, Result};
use cprof_annotate::charges::Charges;
use cprof_annotate::lines::{Costs, costs};
use cprof_annotate::method::Choice;
use cprof_export::ByLine;

/// Bytecodes, and cycles on the processors, by line, of a view that has nodes.
pub fn by_line(view: &View, processors: &[OnProcessor]) -> Result<ByLine> {
    let damaged = || format!("{} cannot be annotated", view.file);
    let _progress = Progress::start(format!("annotating {}", view.file));
    let nodes = view.chosen_nodes();
    let ran = view.ran(&nodes);
    let mut by_line =
        ByLine::new(["bytecodes".to_owned()].into_iter().chain(processors.iter().map(OnProcessor::column)).collect());
    let mut place = |charges: Option<&Charges<'_>>, bytecodes: Option<usize>, cycles: Option<usize>| {
        let choice = Choice { profile: &view.profile, measures: &view.measures, nodes: &nodes, charges };
        let each = |method, line, costs: Costs| {
            for (metric, amount) in [(bytecodes, costs.bytecodes), (cycles, costs.cycles)] {
                metric.into_iter().for_each(|metric| by_line.add(view.symbols.of_method(method), line, metric, amount));
            }
        };
        costs(&choice, |method| ran[method as usize], each).with_context(damaged)
    };
    if processors.is_empty() {
        place(None, Some(0), None)?;
    }
    for (at, on) in processors.iter().enumerate() {
        let charges = Charges::collect(&view.profile, &view.measures, &view.natives, &on.model, &on.options, &nodes);
        // Bytecodes are the same with any of them.
        place(Some(&charges.with_context(damaged)?), (at == 0).then_some(0), Some(1 + at))?;
    }
    Ok(by_line)
}
