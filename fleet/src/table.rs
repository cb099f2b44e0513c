//! A table in the course of being written.

use crate::{ExportError, VERSION, message};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::Result as Written;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::io::Write;
use std::sync::Arc;

/// Rows that are in memory at a time, some 10 MB of them.
const GROUP: usize = 1 << 16;

/// A value of a row.
pub(crate) enum Cell {
    /// Of a column that may be empty.
    Null,
    /// A number that is small by its nature: an index, a line, a flag word.
    Small(i32),
    /// A number that may be below 0.
    Signed(i64),
    /// A count.
    Count(u64),
    /// A text; clones share it.
    Text(ByteArray),
    /// A truth.
    Flag(bool),
}

impl Cell {
    /// Null where there is none.
    pub(crate) fn or_null<T>(value: Option<T>, cell: impl Fn(T) -> Cell) -> Cell {
        value.map_or(Cell::Null, cell)
    }

    /// A text.
    pub(crate) fn text(text: &str) -> Cell {
        Cell::Text(text.into())
    }
}

/// Values of a column, and per row whether there is one (Parquet's definition level).
#[derive(Default)]
struct Buffer {
    name: String,
    optional: bool,
    present: Vec<i16>,
    small: Vec<i32>,
    long: Vec<i64>,
    texts: Vec<ByteArray>,
    flags: Vec<bool>,
}

impl Buffer {
    /// Writes the values, and forgets them.
    fn flush(&mut self, column: &mut SerializedColumnWriter<'_>) -> Written<()> {
        let levels = self.optional.then_some(&self.present[..]);
        if !self.small.is_empty() {
            column.typed::<Int32Type>().write_batch(&self.small, levels, None)?;
        } else if !self.texts.is_empty() {
            column.typed::<ByteArrayType>().write_batch(&self.texts, levels, None)?;
        } else if !self.flags.is_empty() {
            column.typed::<BoolType>().write_batch(&self.flags, levels, None)?;
        } else if !self.long.is_empty() {
            column.typed::<Int64Type>().write_batch(&self.long, levels, None)?;
        } else {
            write_nulls(column, levels)?;
        }
        self.present.clear();
        self.small.clear();
        self.long.clear();
        self.texts.clear();
        self.flags.clear();
        Ok(())
    }
}

/// A column of which every row is empty.
fn write_nulls(column: &mut SerializedColumnWriter<'_>, levels: Option<&[i16]>) -> Written<()> {
    use parquet::column::writer::ColumnWriter;
    match column.untyped() {
        ColumnWriter::Int32ColumnWriter(column) => column.write_batch(&[], levels, None)?,
        ColumnWriter::Int64ColumnWriter(column) => column.write_batch(&[], levels, None)?,
        ColumnWriter::ByteArrayColumnWriter(column) => column.write_batch(&[], levels, None)?,
        ColumnWriter::BoolColumnWriter(column) => column.write_batch(&[], levels, None)?,
        _ => 0,
    };
    Ok(())
}

/// Takes rows and writes them in groups.
pub(crate) struct Table<W: Write + Send> {
    name: &'static str,
    writer: SerializedFileWriter<W>,
    columns: Vec<Buffer>,
    rows: usize,
}

impl<W: Write + Send> Table<W> {
    /// A table of [`crate::MESSAGES`].
    pub(crate) fn new(name: &'static str, out: W) -> Result<Table<W>, ExportError> {
        let fail = |error| ExportError::Parquet { table: name, error };
        let schema = Arc::new(parse_message_type(message(name).unwrap_or_default()).map_err(fail)?);
        let metadata = vec![KeyValue::new("cprof.tables".to_owned(), VERSION.to_string())];
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("cprof {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(metadata));
        // What no dictionary makes smaller: numbers that mostly rise by little, and hashes.
        for (column, encoding) in [
            ("node_id", Encoding::DELTA_BINARY_PACKED),
            ("parent_id", Encoding::DELTA_BINARY_PACKED),
            ("context", Encoding::PLAIN),
        ] {
            let column = ColumnPath::from(column);
            properties = properties.set_column_dictionary_enabled(column.clone(), false).set_column_encoding(column, encoding);
        }
        let column = |field: &Arc<parquet::schema::types::Type>| Buffer {
            name: field.name().to_owned(),
            optional: field.is_optional(),
            ..Buffer::default()
        };
        let columns = schema.get_fields().iter().map(column).collect();
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build())).map_err(fail)?;
        Ok(Table { name, writer, columns, rows: 0 })
    }

    /// Adds a row, a cell per column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) -> Result<(), ExportError> {
        debug_assert_eq!(N, self.columns.len(), "columns of {}", self.name);
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.present.push(i16::from(!matches!(cell, Cell::Null)));
            match cell {
                Cell::Null => {}
                Cell::Small(value) => column.small.push(value),
                Cell::Signed(value) => column.long.push(value),
                Cell::Text(value) => column.texts.push(value),
                Cell::Flag(value) => column.flags.push(value),
                Cell::Count(value) => column.long.push(i64::try_from(value).map_err(|_| ExportError::TooLarge {
                    table: self.name,
                    column: column.name.clone(),
                    value,
                })?),
            }
        }
        self.rows += 1;
        if self.rows == GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        let Table { name, writer, columns, rows } = self;
        let write = || {
            let mut group = writer.next_row_group()?;
            for buffer in columns {
                if let Some(mut column) = group.next_column()? {
                    buffer.flush(&mut column)?;
                    column.close()?;
                }
            }
            group.close().map(|_| ())
        };
        *rows = 0;
        write().map_err(|error| ExportError::Parquet { table: name, error })
    }

    /// Writes what is left, and gives the sink back.
    pub(crate) fn finish(mut self) -> Result<W, ExportError> {
        if self.rows > 0 {
            self.flush()?;
        }
        self.writer.into_inner().map_err(|error| ExportError::Parquet { table: self.name, error })
    }
}
