//! The table of runs: one row.

use crate::table::{Cell, Table};
use crate::{Export, ExportError, VERSION};
use cprof_profile::model::Taken;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fs::File;
use std::io::Write;

/// Writes the table `runs`.
pub fn runs<W: Write + Send>(export: &Export<'_>, out: W) -> Result<W, ExportError> {
    let profile = export.profile;
    let run = &profile.run;
    let taken = match run.taken {
        Taken::Agent => "agent",
        Taken::Running => "running",
        Taken::Killed => "killed",
    };
    let number = |n: usize| Cell::Small(i32::try_from(n).unwrap_or(i32::MAX));
    let arguments = serde_json::Value::from(run.command_line.clone()).to_string();
    let mut table = Table::new("runs", out)?;
    table.row([
        Cell::text(export.run_id),
        Cell::Small(VERSION),
        Cell::text(export.file),
        number(profile.runs.len().max(1)),
        Cell::text(&run.main_class),
        Cell::text(&arguments),
        Cell::text(&run.jvm_vendor),
        Cell::text(&run.jvm_version),
        Cell::text(&run.cprof_version),
        Cell::text(&run.options),
        Cell::text(&run.target),
        Cell::Signed(run.pid.into()),
        Cell::Count(run.started_ms),
        if run.ended_ms == 0 { Cell::Null } else { Cell::Count(run.ended_ms) },
        Cell::text(taken),
        Cell::Count(run.lost_calls),
        Cell::Flag(run.folded),
        Cell::Flag(run.bounded),
        Cell::Flag(run.sites),
        number(profile.gaps.len()),
        number(profile.warnings.len()),
        export.part.map_or(Cell::Null, Cell::text),
    ])?;
    table.finish()
}

/// What part of a run a file of the table is about, as [`Export::part`] says it.
///
/// # Errors
/// It is no such file.
pub fn part_in(file: File) -> Result<Option<String>, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let row = reader.get_row_iter(None)?.next().transpose()?;
    // Files of earlier builds have no such column.
    let part = row.iter().flat_map(|row| row.get_column_iter()).find(|(name, _)| *name == "part");
    Ok(part.and_then(|(_, field)| if let Field::Str(part) = field { Some(part.clone()) } else { None }))
}
