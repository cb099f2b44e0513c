//! The agent in a JVM that runs already: it comes, answers commands, leaves, and may come back.
//!
//! Coming: everything is woven while counting is off, then one write switches it on. Leaving is the reverse.
//! `docs/attach-design.md` says what can be covered and why it is done this way. The rooms: [`request`], what is asked;
//! [`session`], coming and leaving; [`runtime_classes`], [`natives`] and [`method_ids`], what is changed in the JVM;
//! [`retransform`] and [`sight`], the way of loaded classes; [`frames`], what is active meanwhile; [`leftovers`] and [`retired`],
//! what stays; [`notices`], what there is to say.

pub mod events;
mod frames;
mod leaving;
pub mod leftovers;
mod method_ids;
pub mod natives;
pub mod notices;
mod request;
mod retired;
pub mod retransform;
mod runtime_classes;
mod session;
pub mod sight;

pub use session::Attached;

use crate::jni::Jni;
use crate::vm::Vm;
use crate::{Agent, contained, faults, memory, message, refusals, say};
use request::{Command, Reply, Request};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// Commands come on the thread that the JVM has for them, and on any that asks the JVM itself (`JVMTI.agent_load` is an operation of
/// its management, too): one is done after the other. Not for ever: the thread that does one may be stopped by a debugger, or ask a
/// class loader that waits for another's command.
static ONE: Mutex<()> = Mutex::new(());
const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN: Duration = Duration::from_millis(10);

/// This command's turn; `None`: it does not come.
fn turn() -> Option<MutexGuard<'static, ()>> {
    let begin = Instant::now();
    loop {
        match ONE.try_lock() {
            Ok(turn) => return Some(turn),
            Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) if begin.elapsed() > PATIENCE => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
        }
    }
}

/// Does what `text` asks. Answers whether it was done.
///
/// # Safety
/// This is the thread on which the VM calls `Agent_OnAttach`, and the call is running.
pub unsafe fn command(vm: Vm, text: &str) -> bool {
    let Request { command, reply: to } = Request::parse(text);
    let mut reply = Reply::default();
    let Some(_turn) = turn() else {
        let error = "another command has been under way in this JVM for a minute; try again when it is done";
        reply.put("error", error);
        answer(to.as_deref(), &reply, Err(error));
        return false;
    };
    let quiet = to.is_some() || Agent::get().is_some_and(|agent| agent.is_attached());
    if quiet {
        notices::begin();
    }
    // SAFETY: the caller's promise.
    let done = command.and_then(|command| contained(|| unsafe { run(vm, command, &mut reply) }));
    if !quiet && Agent::get().is_some_and(|agent| agent.is_attached()) {
        // Who asked by other means, without a file for the answer, hears what is said until here.
        notices::begin();
    }
    if Agent::get().is_none() {
        refusals::late().iter().for_each(|late| message(late));
    }
    if memory::is_short() {
        message(memory::NONE);
    }
    let attached = Agent::get().filter(|agent| agent.is_attached());
    for notice in attached.as_ref().map_or_else(notices::end, |agent| notices::tell(agent)) {
        // Without an answer, and a profile to come, nobody would hear of it.
        if to.is_none() && attached.is_none() {
            say(&notice);
        }
        reply.put("notice", notice);
    }
    if let Err(error) = &done {
        reply.put("error", error);
    }
    answer(to.as_deref(), &reply, done.as_ref().copied().map_err(String::as_str));
    faults::answered();
    done.is_ok()
}

/// Passes the answer on, where one is wanted; otherwise says what could not be done.
fn answer(to: Option<&Path>, reply: &Reply, done: Result<(), &str>) {
    let written = to.map(|path| (path, contained(|| reply.write(path).map_err(|e| e.to_string()))));
    match written {
        Some((_, Ok(()))) => return,
        Some((path, Err(error))) => message(&format!("the answer cannot be written to {}: {error}", path.display())),
        None => {}
    }
    if let Err(error) = done {
        say(error);
    }
}

/// # Safety
/// As for [`command`].
unsafe fn run(vm: Vm, command: Command, reply: &mut Reply) -> Result<(), String> {
    faults::pass("command");
    memory::set_aside().map_err(|e| format!("no memory: {e}"))?;
    // SAFETY: the caller's promise.
    let jni = unsafe { Jni::current(vm) }.ok_or("this thread has no JNI environment")?;
    let agent = || Agent::get().ok_or("cprof is not attached to this JVM; attach it first");
    jni.in_frame(|| match command {
        Command::Attach(text) => session::begin(vm, jni, &text, reply),
        Command::Detach { out, started_ms } => match (Agent::get(), started_ms) {
            (None, Some(_)) => {
                Err("cprof was detached from this JVM meanwhile; what was counted is in the file that was named then, or, where \
                                    that could not be written, in what cprof list --stale shows"
                    .to_owned())
            }
            (Some(another), Some(started)) if another.started != started => {
                Err("what is counted now is another attach's, which it is left to".to_owned())
            }
            _ => session::end(agent()?, jni, out.as_deref(), reply),
        },
        Command::Snapshot(out) => {
            faults::pass("snapshot");
            let agent = agent()?;
            // So that they are in it.
            for notice in notices::tell(&agent) {
                reply.put("notice", notice);
            }
            let (summary, still) = agent.write_profile(jni, &out);
            reply.put_pause(still);
            let summary = summary?;
            written(reply, &summary.path, summary.bytes);
            Ok(())
        }
        Command::Status => {
            match Agent::get() {
                None => {
                    reply.put("state", "detached");
                }
                Some(agent) => describe(&agent, reply),
            }
            Ok(())
        }
    })
}

fn written(reply: &mut Reply, path: &Path, bytes: u64) {
    reply.put("out", path.display()).put("bytes", bytes);
}

fn describe(agent: &Agent, reply: &mut Reply) {
    reply.put("state", if agent.is_attached() { "attached" } else { "launched" });
    reply.put("options", &agent.options.text);
    reply.put("started_ms", agent.started);
    if let Some(directory) = &agent.directory {
        reply.put("recording", directory.path().display());
    }
}
