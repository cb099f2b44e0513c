//! What is on the threads' stacks when the agent comes and goes.

use crate::Agent;
use crate::jni::Jni;
use crate::jvmti::MethodId;
use crate::runtime;
use crate::stacks::Stopped;
use std::collections::HashMap;
use std::thread;
use std::time::Duration;

/// As many methods are named.
const NAMED: usize = 20;
const ATTEMPTS: u32 = 500;
const BETWEEN: Duration = Duration::from_millis(2);

/// The frames that were entered before their class was woven, and run their old code until they return: how many, and the names of some
/// of their methods.
pub fn active_before(agent: &Agent, jni: Jni) -> (usize, Vec<String>) {
    let mut old: HashMap<MethodId, bool> = HashMap::new();
    let (mut count, mut names) = (0, Vec::new());
    for thread in agent.jvmti.threads().unwrap_or_default() {
        for frame in agent.jvmti.stack(thread).unwrap_or_default() {
            let first = !old.contains_key(&frame.method);
            if !*old.entry(frame.method).or_insert_with(|| agent.jvmti.is_obsolete(frame.method)) {
                continue;
            }
            count += 1;
            if first && names.len() < NAMED {
                names.extend(name(agent, frame.method));
            }
        }
        jni.forget(thread);
    }
    (count, names)
}

fn name(agent: &Agent, method: MethodId) -> Option<String> {
    let (name, _) = agent.jvmti.method_name(method).ok()?;
    let class = agent.jvmti.class_signature(agent.jvmti.declaring_class(method).ok()?).ok()?;
    Some(format!("{}.{name}", class.trim_start_matches('L').trim_end_matches(';').replace('/', ".")))
}

/// Counting is off: waits until no thread is in the middle of the runtime's code, where it would go on to read the tree. False when
/// that takes too long.
pub fn runtime_is_left(agent: &Agent, jni: Jni) -> bool {
    for _ in 0..ATTEMPTS {
        if !runtime_is_active(agent, jni) {
            return true;
        }
        thread::sleep(BETWEEN);
    }
    false
}

fn runtime_is_active(agent: &Agent, jni: Jni) -> bool {
    let mut own: HashMap<MethodId, bool> = HashMap::new();
    let stopped = Stopped::all(agent.jvmti, jni, agent.arena.has_virtual_threads());
    stopped.threads().iter().any(|&thread| {
        agent.jvmti.stack(thread).unwrap_or_default().iter().any(|frame| {
            *own.entry(frame.method).or_insert_with(|| {
                let class = agent.jvmti.declaring_class(frame.method).and_then(|class| agent.jvmti.class_signature(class));
                class.is_ok_and(|class| class.strip_prefix('L').and_then(|c| c.strip_suffix(';')).is_some_and(runtime::is_own))
            })
        })
    })
}
