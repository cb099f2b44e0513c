//! Options of the commands for running and for dead JVMs.

use super::{Counting, Format};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

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

/// `cprof attach`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof attach 4711                              count from now on; the profile is written when the JVM ends
  cprof attach 4711 --for 30s -o app.cprof       count for half a minute, write, detach
  cprof attach 4711 --include 'com.acme.*'       weave the classes of one package only: comes sooner, slows less
  cprof attach 4711 --agent /opt/libcprof.so     a JVM in a container, which sees the agent there

Classes are woven while the program runs; its threads stop for a moment per 1000 of them, and the longest stop is printed, with what was covered and what
was not. A busy JVM is slow for some seconds afterwards, as it compiles everything anew (docs/servers.md).

Exit code: 0; 1 when the JVM could not be attached to or the profile not be written; 2 for wrong options.

Environment:
  CPROF_AGENT   path of libcprof.so, when it is not beside the cprof command")]
pub struct Attach {
    /// Process id of the JVM, as cprof list shows it
    pub pid: u32,
    /// Count for so long, then write the profile and detach: 500ms, 30s, 5m or 1h
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
    /// The file to write; %p stands for the process id, %t for the start of the recording in seconds
    #[arg(short = 'o', long = "out", value_name = "FILE", default_value = "cprof-%p.cprof")]
    pub out: String,
    /// libcprof.so as the JVM sees it; by default the one that it has loaded, else that of this command
    #[arg(long, value_name = "PATH")]
    pub agent: Option<String>,
    /// What is counted, and how
    #[command(flatten)]
    pub counting: Counting,
}

/// `cprof detach`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof detach 4711                      the profile goes where cprof attach said
  cprof detach 4711 -o app.cprof         or to this file

Exit code: 0; 1 when the JVM could not be reached, cprof is not in it, or the file cannot be written; 2 for wrong options.

Environment:
  CPROF_AGENT   path of libcprof.so, when it is not beside the cprof command")]
pub struct Detach {
    /// Process id of the JVM, as cprof list shows it
    pub pid: u32,
    /// Write the profile to this file, not to the one that cprof attach named; - is standard output; %p stands for the process id,
    /// %t for the start of the recording in seconds
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<String>,
    /// libcprof.so as the JVM sees it; by default the one that it has loaded, else that of this command
    #[arg(long, value_name = "PATH")]
    pub agent: Option<String>,
}

/// `cprof snapshot`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof snapshot 4711                        writes cprof-4711.cprof
  cprof snapshot 4711 -o before.cprof
  cprof snapshot 4711 --exact                the agent writes it, with the JVM's threads stopped

Without --exact the counts are read from shared memory: the JVM is not stopped and does not notice. So each context is read at a moment of its own,
and methods that are active then may be off by one execution; docs/servers.md says what that means.

Exit code: 0; 1 when the process is not being recorded or the file cannot be written; 2 for wrong options.")]
pub struct Snapshot {
    /// Process id of the JVM, as cprof list shows it
    pub pid: u32,
    /// The file to write; - is standard output; %p stands for the process id, %t for the start of the recording in seconds
    #[arg(short = 'o', long = "out", value_name = "FILE", default_value = "cprof-%p.cprof")]
    pub out: String,
    /// Have the agent in the JVM write it, exact to the bytecode; the JVM's threads are stopped meanwhile
    #[arg(long)]
    pub exact: bool,
    /// libcprof.so as the JVM sees it; by default the one that it has loaded, else that of this command
    #[arg(long, value_name = "PATH", requires = "exact")]
    pub agent: Option<String>,
    /// Say nothing
    #[arg(short, long)]
    pub quiet: bool,
}

/// `cprof top`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof top 4711
  cprof top 4711 --every 5s          slower: for trees of many millions of contexts
  cprof top 4711 | head -20          one table of one interval, then exit

Keys: m methods, c contexts, t threads; s order; space pause; w write a snapshot; q quit.

The counts are read from shared memory: the JVM is not stopped and does not notice, but reading takes a core for a moment.
Colours follow NO_COLOR and TERM.

Exit code: 0; 1 when the process is not being recorded; 2 for wrong options.")]
pub struct Top {
    /// Process id of the JVM, as cprof list shows it
    pub pid: u32,
    /// How often to look: 500ms, 1s, 1m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1s")]
    pub every: Duration,
}

/// `cprof recover`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof list --stale                                        what there is to recover
  cprof recover 4711 -o app.cprof                           by the process id that the JVM had
  cprof recover /dev/shm/cprof-1000-4711-1795172307999

The profile holds everything up to the moment of death. Methods that were active then may be off by one execution. The recording
stays where it is until cprof clean removes it.

Of a recording that is damaged in part, as one whose class log was cut off, the rest is written; warnings say what was left out.

Exit code: 0, also when something was left out; 1 when there is nothing to recover, the beginning of the recording is damaged or nothing is
left of it, or the file cannot be written; 2 for wrong options.")]
pub struct Recover {
    /// The process id that the JVM had, or the recording's directory
    #[arg(value_name = "PID|DIR")]
    pub what: String,
    /// The file to write; - is standard output; %p stands for the process id, %t for the start of the recording in seconds
    #[arg(short = 'o', long = "out", value_name = "FILE", default_value = "cprof-%p.cprof")]
    pub out: String,
    /// Say nothing but what is wrong with the recording
    #[arg(short, long)]
    pub quiet: bool,
}

/// `cprof clean`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cprof clean                                               all recordings of dead JVMs of this user, and what
                                                            commands that were ended by force left in /tmp
  cprof clean 4711                                          that of one
  cprof clean /dev/shm/cprof-1000-4711-1795172307999

Recordings of JVMs that are alive stay, and so does everything that cprof did not make.

Exit code: 0; 1 when something could not be removed; 2 for wrong options.")]
pub struct Clean {
    /// Process ids or directories; without any, all that dead JVMs have left
    #[arg(value_name = "PID|DIR")]
    pub what: Vec<PathBuf>,
}

/// `30s`, `5m`, `1h`, `500ms`; a number alone is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    match digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)) {
        Some(ms) if ms > 0 => Ok(Duration::from_millis(ms)),
        _ => Err("it takes a time as 500ms, 30s, 5m or 1h".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, ms) in [("30s", 30_000), ("2", 2000), ("5m", 300_000), ("1h", 3_600_000), ("50ms", 50)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "0s", "-1s", "1d", "é", "99999999999999999999s", "99999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
