//! Bytecode, block by block.

use super::{Shown, cost, foot, head};
use crate::loaded::view::{View, share};
use crate::style::Style;
use crate::table::Table;
use anyhow::Result;
use cprof_annotate::method::{Annotation, Block, Outcome, Row, Way};
use cprof_profile::names::thousands;
use std::io::Write;

/// Prints a method.
pub fn print(view: &View, method: &Shown<'_>, out: &mut dyn Write, style: Style) -> Result<()> {
    head(view, method, out, style)?;
    writeln!(out)?;
    let on = view.processor.is_some();
    let mut heads = vec!["executions"];
    heads.extend(on.then_some(view.unit()));
    heads.extend(["share", "line", "bytecode"]);
    let mut table = Table::new(&heads);
    let a = &method.annotation;
    let mut add = |executions: Option<u64>, cycles: Option<u64>, line: String, text: String| {
        let mut cells = vec![executions.map(thousands).unwrap_or_default()];
        cells.extend(on.then(|| cycles.map(thousands).unwrap_or_default()));
        let of_row = if on { cycles } else { executions };
        let share = cycles.and(of_row).map(|part| share(part, cost(view, a))).unwrap_or_default();
        cells.extend([share, line, text]);
        table.row(cells);
    };
    for block in &a.blocks {
        add(Some(block.executions), None, String::new(), style.dim(&boundary(block)));
        for row in rows(a, block) {
            let line = row.line.map(|line| line.to_string()).unwrap_or_default();
            let mut lines = row.text.lines(row.bci);
            // Cases stand among the outcomes.
            lines.truncate(1);
            let text = lines.pop().unwrap_or_default();
            add(Some(row.executions), Some(row.cycles), line, if row.executions == 0 { style.dim(&text) } else { text });
            for outcome in &row.outcomes {
                add(Some(outcome.count), None, String::new(), style.dim(&format!("{:11}{}", "", describe(outcome))));
            }
            if !row.text.cases.is_empty() {
                add(None, None, String::new(), "      }".to_owned());
            }
        }
    }
    table.print(out, style)?;
    foot(view, method, out, style)?;
    Ok(())
}

fn rows<'a>(annotation: &'a Annotation, block: &Block) -> &'a [Row] {
    &annotation.rows[block.rows.0 as usize..][..block.rows.1 as usize]
}

fn boundary(block: &Block) -> String {
    let handled = match block.handled {
        0 => String::new(),
        all if all == block.executions => ", handler".to_owned(),
        some => format!(", {} of them as handler", thousands(some)),
    };
    format!("block {}-{}{handled}", block.start, block.end - 1)
}

/// An outcome in words, without its count.
pub fn describe(outcome: &Outcome) -> String {
    let target = outcome.target.map(|bci| bci.to_string()).unwrap_or_default();
    match &outcome.way {
        Way::Taken => format!("taken: to {target}"),
        Way::NotTaken => "not taken".to_owned(),
        Way::Case { values, default } => {
            let mut labels: Vec<String> = values.iter().map(i32::to_string).collect();
            labels.extend(default.then(|| "default".to_owned()));
            format!("{}: {target}", labels.join(", "))
        }
        Way::Thrown => "left the method by an exception".to_owned(),
        Way::Caught => "threw to a handler of the method".to_owned(),
        Way::Active => "not returned from when the profile was taken, or counting was paused".to_owned(),
        Way::Resumed => "counting resumed behind it".to_owned(),
    }
}
