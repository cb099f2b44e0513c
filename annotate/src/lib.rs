//! What a profile says about the code of a method: executions, costs and branch outcomes of every bytecode and source line.
//!
//! [`annotate`](method::annotate) makes an [`Annotation`](method::Annotation) of each method asked for: its bytecodes as
//! [`Row`](method::Row)s with text, line, executions, cycles and outcomes, and its basic blocks. All contexts that the caller
//! chose are added up; the sums over the rows are those of `cprof report`, to the last unit. [`lines`] adds rows up by source
//! line, [`source`] finds the sources, [`class_files`] what a program consists of, [`disassemble`] is bytecode in the notation of
//! javap, [`charges`] places the cycles of a processor, and [`histogram`] counts bytecodes by opcode, blocks by size, and
//! branches by outcome.
//!
//! ```no_run
//! use cprof_annotate::method::{Choice, annotate};
//! use cprof_profile::{file, measure::measure, model::special};
//!
//! let profile = file::read("app.cprof".as_ref())?;
//! let measures = measure(&profile)?;
//! let nodes: Vec<bool> = profile.nodes.method.iter().map(|&method| method < special::FIRST).collect();
//! let choice = Choice { profile: &profile, measures: &measures, nodes: &nodes, charges: None };
//! annotate(&choice, |method| profile.methods[method as usize].name == "main", |annotation| {
//!     for row in &annotation.rows {
//!         println!("{:5} {:>12} {}", row.bci, row.executions, row.text);
//!     }
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod charges;
pub mod class_files;
pub mod disassemble;
pub mod histogram;
pub mod lines;
pub mod method;
pub mod places;
pub mod source;
