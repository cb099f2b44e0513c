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
use crate::{Agent, contained, faults, memory, message, refusals, say};
use jni_sys::JavaVM;
use request::{Command, Reply, Request};
use std::path::Path;

/// Does what `text` asks. Answers whether it was done.
///
/// # Safety
/// `vm` is the VM's; this is the thread on which it calls `Agent_OnAttach`, and the call is running.
pub unsafe fn command(vm: *mut JavaVM, text: &str) -> bool {
    let Request { command, reply: to } = Request::parse(text);
    let mut reply = Reply::default();
    let quiet = to.is_some() || Agent::get().is_some_and(|agent| agent.is_attached());
    if quiet {
        notices::begin();
    }
    // SAFETY: the caller's promise.
    let done = command.and_then(|command| contained(|| unsafe { run(vm, command, &mut reply) }));
    if Agent::get().is_none() {
        refusals::late().iter().for_each(|late| message(late));
    }
    if memory::is_short() {
        message(memory::NONE);
    }
    for notice in notices::take() {
        reply.put("notice", notice);
    }
    if let Err(error) = &done {
        reply.put("error", error);
    }
    if !Agent::get().is_some_and(|agent| agent.is_attached()) {
        notices::end();
    }
    match (to, &done) {
        (Some(path), _) => {
            if let Err(error) = contained(|| reply.write(&path).map_err(|e| e.to_string())) {
                message(&format!("the answer cannot be written to {}: {error}", path.display()));
                if let Err(error) = &done {
                    say(error);
                }
            }
        }
        (None, Err(error)) => say(error),
        (None, Ok(())) => {}
    }
    faults::answered();
    done.is_ok()
}

/// # Safety
/// As for [`command`].
unsafe fn run(vm: *mut JavaVM, command: Command, reply: &mut Reply) -> Result<(), String> {
    faults::pass("command");
    memory::set_aside().map_err(|e| format!("no memory: {e}"))?;
    // SAFETY: the caller's promise.
    let jni = unsafe { Jni::current(vm) }.ok_or("this thread has no JNI environment")?;
    let agent = || Agent::get().ok_or("cprof is not attached to this JVM; attach it first");
    jni.in_frame(|| match command {
        Command::Attach(text) => session::begin(vm, jni, &text, reply),
        Command::Detach { out, started_ms } => {
            let agent = agent()?;
            if started_ms.is_some_and(|started| started != agent.started) {
                return Err("what is counted now is another attach's, which it is left to".to_owned());
            }
            session::end(agent, jni, out.as_deref(), reply)
        }
        Command::Snapshot(out) => {
            faults::pass("snapshot");
            let summary = agent()?.write_profile(jni, &out)?;
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
