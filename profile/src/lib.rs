//! Profiles: from the recording of a run to the numbers in a report.
//!
//! The rooms, in the order in which data passes through them: [`recording`] turns the agent's arena and class log into a
//! [`Profile`](model::Profile), [`mod@file`] writes and reads it, [`flow`] and [`recover`] get every block's count from the few
//! that were counted, [`target`] says what a bytecode costs, [`measure`] joins the two per node, [`integrity`] checks that they
//! agree, [`tree`] merges nodes to named contexts ([`siblings`] finds them), [`metrics`] are numbers beside those, and
//! [`projections`] are the tables that reports print. [`merge`] makes one profile of many. [`amounts`] are what columns of
//! numbers are kept in, [`call_lines`] where calls stand in sources. [`options`] are the agent's, [`proc`] is what the system says of
//! its process.
#![forbid(unsafe_code)]

pub mod amounts;
pub mod cache;
pub mod call_lines;
pub mod code;
pub mod cycles;
pub mod file;
pub mod flow;
pub mod integrity;
mod leb128;
pub mod measure;
pub mod merge;
pub mod metrics;
pub mod model;
pub mod names;
pub mod natives;
mod nodes;
pub mod options;
pub mod proc;
pub mod projections;
pub mod recording;
pub mod recover;
pub mod siblings;
pub mod source_map;
pub mod target;
pub mod tree;
