//! The events the agent takes part in, in the order of a JVM's life.

use crate::attach::retransform;
use crate::classes::Ongoing;
use crate::jni::Jni;
use crate::jvmti::{Callbacks, Capability, Event, Jvmti, MethodId, RawEnv, jthread};
use crate::muted::Muted;
use crate::{Agent, VIRTUAL_THREADS, contained, faults, guard, hidden, message, room};
use cprof_instrument::abi;
use cprof_instrument::classfile::mutf8;
use cprof_profile::recording::log::Entry;
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
        Capability::ObjectFreeEvents,
        Capability::GetBytecodes,
        Capability::GetConstantPool,
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
        use Event::*;
        for event in [VmStart, VmInit, VmDeath, NativeMethodBind, ClassFileLoadHook, ObjectFree] {
            jvmti.enable(event, true)?;
        }
        Ok(())
    };
    all().map_err(|e: crate::jvmti::Error| e.to_string())
}

/// Names the functions of this module.
pub fn set_callbacks(jvmti: Jvmti) -> Result<(), crate::jvmti::Error> {
    jvmti.set_callbacks(&Callbacks {
        vm_init,
        vm_death,
        vm_start,
        class_prepare,
        native_method_bind,
        class_file_load_hook,
        object_free,
    })
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
        Capability::ObjectFreeEvents,
        Capability::GetBytecodes,
        Capability::GetConstantPool,
    ];
    if feature >= VIRTUAL_THREADS {
        wanted.push(Capability::SupportVirtualThreads);
    }
    jvmti.add_capabilities(&wanted).map_err(|e| format!("this JVM gives a late agent less than counting needs: {e}"))
}

/// The events of an agent that came into a running JVM. Off: those by which classes are woven.
pub fn enable_late(jvmti: Jvmti, on: bool) -> Result<(), String> {
    let all = || {
        if on {
            set_callbacks(jvmti)?;
            jvmti.enable(Event::VmDeath, true)?;
        }
        jvmti.enable(Event::ObjectFree, on)?;
        jvmti.enable(Event::ClassPrepare, on)?;
        jvmti.enable(Event::ClassFileLoadHook, on)
    };
    all().map_err(|e: crate::jvmti::Error| e.to_string())
}

/// A class is ready to run. One that has waited for this is woven, and so is one of which nothing is known: it was being loaded
/// when cprof came. Its intrinsic methods are made to run as bytecode; at launch a flag does that.
unsafe extern "C" fn class_prepare(_env: *mut RawEnv, jni: *mut JNIEnv, thread: jthread, class: jclass) {
    guard(|| {
        let agent = Agent::get()?;
        let attached = agent.attached.as_ref()?;
        // To be given its own code back, a class is linked (JDK 25).
        if agent.is_leaving() {
            return None;
        }
        faults::pass("class prepare");
        // SAFETY: jni is this callback's.
        let jni = unsafe { Jni::new(jni) }?;
        // One of those that are being woven is linked for that, and may be locked by it.
        if (agent.classes.has_waited(class) || agent.classes.is_news(class)) && agent.classes.await_it(class) {
            // JFR runs Java code when its events change.
            let muted = Muted::thread(jni, thread, agent.contexts, &agent.arena);
            let name = agent.jvmti.class_name(class).unwrap_or_default();
            match agent.classes.must_stay(&name) {
                Some(why) => agent.classes.not_covered(&name, why),
                None => {
                    let done = match agent.classes.weaves(&name) {
                        true => agent.jvmti.retransform(&[class]),
                        false => retransform::look_at(agent.jvmti, class),
                    };
                    if let Err(error) = done {
                        agent.classes.refused(class, &error.to_string());
                    }
                }
            }
            drop(muted);
            agent.classes.came(class);
        }
        attached.clear_intrinsics(&agent, class);
        Some(())
    });
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn class_file_load_hook(
    env: *mut RawEnv,
    jni: *mut JNIEnv,
    redefined: jclass,
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
        if !agent.turn.is_of(agent.jvmti, env) {
            return None;
        }
        // SAFETY: the VM passes length readable bytes, null or a terminated name, and this thread's environment or null; all
        // are valid during the callback.
        let (jni, bytes, name) = unsafe {
            let name = (!name.is_null()).then(|| mutf8::decode(CStr::from_ptr(name).to_bytes()));
            (Jni::new(jni), std::slice::from_raw_parts(bytes, usize::try_from(length).ok()?), name)
        };
        // Before it is asked whether the agent leaves, as the agent says that it leaves before it asks for this.
        let _in_hook = Ongoing::begin(agent.classes.in_hook());
        let copied = contained(|| {
            let woven = if agent.is_leaving() {
                agent.classes.leaves(jni, redefined, bytes)
            } else {
                faults::pass("class hook");
                agent.classes.weave_loaded(jni, loader, name.as_deref(), bytes, redefined)
            };
            let woven = if redefined.is_null() { woven } else { retransform::answer(woven, bytes) };
            retransform::hooked(!redefined.is_null());
            let copy = |woven: Vec<u8>| agent.jvmti.copy(&woven).map(|copy| (copy, woven.len()));
            woven.map(copy).transpose().map_err(|e| e.to_string())
        });
        match copied {
            // SAFETY: the VM's places for the answer; the memory is from Allocate, as it demands.
            Ok(woven) => woven.map(|(copy, length)| unsafe {
                *new_length = length as jint;
                *new_bytes = copy;
            }),
            Err(why) => {
                if let Some(name) = &name {
                    agent.classes.not_woven(jni, loader, name);
                }
                agent.classes.left_alone(name.as_deref().unwrap_or("(a class without a name)"), &why);
                None
            }
        }
    });
}

/// The first moment at which a class can be defined: in java.base, before any Java code has run.
unsafe extern "C" fn vm_start(_env: *mut RawEnv, jni: *mut JNIEnv) {
    guard(|| {
        let agent = Agent::get()?;
        // SAFETY: jni is this callback's.
        let jni = unsafe { Jni::new(jni) }?;
        let classes = agent.runtime_classes()?;
        let mut left = classes.iter().peekable();
        let mut define = || {
            while let Some((name, bytes)) = left.peek() {
                faults::pass("define runtime");
                let defined = CString::new(*name).ok().and_then(|name| jni.define_boot_class(&name, bytes));
                let class = defined.ok_or_else(|| format!("{name} cannot be defined"))?;
                left.next();
                if *name == abi::RUNTIME {
                    agent.runtime.store(jni.keep(class).unwrap_or_default(), Ordering::Release);
                    // None: it has no such field, and then it is not this agent's.
                    let _ = jni.set_static_boolean(class, c"barred", agent.classes.gave_up());
                }
            }
            Ok(())
        };
        // The classes that are loaded already call these, so that the program cannot do without: one failure is no reason to give
        // up.
        if contained(&mut define).is_err()
            && let Err(why) = contained(&mut define)
        {
            message(&format!("{why}: this JVM cannot be profiled, and it cannot start either now"));
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
        let bound = contained(|| {
            faults::pass("init");
            let _muted = Muted::thread(jni, thread, agent.contexts, &agent.arena);
            if let Err(error) = agent.turn.leave_to_last(jni) {
                message(&format!("agents that are loaded after cprof see woven classes ({error}); load them before it"));
            }
            let class = agent.runtime.load(Ordering::Acquire);
            let bound = !class.is_null() && jni.run_static(class, c"bind");
            if bound && jni.run_static(class, c"introduce") {
                agent.classes.introduced();
            }
            Ok(bound)
        });
        room::end(&agent.arena);
        if bound != Ok(true) {
            message("the runtime's native methods are not found: the calling context tree cannot grow any more");
        }
        Some(())
    });
}

/// An object that had a tag is gone. The VM may hold a lock of its own meanwhile (JDK 17, jvmtiTagMap.cpp,
/// `remove_dead_entries`).
unsafe extern "C" fn object_free(env: *mut RawEnv, tag: i64) {
    guard(|| {
        faults::pass("object free");
        let agent = Agent::get()?;
        // Tags of an earlier attach's environment are other objects' here.
        if agent.jvmti.is(env) {
            agent.classes.collected(tag);
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
        let replacement = contained(|| {
            faults::pass("native bind");
            Ok(hidden::replacement(address))
        });
        let agent = Agent::get()?;
        if let Err(why) = &replacement {
            agent.log.append(&Entry::Warning(&format!("hidden classes (lambdas among them) may not be covered: {why}")));
        }
        let replacement = replacement.ok()??;
        // SAFETY: the VM's place for the answer.
        unsafe { *new_address = replacement };
        // There is only one.
        agent.jvmti.enable(Event::NativeMethodBind, false).ok()
    });
}

/// The last moment at which the VM answers questions.
unsafe extern "C" fn vm_death(_env: *mut RawEnv, jni: *mut JNIEnv) {
    guard(|| {
        // SAFETY: jni is this callback's.
        Agent::get()?.finish(unsafe { Jni::new(jni) }?);
        faults::finished();
        Some(())
    });
}
