//! The events the agent takes part in, in the order of a JVM's life.

use crate::attach::{Attached, retransform};
use crate::jni::Jni;
use crate::jvmti::{Callbacks, Capability, Event, Jvmti, MethodId, RawEnv, jthread};
use crate::muted::Muted;
use crate::{Agent, VIRTUAL_THREADS, guard, hidden, message};
use cprof_instrument::abi;
use jni_sys::{JNIEnv, jclass, jint, jobject};
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::Ordering;

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
        set_callbacks(jvmti)?;
        for event in [Event::VmStart, Event::VmInit, Event::VmDeath, Event::NativeMethodBind, Event::ClassFileLoadHook] {
            jvmti.enable(event, true)?;
        }
        Ok(())
    };
    all().map_err(|e: crate::jvmti::Error| e.to_string())
}

fn set_callbacks(jvmti: Jvmti) -> Result<(), crate::jvmti::Error> {
    jvmti.set_callbacks(&Callbacks { vm_init, vm_death, vm_start, class_prepare, native_method_bind, class_file_load_hook })
}

/// As [`add_capabilities`], for a JVM that runs already, where the early capabilities cannot be had.
pub fn add_capabilities_late(jvmti: Jvmti, feature: u32) -> Result<(), String> {
    let mut wanted = vec![
        Capability::AllClassHookEvents,
        Capability::RetransformClasses,
        Capability::RetransformAnyClass,
        Capability::RedefineClasses,
        Capability::RedefineAnyClass,
        Capability::TagObjects,
        Capability::Suspend,
    ];
    if feature >= VIRTUAL_THREADS {
        wanted.push(Capability::SupportVirtualThreads);
    }
    jvmti.add_capabilities(&wanted).map_err(|e| {
        format!("this JVM gives a late agent less than counting needs ({e}); another agent may hold can_suspend, as debuggers do")
    })
}

/// The events of an agent that came into a running JVM. Off: those by which classes are woven.
pub fn enable_late(jvmti: Jvmti, on: bool) -> Result<(), String> {
    let all = || {
        if on {
            set_callbacks(jvmti)?;
            jvmti.enable(Event::VmDeath, true)?;
        }
        jvmti.enable(Event::ClassPrepare, on)?;
        jvmti.enable(Event::ClassFileLoadHook, on)
    };
    all().map_err(|e: crate::jvmti::Error| e.to_string())
}

/// A class is ready to run: its intrinsic methods are made to run as bytecode. At launch a flag does that.
unsafe extern "C" fn class_prepare(_env: *mut RawEnv, _jni: *mut JNIEnv, _thread: jthread, class: jclass) {
    guard(|| {
        let agent = Agent::get()?;
        agent.attached.as_ref()?.clear_intrinsics(&agent, class);
        Some(())
    });
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
        let leaving = agent.attached.as_ref().is_some_and(Attached::is_leaving);
        let woven = if leaving { None } else { agent.classes.weave_loaded(jni, loader, name, bytes) };
        retransform::hooked();
        let woven = woven?;
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
        for (name, class) in agent.runtime_classes()? {
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
        let _muted = Muted::thread(jni, thread, agent.contexts, &agent.arena)?;
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
