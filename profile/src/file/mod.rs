//! The `.cprof` file: a zip of a JSON header and little-endian columns. `docs/format.md` is its description.

mod columns;
mod descriptor;
mod error;
mod header;
mod reader;
mod writer;

use std::path::{Path, PathBuf};

pub use descriptor::beyond_standard_streams;
pub use error::{ReadError, WriteError, way_out};
pub use header::{FORMAT, VERSION};
pub use reader::{read, read_from};
pub use writer::{write, write_to};

/// Which of the files is the one to write, if any.
pub fn same<'f>(out: &Path, files: impl IntoIterator<Item = &'f PathBuf>) -> Option<&'f PathBuf> {
    let out = out.canonicalize().ok()?;
    files.into_iter().find(|file| file.canonicalize().is_ok_and(|file| file == out && file.is_file()))
}
