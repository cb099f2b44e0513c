//! JVMs from outside: what they have recorded so far, and a word with them.
//!
//! The rooms: [`process`], what `/proc` says; `thread_limit`, whether a process can start a thread; [`recordings`], the directories in shared memory in which agents count, of living
//! and of dead processes, opened so that nobody else's files and links are followed; [`take`], a profile of a recording;
//! [`hotspot`], which processes are JVMs, and the protocol by which a JVM loads an agent while it runs.
//!
//! Everything is read with plain reads and nothing is mapped: a file that somebody cuts short is an error, never a SIGBUS.
#![forbid(unsafe_code)]

pub mod hotspot;
pub mod process;
pub mod recordings;
pub mod take;
mod thread_limit;
