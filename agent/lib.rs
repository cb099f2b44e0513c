//! The cprof agent: `java -agentpath:libcprof.so=OPTIONS`.
//!
//! This file holds what the VM calls by name. The rooms: [`options`]; [`jvmti`] and [`jni`], the unsafe edges; [`hooks`], the
//! events; [`policy`], [`intrinsics`] and [`flags`], what is known about HotSpot; [`classes`], [`hidden`],
//! [`thread_fields`] and [`seeds`], the way of a class into the VM; [`runtime`], the Java classes that woven code calls; [`arena`],
//! [`directory`] and [`class_log`], where a recording lives; [`caches`], the simulation of method caches; [`facts`],
//! [`stacks`] and [`dump`], how it becomes a profile.

mod arena;
mod caches;
mod class_log;
mod classes;
mod colours;
mod directory;
mod dump;
mod facts;
mod flags;
mod hidden;
mod hooks;
mod intrinsics;
mod jni;
mod jvmti;
mod muted;
mod options;
mod policy;
mod runtime;
mod seeds;
mod stacks;
mod thread_fields;

use arena::Arena;
use caches::Caches;
use class_log::ClassLog;
use classes::Classes;
use cprof_profile::recording::log::Entry;
use directory::Directory;
use dump::Pauses;
use jni::Jni;
use jni_sys::{_jobject, JNI_ERR, JNI_OK, JNI_TRUE, JNIEnv, JavaVM, jboolean, jclass, jint, jlong, jstring};
use jvmti::Jvmti;
use options::Options;
use std::ffi::{CStr, c_char, c_void};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicPtr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Oldest JDK this agent knows.
const OLDEST: u32 = 17;

/// Everything about this run.
pub(crate) struct Agent {
    jvmti: Jvmti,
    options: Options,
    arena: &'static Arena,
    log: &'static ClassLog,
    /// Method caches that are simulated from logs.
    caches: Option<Caches>,
    directory: Option<Directory>,
    classes: Classes,
    pauses: Mutex<Pauses>,
    /// The runtime class that woven code calls, a global reference; null until the VM has it.
    runtime: AtomicPtr<_jobject>,
    pid: u32,
    /// Milliseconds since 1970.
    started: u64,
    feature: u32,
}

static AGENT: OnceLock<Agent> = OnceLock::new();

impl Agent {
    /// The agent, once it is loaded.
    fn get() -> Option<&'static Agent> {
        AGENT.get()
    }
}

/// Tells the user something on stderr, in one line.
pub(crate) fn message(text: &str) {
    // Nothing can be done when stderr is closed.
    let _ = writeln!(std::io::stderr(), "cprof: {text}");
}

/// Locks; a panic of another holder has left whole values behind, as every critical section here writes its result last.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a callback's body. A panic must not cross into the VM: it is reported and the callback does nothing.
pub(crate) fn guard<T>(body: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(None)
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

/// Called by the VM when it loads the agent at launch.
///
/// # Safety
/// Called by the VM, as the JVM Tool Interface specification says ("Agent Start-Up").
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnLoad(vm: *mut JavaVM, options: *const c_char, _reserved: *mut c_void) -> jint {
    std::panic::set_hook(Box::new(|info| message(&format!("internal error: {info}; the application runs on"))));
    let text = if options.is_null() {
        String::new()
    } else {
        // SAFETY: the VM passes null or a terminated string.
        unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned()
    };
    let options = match Options::parse(&text) {
        Ok(options) => options,
        Err(wrong) => {
            message(&wrong.to_string());
            return JNI_ERR;
        }
    };
    if AGENT.get().is_some() {
        message("the agent is given twice; give -agentpath once");
        return JNI_ERR;
    }
    let loaded = catch_unwind(|| {
        // SAFETY: vm is the VM's.
        unsafe { load(vm, options) }
    });
    match loaded {
        Ok(Ok(())) => {}
        Ok(Err(why)) => message(&format!("{why}. The application runs on without being profiled")),
        Err(_) => message("the application runs on without being profiled"),
    }
    JNI_OK
}

/// Called by the VM when it loads the agent into a running JVM.
#[unsafe(no_mangle)]
pub extern "C" fn Agent_OnAttach(_vm: *mut JavaVM, _options: *const c_char, _reserved: *mut c_void) -> jint {
    message("this version counts from the start of a JVM only; start it with -agentpath:libcprof.so");
    JNI_ERR
}

/// Sets everything up; nothing has been changed in the VM when it fails.
///
/// # Safety
/// `vm` is the pointer the VM passed.
unsafe fn load(vm: *mut JavaVM, options: Options) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let jvmti = unsafe { Jvmti::new(vm) }.map_err(|e| e.to_string())?;
    let version = jvmti.system_property("java.vm.specification.version").unwrap_or_default();
    let feature = version.parse().unwrap_or(0);
    if feature < OLDEST {
        return Err(format!("this JVM is of version {version:?}; use JDK 17, 21 or 25"));
    }
    let (pid, started) = (std::process::id(), now_ms());
    let (arena, log, directory) = recording(&options, pid, started)?;
    let arena: &'static Arena = Box::leak(Box::new(arena));
    let log: &'static ClassLog = Box::leak(Box::new(log));
    if runtime::classes(arena.base(), &options, true).is_none() {
        return Err("the runtime classes in this agent do not belong to it; build cprof again".to_owned());
    }
    log.append(&Entry::Origin(&facts::origin(jvmti, &options, pid, started).to_json()));
    hooks::add_capabilities(jvmti, feature)?;
    for flags::Missing(what) in flags::set(vm, feature)? {
        log.append(&Entry::Warning(&what));
    }
    let classes = Classes::new(jvmti, arena, log, &options, feature);
    let pauses = Mutex::default();
    let caches = Caches::new(arena, &options.caches);
    let runtime = AtomicPtr::default();
    let agent = Agent { jvmti, options, arena, log, caches, directory, classes, pauses, runtime, pid, started, feature };
    if AGENT.set(agent).is_err() {
        return Err("the agent is given twice".to_owned());
    }
    hooks::enable(jvmti)
}

/// The memory of the recording: in files if possible.
fn recording(options: &Options, pid: u32, started: u64) -> Result<(Arena, ClassLog, Option<Directory>), String> {
    let in_files = Directory::create(pid, started).and_then(|directory| {
        let made = (|| Ok((Arena::new(Some(directory.arena()?), options)?, ClassLog::new(Some(directory.log()?)))))();
        match made {
            Ok((arena, log)) => Ok((arena, log, Some(directory))),
            Err(error) => {
                directory.remove();
                Err(error)
            }
        }
    });
    in_files.or_else(|error| {
        message(&format!(
            "shared memory in /dev/shm cannot be used ({error}); counting in private memory, so that a killed JVM leaves nothing"
        ));
        let arena = Arena::new(None, options).map_err(|e| format!("no memory for the calling context tree: {e}"))?;
        Ok((arena, ClassLog::new(None), None))
    })
}

/// `CProfRuntime.grow0`: makes room in the arena.
#[unsafe(no_mangle)]
pub extern "C" fn Java_java_lang_CProfRuntime_grow0(_env: *mut JNIEnv, _class: jclass, top: jlong) -> jboolean {
    guard(|| Some(Agent::get()?.arena.grow(u64::try_from(top).ok()?))).unwrap_or(false)
}

/// `CProfRuntime.simulate0`: simulates what a thread has logged, from its log's beginning up to `end`.
#[unsafe(no_mangle)]
pub extern "C" fn Java_java_lang_CProfRuntime_simulate0(_env: *mut JNIEnv, _class: jclass, root: jlong, end: jlong) {
    guard(|| Agent::get()?.caches.as_ref()?.simulate(u64::try_from(root).ok()?, u64::try_from(end).ok()?));
}

/// `CProfRuntime.snapshot0`: writes a profile now.
///
/// # Safety
/// Called by the VM as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Java_java_lang_CProfRuntime_snapshot0(env: *mut JNIEnv, _class: jclass, path: jstring) -> jboolean {
    guard(|| {
        // SAFETY: env is this call's.
        let jni = unsafe { Jni::new(env) }?;
        let agent = Agent::get()?;
        let path = jni.string(path)?;
        let out = agent.options.out_path(Path::new(&path), agent.pid, agent.started / 1000);
        match agent.write_profile(jni, &out) {
            Ok(_) => Some(JNI_TRUE),
            Err(error) => {
                message(&format!("no snapshot: {error}"));
                None
            }
        }
    })
    .unwrap_or(false)
}

/// `CProfRuntime.pause0`.
///
/// # Safety
/// Called by the VM as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Java_java_lang_CProfRuntime_pause0(env: *mut JNIEnv, _class: jclass) {
    // SAFETY: env is this call's.
    guard(|| unsafe { Jni::new(env) }.and_then(|jni| Agent::get()?.pause(jni)));
}

/// `CProfRuntime.resume0`.
///
/// # Safety
/// Called by the VM as a native method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Java_java_lang_CProfRuntime_resume0(env: *mut JNIEnv, _class: jclass) {
    // SAFETY: env is this call's.
    guard(|| unsafe { Jni::new(env) }.and_then(|jni| Agent::get()?.resume(jni)));
}
