//! A profile as Parquet tables: `runs`, `methods`, `nodes`, `metrics` and `blocks`, described in `docs/fleet.md`.
//!
//! A file is one table of one run; the files of many runs, side by side in a directory per table, are one large table to DuckDB,
//! Spark, DataFusion, pandas and the like. Rows are written a row group at a time, so that besides the profile and the tree of
//! one thread's label little is in memory.
#![forbid(unsafe_code)]

mod blocks;
mod identity;
mod methods;
mod nodes;
mod runs;
mod schema;
mod table;

pub use blocks::blocks;
pub use identity::run_id;
pub use methods::methods;
pub use nodes::nodes;
pub use runs::{part_in, runs};
pub use schema::{MESSAGES, VERSION, message};

use cprof_profile::amounts::Amounts;
use cprof_profile::code::CodeError;
use cprof_profile::measure::Measures;
use cprof_profile::model::Profile;
use cprof_profile::natives::NativeCalls;
use cprof_profile::tree::Symbols;
use std::borrow::Cow;
use thiserror::Error;

/// A measured profile, or a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    /// See [`run_id`].
    pub run_id: &'a str,
    /// Where it is from.
    pub file: &'a str,
    /// Which part of the run it is, for people; none: all of it.
    pub part: Option<&'a str>,
    /// The profile.
    pub profile: &'a Profile,
    /// Its names.
    pub symbols: &'a Symbols,
    /// Its counts in bytecodes.
    pub measures: &'a Measures,
    /// Its calls of native methods.
    pub natives: &'a [NativeCalls],
    /// Per thread: chosen.
    pub threads: &'a [bool],
    /// Per symbol: contexts at and below these were chosen; none: all.
    pub roots: Option<&'a [bool]>,
    /// Per node of the profile: chosen.
    pub nodes: &'a [bool],
    /// Further numbers.
    pub columns: &'a [Column<'a>],
}

/// Numbers beside the profile's nodes: cycles, misses.
#[derive(Debug, Clone)]
pub struct Column<'a> {
    /// `cycles` or another unit of a model, `entry_misses`, `return_misses`.
    pub metric: Cow<'a, str>,
    /// The processor, with the parameters that were set; none where none has a part in it.
    pub target: Option<String>,
    /// The method cache.
    pub cache: String,
    /// Per node.
    pub nodes: Cow<'a, Amounts>,
}

/// A table that could not be written.
#[derive(Debug, Error)]
pub enum ExportError {
    /// A count that no column holds.
    #[error("table {table}: {column} is {value}, above the 9,223,372,036,854,775,807 that its column can hold")]
    TooLarge {
        /// The table.
        table: &'static str,
        /// The column.
        column: String,
        /// What it should hold.
        value: u64,
    },
    /// The profile's copy of a class cannot be read.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The disk, above all.
    #[error("table {table} cannot be written: {error}")]
    Parquet {
        /// The table.
        table: &'static str,
        /// Why.
        error: parquet::errors::ParquetError,
    },
}
