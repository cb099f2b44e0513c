//! `cprof attach`, `cprof detach`, and `cprof snapshot --exact`: what the agent in a JVM does on request.

use super::{out_path, which, wrote};
use crate::agent::{self, Options};
use crate::args::{Attach, Counting, Detach};
use crate::output::{self, Identity, Output, tell};
use crate::progress::Progress;
use crate::report::coverage::gaps;
use crate::signals::{self, Interrupts};
use crate::usage::Usage;
use anyhow::{Context, Result, anyhow, bail, ensure};
use cprof_live::hotspot::attach::{ANSWERING, AttachError, STANDING, check, load};
use cprof_live::hotspot::exchange::Exchange;
use cprof_live::hotspot::jvm::{Jvm, NotJvm, Presence};
use cprof_live::hotspot::metaspace::{Kind, Metaspace};
use cprof_live::process::Process;
use cprof_profile::model::now_ms;
use cprof_profile::names::{counted, dotted, few, size, thousands};
use cprof_profile::options::literal;
use cprof_profile::target::Library;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Signals by which a user ends a command.
const ENDING: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// A JVM with the agent at hand.
struct Target {
    jvm: Jvm,
    /// The library as the JVM sees it.
    agent: String,
    exchange: Exchange,
    interrupts: Interrupts,
    /// How long it may be stopped before it is asked.
    patience: Duration,
}

/// What the agent said, in its order.
type Reply = Vec<(String, String)>;

/// The agent did what it was told, but what it says of that cannot be had.
#[derive(Debug)]
struct Unheard(String);

impl Display for Unheard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unheard {}

/// Where the profile of an attached JVM goes if no other place is named.
const NAMED: &str = "the place that cprof attach, or its out=, named";

/// Attaches; with `--for`, waits, writes, detaches.
pub fn attach(args: &Attach) -> Result<()> {
    if args.out == "-" {
        bail!(Usage(
            "a profile of a JVM that ends while it is counted is written by the JVM, which has no use for this command's standard output; name a \
             file with --out, as -o app.cprof"
                .to_owned()
        ));
    }
    let out = output::absolute(&out_path(&args.out, args.pid, now_ms()))?;
    let mut options = Options::quiet();
    let name = out.to_str().context("the name of the file to write is no text that the JVM could be sent")?;
    options.add("out", &literal(name))?;
    let file = args.counting.target.as_deref().filter(|target| Library.is_file(target));
    match file {
        // The JVM may see other files than this command does, in a container say: it looks a model's up itself, by its whole path,
        // as it has another working directory.
        Some(file) => {
            let file = output::absolute(Path::new(file))?;
            let target = file.to_str().map(str::to_owned);
            let target = Some(target.context("the name of the model's file is no text that the JVM could be sent")?);
            options.counting(&Counting { target, ..args.counting.clone() })?;
        }
        None => {
            options.counting(&args.counting)?;
            options.check()?;
        }
    }
    // Before there is a directory in the JVM's /tmp, and before anything is sent: an interrupted `--for` must not leave the JVM
    // counting, unless the JVM does not answer.
    let interrupts = signals::finish_first(&ENDING)?;
    let mut target = Target::new(args.pid, args.agent.as_deref(), &interrupts)?;
    // Who writes finds out at the end: this command, or, without --for, the JVM, which may see other files.
    let seen = |path: &Path| if args.time.is_some() { path.to_owned() } else { target.jvm.process.path(&path.to_string_lossy()) };
    let place = output::has_place(&out, seen);
    // Files here and files there.
    let apart = args.time.is_none() && target.jvm.process.sees_other_files();
    // A process that is gone has no directories.
    if is_there(args.pid) {
        let elsewhere =
            "writes the profile itself, and sees other files than this command; name a directory that it sees, or use --for";
        if apart { place.with_context(|| format!("JVM {} {elsewhere}", args.pid))? } else { place? }
    }
    let parting = format!("JVM {} has not answered; it was not told to count", args.pid);
    interrupts.during(parting, || target.has_metaspace(&options, !args.counting.include.is_empty()))?;
    ensure!(!interrupts.have_come(), "interrupted; JVM {} was not told to count", args.pid);
    let before = Identity::of(&out);
    let written = || Identity::of(&out).is_some_and(|now| Some(now) != before);
    let parting =
        format!("JVM {0} was told to count, and has not answered: it counts until it ends, or until: cprof detach {0}", args.pid);
    let reply = match interrupts.during(parting, || target.send(options)) {
        Err(error) if is_end(&error) => {
            let counted = which::left_counts(args.pid);
            if written() {
                tell(format_args!("JVM {} ended when cprof had just come; it wrote {}", args.pid, out.display()));
                return Ok(());
            }
            bail!(match counted {
                true => format!("{error}. What it had counted is left; write it with: cprof recover {}", args.pid),
                false => format!("{error}, and nothing was counted"),
            });
        }
        Err(error) if args.time.is_some() && error.is::<Unheard>() => return Err(target.taken_back(error, &out)),
        reply => reply?,
    };
    tell(format_args!("attached to JVM {}{}", args.pid, covered(&reply)));
    let Some(time) = args.time else {
        let (pid, out) = (args.pid, out.display());
        let seen = if apart { ", as the JVM sees it," } else { "" };
        tell(format_args!(
            "it counts until it ends, and writes {out}{seen} then; sooner: cprof snapshot {pid}, cprof detach {pid}"
        ));
        return Ok(());
    };
    wait(time, &interrupts, &target.jvm.process);
    detach_in_time(target, &reply, &out, written)
}

/// The end of `--for`. `reply`: the agent's, when it had come; `written`: whether the file has been written since.
fn detach_in_time(mut target: Target, reply: &Reply, out: &Path, written: impl Fn() -> bool) -> Result<()> {
    let pid = target.jvm.process.pid;
    if !target.jvm.process.is_alive() {
        if !written() {
            bail!(
                "JVM {pid} ended before the time was up, and did not write {}. Where it wrote its profile instead is on its standard error; \
                 what it left: cprof list --stale",
                out.display()
            );
        }
        tell(format_args!("JVM {pid} ended before the time was up; it wrote {}", out.display()));
        return Ok(());
    }
    // Nobody else would end what it counts.
    target.patience = ANSWERING;
    let mut detach = Options::command("detach");
    // Another attach may have followed, whose counts are not for this command.
    said(reply, "started_ms").map_or(Ok(()), |started| detach.add("started_ms", started))?;
    let (bytes, reply) = match target.fetch(detach, out) {
        // It was ending, and has done what it does then.
        Err(_) if !target.jvm.process.is_alive() && written() => {
            tell(format_args!("JVM {pid} ended when the time was up; it wrote {}", out.display()));
            return Ok(());
        }
        Err(error) if matches!(error.downcast_ref(), Some(AttachError::Stopped { .. })) => {
            bail!("{error}. It counts until it ends, or until: cprof detach {pid}")
        }
        fetched => fetched.map_err(|error| with_what_is_left(error, pid, &out.display().to_string()))?,
    };
    tell(format_args!("detached{}; {}", stood_still(&reply), wrote(out, &size(bytes))));
    Ok(())
}

/// Has the agent write the profile and detach.
pub fn detach(args: &Detach) -> Result<()> {
    if let Some(out) = &args.out {
        output::spares_terminal(Path::new(out), "a profile", "app.cprof")?;
    }
    let interrupts = signals::finish_first(&ENDING)?;
    let mut target = Target::new(args.pid, args.agent.as_deref(), &interrupts)?;
    if target.jvm.cprof == Presence::Absent {
        bail!("cprof is not in JVM {}; cprof list shows in which it is", args.pid);
    }
    let (out, bytes, reply) = match &args.out {
        Some(out) => {
            let out = out_path(out, args.pid, started(args.pid));
            // To detach cannot be taken back.
            output::has_place(&out, Path::to_owned)?;
            let fetched = target.fetch(Options::command("detach"), &out);
            let (bytes, reply) = fetched.map_err(|error| with_what_is_left(error, args.pid, NAMED))?;
            (out, bytes, reply)
        }
        None => {
            let parting = parting_detach(args.pid, NAMED);
            let reply = interrupts.during(parting, || target.send(Options::command("detach")));
            let reply = reply.map_err(|error| with_what_is_left(error, args.pid, NAMED))?;
            let out = said(&reply, "out").context("the agent did not say which file it wrote")?;
            (PathBuf::from(out), said(&reply, "bytes").and_then(|b| b.parse().ok()).unwrap_or(0), reply)
        }
    };
    tell(format_args!("detached from JVM {}{}; {}", args.pid, stood_still(&reply), wrote(&out, &size(bytes))));
    Ok(())
}

/// What a detach leaves behind when it is interrupted twice. `usual`: where the JVM writes by itself.
fn parting_detach(pid: u32, usual: &str) -> String {
    format!(
        "JVM {pid} has not answered yet: if it has been told to detach, it writes its profile to {usual}; if not, it counts until: cprof detach {pid}"
    )
}

/// When the recording of a process began, for file names, in milliseconds since 1970; of one that is not in shared memory: now.
pub fn started(pid: u32) -> u64 {
    which::recorded(pid).ok().and_then(|recording| recording.started_ms()).unwrap_or_else(now_ms)
}

/// Has the agent write a profile, with the JVM's threads stopped meanwhile. Answers what there is to say.
pub fn exact_snapshot(pid: u32, agent: Option<&str>, out: &Path) -> Result<String> {
    output::has_place(out, Path::to_owned)?;
    let interrupts = signals::finish_first(&ENDING)?;
    let fetched = Target::new(pid, agent, &interrupts)?.fetch(Options::command("snapshot"), out);
    let (bytes, reply) = fetched.map_err(|error| with_what_is_left(error, pid, "its usual place"))?;
    Ok(format!("taken{}; {}", stood_still(&reply), wrote(out, &size(bytes))))
}

/// Of a JVM that ended before it answered: what there is of its counts. `usual`: where it writes at its end.
fn with_what_is_left(error: anyhow::Error, pid: u32, usual: &str) -> anyhow::Error {
    match is_end(&error) {
        true if which::left_counts(pid) => anyhow!("{error}. What it had counted is left; write it with: cprof recover {pid}"),
        true => anyhow!("{error}. It has written its profile to {usual}; if not, its standard error says why"),
        false => error,
    }
}

/// Whether the JVM ended before it answered.
fn is_end(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(AttachError::Ended { .. }))
}

/// Of a process that was there a moment ago, and may still be on its way out: what it leaves may not be left yet.
fn has_ended(pid: u32) -> anyhow::Error {
    anyhow!("process {pid} has just ended; cprof list --stale shows what JVMs have left")
}

fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

impl Target {
    fn new(pid: u32, agent: Option<&str>, interrupts: &Interrupts) -> Result<Target> {
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
    fn has_metaspace(&self, options: &Options, some: bool) -> Result<()> {
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
    fn send(&mut self, mut options: Options) -> Result<Reply> {
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
    fn taken_back(&mut self, error: anyhow::Error, out: &Path) -> anyhow::Error {
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
    fn fetch(&mut self, mut options: Options, out: &Path) -> Result<(u64, Reply)> {
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

/// Waits, but not beyond an interrupt or the JVM's end.
fn wait(time: Duration, interrupts: &Interrupts, process: &Process) {
    const LOOK: Duration = Duration::from_millis(50);
    let begin = Instant::now();
    let left = || time.saturating_sub(begin.elapsed());
    let counting = Progress::start("counting; Ctrl-C writes the profile sooner".to_owned());
    while !left().is_zero() && !interrupts.have_come() && process.is_alive() {
        std::thread::sleep(left().min(LOOK));
        counting.reached(begin.elapsed().div_duration_f64(time).min(1.0));
    }
}

/// What the agent said under a key, the first time.
fn said<'r>(reply: &'r Reply, key: &str) -> Option<&'r str> {
    reply.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
}

/// Which classes keep cprof's code, and why. Of many with one reason the first few are named.
fn not_restored(reply: &Reply) -> Vec<String> {
    const NAMED: usize = 3;
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (_, text) in reply.iter().filter(|(key, _)| key == "not_restored") {
        let (class, reason) = text.split_once(": ").unwrap_or((text, ""));
        let class = dotted(class);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, classes)) => classes.push(class),
            None => reasons.push((reason, vec![class])),
        }
    }
    let line = |(reason, classes): &(&str, Vec<String>)| {
        let (noun, named) = (if classes.len() == 1 { "class" } else { "classes" }, few(classes, NAMED));
        format!("the JVM keeps cprof's code, which does nothing any more, in {noun} {named}: {reason}")
    };
    reasons.iter().map(line).collect()
}

/// `: 2,179 classes with 18,331 methods covered, 12 methods not (cprof report --coverage lists them); the JVM stood still for 85 ms at
/// most`.
fn covered(reply: &Reply) -> String {
    let number = |key: &str| said(reply, key).and_then(|n| n.parse::<u64>().ok());
    let mut text = String::new();
    if let (Some(classes), Some(methods)) = (number("covered_classes"), number("covered_methods")) {
        text.push_str(&format!(": {} classes with {} methods covered", thousands(classes), thousands(methods)));
    }
    let [methods, classes] = ["methods_not_covered", "classes_not_covered"].map(|key| number(key).unwrap_or(0));
    let not = gaps(methods, classes);
    if !not.is_empty() {
        text.push_str(&format!(", {} not (cprof report --coverage lists them)", not.join(" and ")));
    }
    if let Some(frames) = number("active_frames").filter(|&n| n > 0) {
        text.push_str(&format!(", {} active before not", counted(frames, "frame that was", "frames that were")));
    }
    text + &stood_still(reply)
}

/// The longest time for which the agent had the JVM's threads stopped, if it said so.
fn stood_still(reply: &Reply) -> String {
    said(reply, "pause_ms").map_or_else(String::new, |pause| format!("; the JVM stood still for {pause} ms at most"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agent_says_is_counted_and_named() {
        let reply: Reply = [
            ("covered_classes", "2179"),
            ("covered_methods", "18331"),
            ("methods_not_covered", "1"),
            ("classes_not_covered", "2"),
            ("active_frames", "9"),
            ("pause_ms", "85"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec();
        assert_eq!(
            covered(&reply),
            ": 2,179 classes with 18,331 methods covered, 1 method and 2 classes not (cprof report --coverage lists them), 9 frames that were \
             active before not; the JVM stood still for 85 ms at most"
        );
        assert_eq!(covered(&Vec::new()), "");
    }

    #[test]
    fn classes_that_stay_woven_are_named_by_reason() {
        let full = "the JVM has no memory left";
        let said = [("a/A", full), ("a.B", "other: why"), ("a.C", full), ("a.D", full), ("a.E", full), ("a.F", full)];
        let reply: Reply = said.map(|(class, why)| ("not_restored".to_owned(), format!("{class}: {why}"))).to_vec();
        let kept = "the JVM keeps cprof's code, which does nothing any more, in";
        assert_eq!(
            not_restored(&reply),
            [format!("{kept} classes a.A, a.C, a.D and 2 more: {full}"), format!("{kept} class a.B: other: why"),]
        );
    }
}
