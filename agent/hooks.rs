//! The events the agent takes part in, in the order of a JVM's life.

use crate::jni::Jni;
use crate::jvmti::{Callbacks, Capability, Event, Jvmti, MethodId, RawEnv, jthread};
use crate::muted::Muted;
use crate::{Agent, guard, hidden, message, runtime};
use cprof_instrument::abi;
use jni_sys::{JNIEnv, jclass, jint, jobject};
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::Ordering;

/// First release with virtual threads for good.
const VIRTUAL_THREADS: u32 = 21;

/// Asks the VM for what the hooks need. The early capabilities make it load the core classes through the hook, and switch
/// class data sharing off.
pub fn add_capabilities(jvmti: Jvmti, feature: u32) -> Result<(), String> {
    let mut wanted = vec![
        Capability::AllClassHookEvents,
        Capability::EarlyClassHookEvents,
        Capability::EarlyVmStart,
        Capability::NativeMethodBindEvents,
        Capability::TagObjects,
        Capability::Suspend,
    ];
    if feature >= VIRTUAL_THREADS {
        wanted.push(Capability::SupportVirtualThreads);
    }
    jvmti.add_capabilities(&wanted).map_err(|e| format!("this JVM lacks what counting needs: {e}"))
}

/// Takes part in the events from here on.
pub fn enable(jvmti: Jvmti) -> Result<(), String> {
    let all = || {
        jvmti.set_callbacks(&Callbacks { vm_init, vm_death, vm_start, native_method_bind, class_file_load_hook })?;
        for event in [Event::VmStart, Event::VmInit, Event::VmDeath, Event::NativeMethodBind, Event::ClassFileLoadHook] {
            jvmti.enable(event, true)?;
        }
        Ok(())
    };
    all().map_err(|e: crate::jvmti::Error| e.to_string())
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn class_file_load_hook(
    _env: *mut RawEnv,
    jni: *mut JNIEnv,
    _redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _domain: jobject,
    length: jint,
    bytes: *const u8,
    new_length: *mut jint,
    new_bytes: *mut *mut u8,
) {
    guard(|| {
        let agent = Agent::get()?;
        // SAFETY: the VM passes length readable bytes, null or a terminated name, and this thread's environment or null; all
        // are valid during the callback.
        let (jni, bytes, name) = unsafe {
            let name = if name.is_null() { None } else { CStr::from_ptr(name).to_str().ok() };
            (Jni::new(jni), std::slice::from_raw_parts(bytes, usize::try_from(length).ok()?), name)
        };
        let woven = agent.classes.weave_loaded(jni, loader, name, bytes)?;
        let copy = agent.jvmti.copy(&woven).map_err(|e| message(&e.to_string())).ok()?;
        // SAFETY: the VM's places for the answer; the memory is from Allocate, as it demands.
        unsafe {
            *new_length = woven.len() as jint;
            *new_bytes = copy;
        }
        Some(())
    });
}

/// The first moment at which a class can be defined: in java.base, before any Java code has run.
unsafe extern "C" fn vm_start(_env: *mut RawEnv, jni: *mut JNIEnv) {
    guard(|| {
        let agent = Agent::get()?;
        // SAFETY: jni is this callback's.
        let jni = unsafe { Jni::new(jni) }?;
        for (name, class) in runtime::classes(agent.arena.base(), &agent.options, agent.feature >= VIRTUAL_THREADS)? {
            match jni.define_boot_class(&CString::new(name).ok()?, &class) {
                Some(class) if name == abi::RUNTIME => agent.runtime.store(jni.keep(class), Ordering::Release),
                Some(_) => {}
                None => {
                    message(&format!("{name} cannot be defined: this JVM cannot be profiled, and it cannot start either now"))
                }
            }
        }
        Some(())
    });
}

/// The VM can run Java code: the runtime's native methods are bound, the main thread looking away while Java code looks for
/// them.
unsafe extern "C" fn vm_init(_env: *mut RawEnv, jni: *mut JNIEnv, thread: jthread) {
    guard(|| {
        let agent = Agent::get()?;
        // SAFETY: jni is this callback's.
        let jni = unsafe { Jni::new(jni) }?;
        let _muted = Muted::thread(jni, thread, agent.arena)?;
        let class = agent.runtime.load(Ordering::Acquire);
        if class.is_null() || !jni.run_static(class, c"bind") {
            message(
                "the runtime's native methods are not found: the calling context tree cannot grow beyond its first megabytes",
            );
        }
        Some(())
    });
}

/// A native method is about to be linked.
unsafe extern "C" fn native_method_bind(
    _env: *mut RawEnv,
    _jni: *mut JNIEnv,
    _thread: jthread,
    _method: MethodId,
    address: *mut c_void,
    new_address: *mut *mut c_void,
) {
    guard(|| {
        let replacement = hidden::replacement(address)?;
        // SAFETY: the VM's place for the answer.
        unsafe { *new_address = replacement };
        // There is only one.
        Agent::get()?.jvmti.enable(Event::NativeMethodBind, false).ok()
    });
}

/// The last moment at which the VM answers questions.
unsafe extern "C" fn vm_death(_env: *mut RawEnv, jni: *mut JNIEnv) {
    guard(|| {
        // SAFETY: jni is this callback's.
        Agent::get()?.finish(unsafe { Jni::new(jni) }?);
        Some(())
    });
}
