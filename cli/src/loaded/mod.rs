//! A profile as the commands read it: the part that options choose, on the processor that they name.

pub mod choice;
pub mod processor;
pub mod view;
