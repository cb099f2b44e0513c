//! Class files in, counting class files out.
//!
//! The rooms, each with one job: [`classfile`] reads, [`flow`] analyses and knows nothing of
//! insertion, [`probes`] chooses where to count, [`weave`] inserts what was planned.
//! [`abi`] is what woven code, the runtime class, the agent and every reader of a recording agree on.
//! No JVM, no I/O, no unsafe: bytes in, bytes out.
#![forbid(unsafe_code)]

pub mod abi;
pub mod classfile;
pub mod flow;
pub mod probes;
pub mod weave;

pub use classfile::Error;
pub use probes::{Edge, EdgeKind, Level, Plan, Planner, plan};
pub use weave::{Copied, ENTRY_LENGTH, Options, Policy, SkipReason, Skipped, Treatment, Weaver, Woven, WovenMethod};
