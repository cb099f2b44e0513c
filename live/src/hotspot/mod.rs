//! HotSpot JVMs among the processes, and what one can say to them.
//!
//! [`perfdata`]: what a JVM publishes about itself; [`jvm`]: which processes are JVMs; [`attach`]: its protocol for commands from
//! outside.

pub mod attach;
pub mod jvm;
pub mod perfdata;
