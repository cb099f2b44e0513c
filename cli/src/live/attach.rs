//! `cprof attach`, `cprof detach`, and `cprof snapshot --exact`: what the agent in a JVM does on request.

mod reply;
mod target;

use super::{out_path, which, wrote};
use crate::agent::Options;
use crate::args::{Attach, Counting, Detach};
use crate::output::{self, Identity, tell};
use crate::progress::Progress;
use crate::signals::{self, Interrupts};
use crate::usage::Usage;
use anyhow::{Context, Result, bail, ensure};
use cprof_live::hotspot::attach::{ANSWERING, AttachError};
use cprof_live::hotspot::jvm::Presence;
use cprof_live::process::Process;
use cprof_profile::model::now_ms;
use cprof_profile::names::size;
use cprof_profile::options::literal;
use cprof_profile::target::Library;
use reply::{Reply, covered, said, stood_still};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use target::{Target, Unheard, is_end, parting_detach, with_what_is_left};

/// Signals by which a user ends a command.
const ENDING: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

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
    let file = args.counting.target.as_deref().filter(|target| Library.is_path(target));
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

fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
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
