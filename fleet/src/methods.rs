//! The table of methods.

use crate::table::{Cell, Table};
use crate::{Export, ExportError};
use cprof_profile::model::{Level, Method};
use cprof_profile::projections::MethodRow;
use std::io::Write;

/// Writes the table `methods`: one row per method of the contexts chosen, as reports name it, with these numbers.
pub fn methods<W: Write + Send>(export: &Export<'_>, rows: &[MethodRow], out: W) -> Result<W, ExportError> {
    let profile = export.profile;
    // Several of the profile's methods may have one name: the first speaks for all.
    let mut first: Vec<Option<&Method>> = vec![None; export.symbols.list.len()];
    let mut by_block = vec![false; export.symbols.list.len()];
    for (m, method) in profile.methods.iter().enumerate() {
        let symbol = export.symbols.of_method(m as u32) as usize;
        first[symbol].get_or_insert(method);
        by_block[symbol] |= method.level == Level::Block;
    }
    let run_id: parquet::data_type::ByteArray = export.run_id.into();
    let mut table = Table::new("methods", out)?;
    for row in rows {
        let symbol = &export.symbols.list[row.symbol as usize];
        let method = first[row.symbol as usize].filter(|_| !symbol.native);
        let source = method.map(|m| &profile.classes[m.class as usize].source_file).filter(|s| !s.is_empty());
        let level = if by_block[row.symbol as usize] { "block" } else { "precise" };
        table.row([
            Cell::Text(run_id.clone()),
            Cell::Signed(row.symbol.into()),
            Cell::text(&symbol.class),
            Cell::text(&symbol.method),
            Cell::text(&symbol.descriptor),
            Cell::or_null(source, |s| Cell::text(s)),
            Cell::Flag(symbol.native),
            Cell::or_null(method, |m| Cell::Small(m.access.into())),
            Cell::or_null(method, |_| Cell::text(level)),
            Cell::Count(row.calls),
            Cell::Count(row.exceptional_exits),
            Cell::Count(row.own),
            Cell::Count(row.total),
        ])?;
    }
    table.finish()
}
