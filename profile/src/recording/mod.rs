//! What a run leaves behind, turned into a profile: the arena with the counts and the log of classes.
//!
//! [`log`] is written by the agent while classes are woven; [`capture()`] copies the trees out of the arena, which may be
//! in use; [`assemble()`] joins the two. [`rates`] are what happens
//! between one capture and the next.

mod assemble;
mod capture;
mod combine;
pub mod files;
pub mod log;
mod memory;
mod origin;
mod places;
pub mod rates;
mod resolve;
mod rows;
mod stacks;

pub use assemble::{Summary, assemble, write};
pub use capture::{Capture, CaptureError, CapturedTree, Where, capture};
pub use log::Log;
pub use memory::Memory;
pub use origin::{LOG_VERSION, Origin, OriginError};
pub use stacks::{Frame, Stack};
