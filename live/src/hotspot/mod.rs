//! HotSpot JVMs among the processes, and what one can say to them.
//!
//! [`perfdata`]: what a JVM publishes about itself; [`launcher`]: how its command line is read; [`jvm`]: which processes are
//! JVMs; [`attach`]: its protocol for commands from outside; `waking`: how it comes to listen; [`metaspace`]: its memory for
//! classes; [`exchange`]: where the agent answers.

pub mod attach;
pub mod exchange;
pub mod jvm;
pub mod launcher;
pub mod metaspace;
pub mod perfdata;
mod waking;
