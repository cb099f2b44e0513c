//! Options of the commands for running and for dead JVMs.

use super::Format;
use clap::Args;
use std::path::PathBuf;

/// `cprof list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof list                  the JVMs of this user (for root: of all users)
  cprof list --stale          recordings that killed JVMs have left in /dev/shm
  cprof list --format json

Exit code: 0; 1 when /proc or /dev/shm cannot be read; 2 for wrong options.")]
pub struct List {
    /// Recordings that dead JVMs have left
    #[arg(long)]
    pub stale: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `cprof snapshot`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof snapshot 4711                        writes cprof-4711.cprof
  cprof snapshot 4711 -o before.cprof

The counts are read from shared memory: the JVM is not stopped and does not notice. So each context is read at a moment of its own,
and methods that are active then may be off by one execution; docs/servers.md says what that means.

Exit code: 0; 1 when the process is not being recorded or the file cannot be written; 2 for wrong options.")]
pub struct Snapshot {
    /// Process id of the JVM, as cprof list shows it
    pub pid: u32,
    /// The file to write; %p stands for the process id, %t for the start of the recording in seconds
    #[arg(short = 'o', long = "out", value_name = "FILE", default_value = "cprof-%p.cprof")]
    pub out: String,
    /// Say nothing
    #[arg(short, long)]
    pub quiet: bool,
}

/// `cprof recover`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof list --stale                                        what there is to recover
  cprof recover 4711 -o app.cprof                           by the process id that the JVM had
  cprof recover /dev/shm/cprof-1000-4711-1795172307999

The profile holds everything up to the moment of death. Methods that were active then may be off by one execution. The recording
stays where it is until cprof clean removes it.

Exit code: 0; 1 when there is nothing to recover, the recording is damaged, or the file cannot be written; 2 for wrong options.")]
pub struct Recover {
    /// The process id that the JVM had, or the recording's directory
    #[arg(value_name = "PID|DIR")]
    pub what: String,
    /// The file to write; %p stands for the process id, %t for the start of the recording in seconds
    #[arg(short = 'o', long = "out", value_name = "FILE", default_value = "cprof-%p.cprof")]
    pub out: String,
    /// Say nothing but what is wrong with the recording
    #[arg(short, long)]
    pub quiet: bool,
}

/// `cprof clean`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof clean                                               all recordings of dead JVMs of this user
  cprof clean 4711                                          that of one
  cprof clean /dev/shm/cprof-1000-4711-1795172307999

Recordings of JVMs that are alive stay, and so does everything that cprof did not make.

Exit code: 0; 1 when something could not be removed; 2 for wrong options.")]
pub struct Clean {
    /// Process ids or directories; without any, all that dead JVMs have left
    #[arg(value_name = "PID|DIR")]
    pub what: Vec<PathBuf>,
}
