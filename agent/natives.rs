//! What the runtime's Java classes call: the VM finds these functions by their names. No panic leaves them, and no exception
//! is pending in Java when they return.

use crate::classes::Ongoing;
use crate::jni::Jni;
use crate::{Agent, attach, contained, faults, guard, message, stack_sizes};
use cprof_profile::options;
use cprof_profile::recording::log::Entry;
use jni_sys::{JNI_TRUE, JNIEnv, jboolean, jclass, jlong, jstring};
use std::path::Path;
use std::sync::Arc;

/// `CProfRuntime.grow0`: makes room in the arena.
#[unsafe(no_mangle)]
pub extern "C" fn Java_java_lang_CProfRuntime_grow0(_env: *mut JNIEnv, _class: jclass, top: jlong) -> jboolean {
    guard(|| {
        faults::pass("grow");
        Some(Agent::get()?.arena.grow(u64::try_from(top).ok()?))
    })
    .unwrap_or(false)
}

/// `CProfRuntime.simulate0`: simulates what a thread has logged, from its log's beginning up to `end`.
#[unsafe(no_mangle)]
pub extern "C" fn Java_java_lang_CProfRuntime_simulate0(_env: *mut JNIEnv, _class: jclass, root: jlong, end: jlong) {
    guard(|| {
        let agent = Agent::get()?;
        let simulated = contained(|| {
            faults::pass("simulate");
            Ok(agent.caches.as_ref().and_then(|caches| caches.simulate(u64::try_from(root).ok()?, u64::try_from(end).ok()?)))
        });
        if let Err(why) = simulated {
            agent
                .log
                .append(&Entry::Warning(&format!("misses of method caches are too low, as not all calls were simulated: {why}")));
        }
        Some(())
    });
}

/// What the program asks of the agent by a native method, called from a method that counts at `node`.
///
/// # Safety
/// `env` is that call's.
unsafe fn asked<T>(env: *mut JNIEnv, node: jlong, answer: impl FnOnce(&Agent, Jni) -> Option<T>) -> Option<T> {
    guard(|| {
        // SAFETY: the caller's promise.
        let jni = unsafe { Jni::new(env) }?;
        let agent = Agent::get()?;
        let _asked = Ongoing::begin(&agent.asked);
        // Who left between these two has not seen that it is being asked, and who came is another.
        if !Arc::ptr_eq(&agent, &Agent::get()?) {
            return None;
        }
        // A program's last threads run on for a moment: what they could ask for is in the profile that has been written.
        if agent.jvmti.is_over() {
            return None;
        }
        agent.unmute(jni, node);
        answer(&agent, jni)
    })
}

/// `CProfRuntime.snapshot0`: writes a profile now.
///
/// # Safety
/// Called by the VM as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Java_java_lang_CProfRuntime_snapshot0(
    env: *mut JNIEnv,
    _class: jclass,
    path: jstring,
    node: jlong,
) -> jboolean {
    let written = |agent: &Agent, jni: Jni| {
        let Some(path) = jni.string(path) else {
            message("no snapshot: its file's name cannot be read");
            return None;
        };
        if let Some(stream) = options::of_program(&path) {
            message(&format!("no snapshot: {path} is {stream}, which is the program's; name a file"));
            return None;
        }
        let out = options::out_path(Path::new(&path), agent.pid, agent.started / 1000);
        contained(|| agent.write_profile(jni, &out).0).map_err(|error| agent.refuse("no snapshot", &error)).ok()?;
        Some(JNI_TRUE)
    };
    // SAFETY: env is this call's.
    unsafe { asked(env, node, written) }.unwrap_or(false)
}

/// What a program is told whose counts cannot be read; -1 is that there is no agent.
const UNREADABLE: jlong = -2;

/// `CProfRuntime.bytecodes0`: what calls of a method have executed so far.
///
/// # Safety
/// Called by the VM as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Java_java_lang_CProfRuntime_bytecodes0(
    env: *mut JNIEnv,
    _class: jclass,
    method: jstring,
    node: jlong,
) -> jlong {
    let counted = |agent: &Agent, jni: Jni| {
        let Some(method) = jni.string(method) else {
            message("no bytecodes: the method's name cannot be read");
            return None;
        };
        agent.bytecodes_of(jni, &method).map_err(|error| agent.refuse("no bytecodes", &error)).ok()
    };
    // SAFETY: env is this call's.
    unsafe { asked(env, node, counted) }.and_then(|counted| i64::try_from(counted).ok()).unwrap_or(UNREADABLE)
}

/// `CProfRuntime.hook0`.
///
/// # Safety
/// Called by the VM as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Java_java_lang_CProfRuntime_hook0(env: *mut JNIEnv, _class: jclass, class_loader: jclass, on: jboolean) {
    let bound = guard(|| {
        // SAFETY: env is this call's.
        let jni = unsafe { Jni::new(env) }?;
        faults::pass("hook");
        attach::natives::bind(jni, class_loader, on).then_some(())
    });
    if bound.is_none() && on {
        message("hidden classes (lambdas among them) cannot be woven in this JVM");
    }
}

/// `CProfRuntime.stacks0`.
///
/// # Safety
/// Called by the VM as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Java_java_lang_CProfRuntime_stacks0(
    env: *mut JNIEnv,
    _class: jclass,
    thread: jclass,
    on: jboolean,
    all: jboolean,
) {
    let bound = guard(|| {
        // SAFETY: env is this call's.
        let jni = unsafe { Jni::new(env) }?;
        faults::pass("stacks");
        stack_sizes::bind(jni, thread, on, all).then_some(())
    });
    if bound.is_none() {
        message(match on {
            true => "threads that the program starts get no larger stacks in this JVM: their recursion may overflow",
            false => "threads that the program starts get larger stacks in this JVM until it ends",
        });
    }
}

/// `CProfRuntime.pause0`.
///
/// # Safety
/// Called by the VM as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Java_java_lang_CProfRuntime_pause0(env: *mut JNIEnv, _class: jclass, node: jlong) {
    // SAFETY: env is this call's.
    unsafe { asked(env, node, Agent::pause) };
}

/// `CProfRuntime.resume0`.
///
/// # Safety
/// Called by the VM as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Java_java_lang_CProfRuntime_resume0(env: *mut JNIEnv, _class: jclass, node: jlong) {
    // SAFETY: env is this call's.
    unsafe { asked(env, node, Agent::resume) };
}
