//! Which recording a process id or a directory means.

use crate::output;
use crate::usage::Usage;
use anyhow::{Context, Result, anyhow, bail};
use cprof_live::hotspot::attach::AttachError;
use cprof_live::hotspot::jvm::{Jvm, Presence};
use cprof_live::process::{Process, user_name};
use cprof_live::recordings::{Found, OpenError, Recording, Shelf, State, remove};
use cprof_live::take;
use cprof_profile::recording::files::DirectoryName;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// The living process of an id.
pub fn process(pid: u32) -> Result<Process> {
    match Process::find(pid) {
        Ok(process) => Ok(process),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            bail!("there is no process {pid}; cprof list shows the JVMs that run, cprof list --stale what dead ones have left")
        }
        Err(e) => Err(e).with_context(|| format!("looking at process {pid}")),
    }
}

/// What a living process records now.
pub fn recorded(pid: u32) -> Result<Recording> {
    let process = process(pid)?;
    let shelf = Shelf::of(&process);
    match shelf.of_process(&process) {
        Ok(Some(recording)) => Ok(recording),
        Ok(None) => bail!(match Jvm::of(process).map(|jvm| jvm.cprof) {
            Ok(Presence::Loaded) => format!(
                "JVM {pid} is not being recorded in shared memory: cprof in it does not count any more, and cprof attach {pid} counts from now on; or it \
                 counts in private memory, and cprof snapshot {pid} --exact asks it for a profile itself"
            ),
            Ok(_) => format!(
                "JVM {pid} is not being recorded. cprof attach {pid} counts from now on; cprof run, or -agentpath:/path/to/libcprof.so, \
                 from its start"
            ),
            Err(_) => format!("process {pid} is not being recorded, and is no JVM; cprof list shows the JVMs that run"),
        }),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            bail!(AttachError::OtherUser { pid, owner: process.user })
        }
        Err(e) => Err(e).with_context(|| looking(&shelf)),
    }
}

/// The shelf and its directories that a process id or a path means; for a path it is that one, whatever it is.
pub fn found(what: &Path) -> Result<(Shelf, Vec<Found>)> {
    if let Some(pid) = what.to_str().and_then(|t| t.parse::<u32>().ok()) {
        let shelf = Shelf::here();
        let of_pid = shelf.named(|name| name.pid == pid).with_context(|| looking(&shelf))?;
        return Ok((shelf, of_pid));
    }
    // As given, and not where links may lead.
    let path = output::absolute(what)?;
    let name = path.file_name().and_then(|n| n.to_str()).and_then(DirectoryName::parse).ok_or_else(|| {
        Usage(format!(
            "{} is neither a process id nor a recording's directory, which is named cprof-<user>-<process>-<start>; cprof list \
             --stale shows what there is",
            what.display()
        ))
    })?;
    let shelf = Shelf::at(path.parent().unwrap_or(Path::new("/")));
    let found = shelf.look(name);
    Ok((shelf, vec![found]))
}

/// The recordings here.
pub fn recordings(shelf: &Shelf) -> Result<Vec<Found>> {
    shelf.recordings().with_context(|| looking(shelf))
}

fn looking(shelf: &Shelf) -> String {
    format!("looking for recordings in {}", shelf.path().display())
}

/// That a process id or a path has no recording: of this user, or of any.
pub fn no_recording(what: &str, shelf: &Shelf) -> String {
    let others = what.parse().map(|pid: u32| shelf.of_others(|name| name.pid == pid).unwrap_or_default()).unwrap_or_default();
    match &others[..] {
        [(path, owner), ..] => OpenError::Owner { path: path.clone(), owner: user_name(*owner) }.to_string(),
        [] => {
            let who = if what.parse::<u32>().is_ok() { format!("process {what} has left no") } else { format!("{what} is no") };
            format!("{who} recording in {}; cprof list --stale shows what there is", shelf.path().display())
        }
    }
}

/// How long a process that may have been killed may take to be gone: the kernel frees its memory first.
const DYING: Duration = Duration::from_secs(1);
/// How long one that is known to end may take.
const ENDING: Duration = Duration::from_secs(20);

/// As [`found`], when processes are dead that are dying, for so long.
fn found_dead(what: &str, patience: Duration) -> Result<(Shelf, Vec<Found>)> {
    let since = Instant::now();
    loop {
        let (shelf, found) = found(Path::new(what))?;
        let alive = found.iter().any(|f| matches!(f.state, State::Recorded(_)));
        if !alive || since.elapsed() > patience {
            return Ok((shelf, found));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process that ends has left counts here. What it has left without any is removed.
pub fn left_counts(pid: u32) -> bool {
    let Ok((shelf, found)) = found_dead(&pid.to_string(), ENDING) else { return false };
    let empty = |found: &Found| match &found.state {
        State::Begun => true,
        State::Left(recording) => take::read(recording).is_ok_and(|reading| !reading.has_counts()),
        _ => false,
    };
    let (empty, others): (Vec<_>, Vec<_>) = found.into_iter().partition(empty);
    // What cannot be removed is listed and removed with what others have left.
    empty.iter().for_each(|found| drop(remove(&shelf, found)));
    others.iter().any(|found| matches!(found.state, State::Left(_)))
}

/// The dead process's recording that a process id or a path means.
pub fn left(what: &str) -> Result<Recording> {
    let (shelf, found) = found_dead(what, DYING)?;
    let mut left = Vec::new();
    let mut why_not = None;
    for one in found {
        let path = one.path.display().to_string();
        match one.state {
            State::Left(recording) => left.push(recording),
            State::Recorded(_) => {
                let pid = one.name.pid;
                why_not = Some(anyhow!("process {pid} is alive and still records in {path}; use: cprof snapshot {pid}"));
            }
            State::Begun if one.path.exists() => {
                why_not = Some(anyhow!("{path} holds nothing: the JVM ended before it counted anything. cprof clean removes it"));
            }
            State::Begun => why_not = Some(anyhow!("there is no {path}; cprof list --stale shows what there is")),
            State::Foreign(error) => why_not = Some(anyhow!(error)),
        }
    }
    if left.len() > 1 {
        let list: Vec<String> = left.iter().map(|r| r.path().display().to_string()).collect();
        bail!("there are {} recordings of processes with that id; name one of them: {}", left.len(), list.join(", "));
    }
    match (left.pop(), why_not) {
        (Some(recording), _) => Ok(recording),
        (None, Some(why)) => Err(why),
        (None, None) => bail!(no_recording(what, &shelf)),
    }
}
