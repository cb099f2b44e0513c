//! The table of basic blocks.

use crate::table::{Cell, Table};
use crate::{Export, ExportError};
use cprof_profile::code::{CodeError, Costs, Lines, for_each_method};
use cprof_profile::model::{Level, Profile, special};
use cprof_profile::recover::Recovery;
use std::io::Write;

/// Counts of a method over the contexts chosen.
#[derive(Clone, Default)]
struct Sums {
    counters: Vec<u64>,
    /// (bytecode index, how often)
    departures: Vec<(u32, i64)>,
}

/// Writes the table `blocks`. Counts over several contexts are added up before blocks' counts are recovered from them, which
/// gives the same.
pub fn blocks<W: Write + Send>(export: &Export<'_>, out: W) -> Result<W, ExportError> {
    let profile = export.profile;
    let sums = sums(profile, export.nodes);
    let lines = Lines::read(profile)?;
    let run_id: parquet::data_type::ByteArray = export.run_id.into();
    let mut table = Table::new("blocks", out)?;
    let mut rows = Vec::new();
    for_each_method(profile, |m, class, method| {
        let (sums, of) = (&sums[m], &profile.methods[m]);
        if sums.counters.is_empty() {
            return Ok(());
        }
        let fail = |reason: String| CodeError { class: class.name_str().into_owned(), reason: format!("{}: {reason}", of.name) };
        let code = class.code(method).map_err(|e| fail(e.to_string()))?.ok_or_else(|| fail("it has no code".into()))?;
        let each = Costs::by(code.bytes, code.at, |_| 1).map_err(|e| fail(e.to_string()))?;
        let recovery = Recovery::new(&of.flow).map_err(|e| fail(e.to_string()))?;
        let mut gone = vec![0i64; of.flow.blocks.len()];
        // Bytecodes of a block that were not executed each time the block was entered.
        let mut left = gone.clone();
        for &(bci, count) in &sums.departures {
            let block = of.flow.block_at(bci).ok_or_else(|| fail(format!("it has no bytecode {bci}")))?;
            gone[block] = gone[block].wrapping_add(count);
            if of.level == Level::Precise {
                let rest = each.range(bci + 1, of.flow.blocks[block].end);
                left[block] = left[block].wrapping_add(rest.wrapping_mul(count));
            }
        }
        let executions = recovery.blocks(&of.flow, &sums.counters, &gone);
        for (b, block) in of.flow.blocks.iter().enumerate() {
            let bytecodes = executions[b].wrapping_mul(each.range(block.start, block.end)).wrapping_sub(left[b]);
            rows.push((m, b, *block, executions[b], bytecodes));
        }
        Ok(())
    })?;
    for (m, b, block, executions, bytecodes) in rows {
        table.row([
            Cell::Text(run_id.clone()),
            Cell::Signed(export.symbols.of_method(m as u32).into()),
            Cell::Small(m as i32),
            Cell::Small(b as i32),
            Cell::Small(block.start as i32),
            Cell::Small(block.end as i32),
            Cell::or_null(lines.line(m, block.start), |line| Cell::Small(line.into())),
            Cell::Signed(executions),
            Cell::Signed(bytecodes),
        ])?;
    }
    table.finish()
}

/// Per method of the profile; without counters where it is in none of the contexts.
fn sums(profile: &Profile, chosen: &[bool]) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); profile.methods.len()];
    let method = |node: usize| Some(profile.nodes.method[node]).filter(|m| chosen[node] && *m < special::FIRST);
    let mut rows = profile.nodes.rows();
    for node in 0..profile.nodes.len() {
        let Some(m) = method(node) else { continue };
        let sum = &mut sums[m as usize].counters;
        let counters = rows.of(node);
        sum.resize(counters.len(), 0);
        sum.iter_mut().zip(counters).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
    }
    for d in &profile.departures {
        if let Some(m) = method(d.node as usize) {
            sums[m as usize].departures.push((d.bci, d.count));
        }
    }
    sums
}
