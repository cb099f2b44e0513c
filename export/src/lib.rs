//! Profiles in the formats of other tools, one module each. A format is written from front to back as the contexts are walked, so
//! that besides the profile little is in memory: what a format has once per method, line, call site or depth. Only [`lcov`] has no
//! contexts.

mod by_line;
pub mod callgrind;
pub mod chrome;
pub mod collapsed;
pub mod csv;
pub mod json;
pub mod lcov;
pub mod names;
mod places;
pub mod pprof;
mod rows;
mod source;
pub mod speedscope;
mod walk;

pub use by_line::ByLine;
pub use places::source_path;
pub use source::Source;
