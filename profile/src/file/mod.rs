//! The `.cprof` file: a zip of a JSON header and little-endian columns. `docs/format.md` is its description.

mod columns;
mod descriptor;
mod error;
mod header;
mod reader;
mod writer;

pub use descriptor::beyond_standard_streams;
pub use error::{ReadError, WriteError, way_out};
pub use header::{FORMAT, VERSION};
pub use reader::{read, read_from};
pub use writer::{write, write_to};
