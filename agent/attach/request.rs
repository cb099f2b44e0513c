//! What is asked of an agent in a running JVM, as the text after the library's path, and its answer, a file of `key: value`
//! lines.

use crate::faults;
use cprof_profile::file::beyond_standard_streams;
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// Begin to count, with these options of [`cprof_profile::options`].
    Attach(String),
    /// Write the profile and leave.
    Detach {
        /// Where to; `None`: to the file named when attaching.
        out: Option<PathBuf>,
        /// Only if cprof came then, as the answer to an attach had it (`started_ms`).
        started_ms: Option<u64>,
    },
    /// Write what was counted so far.
    Snapshot(PathBuf),
    /// Say whether anything is counted, and where.
    Status,
}

/// A command, and where its answer goes.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The command, or what is wrong with it.
    pub command: Result<Command, String>,
    /// `reply=`
    pub reply: Option<PathBuf>,
}

const COMMANDS: &str = "detach, snapshot and status";

impl Request {
    /// Parses the text. Without `command=` it is an attach, and everything but `reply=` its options.
    pub fn parse(text: &str) -> Request {
        let (mut command, mut reply, mut out, mut started_ms) = (None, None, None, None);
        let mut options = Vec::new();
        for option in text.split(',').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("command", name)) => command = Some(name),
                Some(("reply", path)) => reply = Some(PathBuf::from(path)),
                Some(("out", path)) => {
                    out = Some(PathBuf::from(path));
                    options.push(option);
                }
                Some(("started_ms", number)) => match number.parse() {
                    Ok(number) => started_ms = Some(number),
                    Err(_) => options.push(option),
                },
                _ => options.push(option),
            }
        }
        let others = options.iter().find(|option| !option.starts_with("out="));
        let command = match (command, others, out) {
            (command, ..) if started_ms.is_some() && command != Some("detach") => {
                Err("started_ms= belongs to command=detach".to_owned())
            }
            (None, ..) => Ok(Command::Attach(options.join(","))),
            (Some(name), Some(other), _) => Err(format!("command={name} does not take {other}; it takes out= and reply=")),
            (Some("detach"), None, out) => Ok(Command::Detach { out, started_ms }),
            (Some("snapshot"), None, Some(out)) => Ok(Command::Snapshot(out)),
            (Some("snapshot"), None, None) => Err("command=snapshot needs out=, the file to write".to_owned()),
            (Some("status"), None, None) => Ok(Command::Status),
            (Some("status"), None, Some(_)) => Err("command=status takes no out=".to_owned()),
            (Some(other), ..) => Err(format!("there is no command {other:?}; there are {COMMANDS}")),
        };
        Request { command, reply }
    }
}

/// An answer.
#[derive(Debug, Default)]
pub struct Reply(String);

impl Reply {
    /// Adds a line; a value of several lines becomes one.
    pub fn put(&mut self, key: &str, value: impl Display) -> &mut Reply {
        let value = value.to_string().replace('\n', " ");
        self.0.push_str(&format!("{key}: {value}\n"));
        self
    }

    /// Adds for how long threads stood still at most: never less than they did.
    pub fn put_pause(&mut self, longest: Duration) {
        self.put("pause_ms", longest.as_micros().div_ceil(1000));
    }

    /// Writes the answer for the current user alone: all of it, or none.
    ///
    /// # Errors
    /// The file exists, a link included, or cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        faults::io("reply write")?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)?;
        let mut file = beyond_standard_streams(file)?;
        file.write_all(self.0.as_bytes()).inspect_err(|_| {
            // Best effort: half an answer would pass for one.
            let _ = fs::remove_file(path);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        let parse = |text| Request::parse(text);
        let attach = parse("jop,reply=/r,out=/o,sites=on");
        assert_eq!(attach.command, Ok(Command::Attach("jop,out=/o,sites=on".to_owned())));
        assert_eq!(attach.reply.as_deref(), Some(Path::new("/r")));
        assert_eq!(parse("command=detach").command, Ok(Command::Detach { out: None, started_ms: None }));
        let of_one = Command::Detach { out: Some("/o".into()), started_ms: Some(1234) };
        assert_eq!(parse("command=detach,out=/o,reply=/r,started_ms=1234").command, Ok(of_one));
        assert_eq!(parse("command=snapshot,out=/o").command, Ok(Command::Snapshot("/o".into())));
        assert_eq!(parse("command=status").command, Ok(Command::Status));
    }

    #[test]
    fn wrong_commands_name_the_way_out() {
        for (text, way) in [
            ("command=stop", COMMANDS),
            ("command=snapshot", "out="),
            ("command=status,out=/o", "no out="),
            ("command=detach,sites=on", "does not take sites=on"),
            ("command=detach,started_ms=x", "does not take started_ms=x"),
            ("jop,started_ms=1", "belongs to command=detach"),
        ] {
            assert!(Request::parse(text).command.unwrap_err().contains(way), "{text}");
        }
    }

    #[test]
    fn a_reply_is_written_once() {
        let path = std::env::temp_dir().join(format!("cprof-reply-{}", std::process::id()));
        let mut reply = Reply::default();
        reply.put("error", "a\nb").put("pause_ms", 3);
        reply.write(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "error: a b\npause_ms: 3\n");
        assert!(reply.write(&path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
