//! One JVM and the agent in it: what it is sent, and what comes back.

use super::reply::{Reply, not_restored, said};
use crate::agent::{self, Options};
use crate::live::{which, wrote};
use crate::output::{self, Output, tell};
use crate::progress::Progress;
use crate::signals::Interrupts;
use anyhow::{Context, Result, anyhow, bail};
use cprof_live::hotspot::attach::{ANSWERING, AttachError, STANDING, check, load};
use cprof_live::hotspot::exchange::Exchange;
use cprof_live::hotspot::jvm::{Jvm, NotJvm};
use cprof_live::hotspot::metaspace::{Kind, Metaspace};
use cprof_profile::names::{size, thousands};
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A JVM with the agent at hand.
pub(super) struct Target {
    pub(super) jvm: Jvm,
    /// The library as the JVM sees it.
    agent: String,
    exchange: Exchange,
    interrupts: Interrupts,
    /// How long it may be stopped before it is asked.
    pub(super) patience: Duration,
}

/// The agent did what it was told, but what it says of that cannot be had.
#[derive(Debug)]
pub(super) struct Unheard(String);

impl Display for Unheard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unheard {}

impl Target {
    pub(super) fn new(pid: u32, agent: Option<&str>, interrupts: &Interrupts) -> Result<Target> {
        let process = which::process(pid)?;
        let owner = process.user;
        let jvm = Jvm::of(process).map_err(|why| match why {
            NotJvm::Ended => has_ended(pid),
            NotJvm::Starting => anyhow!("process {pid} is a java without a JVM in it so far; try again when it has started"),
            NotJvm::Other => anyhow!("process {pid} is not a HotSpot JVM; cprof list shows those that run"),
            NotJvm::Unreadable => AttachError::OtherUser { pid, owner }.into(),
        })?;
        let agent = match agent {
            // The JVM has another working directory.
            Some(path) => output::absolute(Path::new(path))?,
            // Another copy would know nothing of what counts there.
            None => match &jvm.agent {
                Some(loaded) if jvm.process.path(loaded).exists() => PathBuf::from(loaded),
                _ => agent::find()?,
            },
        };
        let agent = agent.to_str().context("the path of libcprof.so is no text that a JVM could be sent")?.to_owned();
        let exchange = Exchange::new(&jvm.process).map_err(|error| match jvm.process.is_ending() {
            true => has_ended(pid),
            false => anyhow!(error).context(format!("making a directory in the /tmp of JVM {pid}")),
        })?;
        Ok(Target { jvm, agent, exchange, interrupts: interrupts.clone(), patience: STANDING })
    }

    /// Refuses a JVM whose metaspace is limited, and would be full when its classes are woven or changed back: the program itself
    /// would get none. `some`: the user chose some classes.
    pub(super) fn has_metaspace(&self, options: &Options, some: bool) -> Result<()> {
        // Measured on JDK 17 and 25 with programs of 700 to 1,400 classes when cprof came, most of the JDK: 17 to 22 KB for each that
        // was there, what is loaded meanwhile included, and 6 for one that is only looked at; of that 1.5 KB in the space of classes,
        // or a chunk of it for each loader. And a margin.
        const WOVEN: u64 = 28 << 10;
        const SEEN: u64 = 8 << 10;
        const IN_CLASS_SPACE: u64 = 3 << 10;
        check(&self.jvm, &self.agent, &options.text())?;
        let waiting = self.waiting();
        let metaspace = Metaspace::of(&self.jvm);
        drop(waiting);
        let metaspace = match metaspace {
            Ok(Some(metaspace)) => metaspace,
            // What ended says so when it is attached to.
            Ok(None) | Err(AttachError::Ended { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let needed = |kind| {
            metaspace.classes
                * match kind {
                    Kind::All if some => SEEN,
                    Kind::All => WOVEN,
                    Kind::Classes => IN_CLASS_SPACE,
                }
        };
        let Some(room) = metaspace.rooms.iter().find(|room| needed(room.kind) > room.left()) else { return Ok(()) };
        let way = if some { "" } else { ", or have fewer classes woven with --include, which takes less than half of that" };
        bail!(
            "JVM {} has {} of metaspace left ({} of {}={} are used), and to weave its {} classes and change them back takes some {}: \
             the program would have none. Start it with more{}",
            self.jvm.process.pid,
            size(room.left()),
            size(room.committed),
            room.kind.option(),
            size(room.limit),
            thousands(metaspace.classes),
            size(needed(room.kind)),
            if room.kind == Kind::All { way } else { "" },
        )
    }

    /// A JVM that others ask, too, answers after minutes.
    fn waiting(&self) -> Progress {
        Progress::start(format!("waiting for JVM {}", self.jvm.process.pid))
    }

    /// Sends options or a command to the agent.
    pub(super) fn send(&mut self, mut options: Options) -> Result<Reply> {
        options.add("reply", &self.exchange.reply_path())?;
        let waiting = self.waiting();
        let code = load(&self.jvm, &self.agent, &options.text(), self.patience).map_err(|error| match error {
            AttachError::Unfinished { .. } => {
                let kept = self.exchange.keep_profile();
                anyhow!("{error}. A profile that it was to hand over will be in {kept}, as it sees that file")
            }
            error => error.into(),
        })?;
        drop(waiting);
        let pid = self.jvm.process.pid;
        let reply = match self.exchange.reply() {
            Err(why) if code == 0 => bail!(Unheard(format!("what the agent in JVM {pid} answered cannot be read: {why}"))),
            reply => reply.with_context(|| format!("reading what the agent in JVM {pid} answered"))?,
        };
        match (code, reply.as_ref().and_then(|reply| said(reply, "error"))) {
            (0, None) => {
                let reply = reply.ok_or_else(|| {
                    Unheard(format!(
                        "the agent in JVM {pid} left no answer: the JVM's /tmp may be full, or the agent be of another version than this cprof. \
                         What it did is on the JVM's standard error and in cprof list"
                    ))
                })?;
                reply.iter().filter(|(key, _)| key == "notice").for_each(|(_, text)| tell(format_args!("{text}")));
                not_restored(&reply).iter().for_each(|line| tell(format_args!("{line}")));
                Ok(reply)
            }
            (_, Some(error)) => bail!("the agent in JVM {pid} says: {error}"),
            (code, None) => bail!(
                "the agent in JVM {pid} failed (its Agent_OnAttach returned {code}) and left no reason: the JVM's /tmp may be full. It is on the JVM's standard \
                 error; what there is now: cprof list, cprof list --stale"
            ),
        }
    }

    /// Has the agent leave, of whose coming nothing is heard but that it came: nobody would end what it counts. Answers what to say.
    pub(super) fn taken_back(&mut self, error: anyhow::Error, out: &Path) -> anyhow::Error {
        let (pid, out) = (self.jvm.process.pid, out.display().to_string());
        self.patience = ANSWERING;
        let detach = Options::command("detach");
        match self.interrupts.clone().during(parting_detach(pid, &out), || self.send(detach)) {
            Ok(reply) => {
                let out = said(&reply, "out").unwrap_or(&out);
                anyhow!("{error}. So it was told to detach again; what it had counted is in {out}, as it sees that file")
            }
            Err(left) if is_end(&left) => anyhow!("{error}. {}", with_what_is_left(left, pid, &out)),
            // Not told, or it could not.
            Err(left) if left.is::<AttachError>() || which::recorded(pid).is_ok() => {
                anyhow!("{error}. It counts until it ends, or until: cprof detach {pid}. To have it do so now failed: {left:#}")
            }
            Err(left) if left.is::<Unheard>() => anyhow!(
                "{error}. So it was told to detach again; what it had counted is in {out}, or, where that could not be written, in what \
                 cprof list --stale shows"
            ),
            Err(left) => anyhow!(
                "{error}. So it was told to detach again: {left:#}. Whether it counts, cprof list shows; what it has left, cprof list --stale"
            ),
        }
    }

    /// Has the agent write a profile where both can, by this command, and takes it from there.
    /// Answers the file's size, and what the agent said.
    pub(super) fn fetch(&mut self, mut options: Options, out: &Path) -> Result<(u64, Reply)> {
        let (path, pid) = (self.exchange.profile_path(), self.jvm.process.pid);
        options.add("out", &path)?;
        // The second signal leaves the directory there, as the agent may still write.
        let parting = format!(
            "JVM {pid} has not answered yet: if it has been asked for a profile, that will be in {path}, as the JVM sees that file; \
             if not, it goes on as it was: cprof list"
        );
        let sent = self.interrupts.clone().during(parting, || self.send(options));
        // What was counted is in it, however the command went on.
        let mut from = match (self.exchange.profile(), &sent) {
            (Ok(Some(written)), _) => written,
            (_, Err(_)) => return sent.map(|reply| (0, reply)),
            (Ok(None), Ok(_)) => bail!("the agent in JVM {pid} wrote no profile"),
            (Err(e), Ok(_)) => return Err(e).with_context(|| format!("reading the profile that the agent in JVM {pid} wrote")),
        };
        let copied = (|| {
            let mut to = Output::create(out)?;
            let bytes = io::copy(&mut from, &mut to).with_context(|| output::cannot(out))?;
            to.finish()?;
            Ok::<u64, anyhow::Error>(bytes)
        })();
        let bytes = copied.map_err(|error| {
            let kept = self.exchange.keep_profile();
            anyhow!("{error:#}; the profile stays in {kept}, as JVM {pid} sees it")
        })?;
        match sent {
            Ok(reply) => Ok((bytes, reply)),
            Err(error) => bail!("{error:#}. Before that it {}", wrote(out, &size(bytes))),
        }
    }
}

/// What a detach leaves behind when it is interrupted twice. `usual`: where the JVM writes by itself.
pub(super) fn parting_detach(pid: u32, usual: &str) -> String {
    format!(
        "JVM {pid} has not answered yet: if it has been told to detach, it writes its profile to {usual}; if not, it counts until: cprof detach {pid}"
    )
}

/// Of a JVM that ended before it answered: what there is of its counts. `usual`: where it writes at its end.
pub(super) fn with_what_is_left(error: anyhow::Error, pid: u32, usual: &str) -> anyhow::Error {
    match is_end(&error) {
        true if which::left_counts(pid) => anyhow!("{error}. What it had counted is left; write it with: cprof recover {pid}"),
        true => anyhow!("{error}. It has written its profile to {usual}; if not, its standard error says why"),
        false => error,
    }
}

/// Whether the JVM ended before it answered.
pub(super) fn is_end(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(AttachError::Ended { .. }))
}

/// Of a process that was there a moment ago, and may still be on its way out: what it leaves may not be left yet.
pub(super) fn has_ended(pid: u32) -> anyhow::Error {
    anyhow!("process {pid} has just ended; cprof list --stale shows what JVMs have left")
}
