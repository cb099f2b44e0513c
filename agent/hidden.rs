//! Hidden classes: lambdas, lambda forms, string concatenation, proxies of method handles.
//!
//! HotSpot posts no ClassFileLoadHook for them. All of them pass the native method `ClassLoader.defineClass0`, whose address
//! the agent replaces when the VM binds it (JVMTI event NativeMethodBind).

use crate::classes::{EntryId, Ongoing};
use crate::jni::Jni;
use crate::{Agent, contained, faults, guard};
use jni_sys::{JNIEnv, jboolean, jbyteArray, jclass, jint, jobject, jstring};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// JDK's exported implementation of `java.lang.ClassLoader.defineClass0`, the same signature from 17 to 25.
pub const SYMBOL: &CStr = c"Java_java_lang_ClassLoader_defineClass0";
/// In `flags`: the class is hidden (`MethodHandles.Lookup.ClassOption`, HIDDEN_CLASS). Others pass the class file load hook too.
const HIDDEN: jint = 2;

type DefineClass0 = unsafe extern "C" fn(
    *mut JNIEnv,
    jclass,
    jobject,
    jclass,
    jstring,
    jbyteArray,
    jint,
    jint,
    jobject,
    jboolean,
    jint,
    jobject,
) -> jclass;

static ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// What to bind in place of `address`: the wrapper if it is defineClass0, nothing for any other function.
pub fn replacement(address: *mut c_void) -> Option<*mut c_void> {
    // SAFETY: dladdr only looks the address up; the info is plain data.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_sname.is_null() || info.dli_saddr != address {
        return None;
    }
    // SAFETY: dladdr answered the terminated name of a symbol of a loaded library.
    if unsafe { CStr::from_ptr(info.dli_sname) } != SYMBOL {
        return None;
    }
    stands_for(address);
    Some(wrapper())
}

/// The function to bind in the place of defineClass0; first say by [`stands_for`] what it stands for.
pub fn wrapper() -> *mut c_void {
    define_class0 as DefineClass0 as *mut c_void
}

/// The wrapper passes everything on to this function, which is defineClass0.
pub fn stands_for(define_class0: *mut c_void) {
    ORIGINAL.store(define_class0, Ordering::Release);
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn define_class0(
    env: *mut JNIEnv,
    class_loader: jclass,
    loader: jobject,
    lookup: jclass,
    name: jstring,
    bytes: jbyteArray,
    offset: jint,
    length: jint,
    domain: jobject,
    initialize: jboolean,
    flags: jint,
    data: jobject,
) -> jclass {
    // SAFETY: env is this callback's.
    let jni = unsafe { Jni::new(env) };
    // The same agent sees the class's beginning and its end, which may be long after: its initialiser runs meanwhile.
    let agent = if flags & HIDDEN != 0 && !bytes.is_null() { guard(Agent::get) } else { None };
    let defining = agent.as_ref().map(|agent| Ongoing::begin(agent.classes.defining()));
    let woven = match (jni, &agent) {
        (Some(jni), Some(agent)) if !agent.is_leaving() => guard(|| weave(agent, jni, loader, (bytes, offset, length))),
        _ => None,
    };
    let (bytes, offset, length) = match woven {
        Some((Some(array), length, _)) => (array, 0, length),
        _ => (bytes, offset, length),
    };
    // SAFETY: the VM bound this wrapper only after ORIGINAL was set to the function it stands for; the arguments are its own.
    let class = unsafe {
        let original: DefineClass0 = std::mem::transmute(ORIGINAL.load(Ordering::Acquire));
        original(env, class_loader, loader, lookup, name, bytes, offset, length, domain, initialize, flags, data)
    };
    if let (Some(agent), Some((.., Some(entry))), false) = (&agent, woven, class.is_null()) {
        guard(|| agent.classes.defined_hidden(jni?, class, entry));
    }
    drop(defining);
    class
}

/// Weaves the bytes of a hidden class: a new array, its length, and the class's entry. Without an array the class passes as it
/// is.
fn weave(
    agent: &Agent,
    jni: Jni,
    loader: jobject,
    (bytes, offset, length): (jbyteArray, jint, jint),
) -> Option<(Option<jbyteArray>, jint, Option<EntryId>)> {
    let woven = contained(|| {
        faults::pass("hidden class");
        let original = jni.bytes(bytes, offset, length).ok_or("its bytes cannot be read")?;
        let (woven, entry) = agent.classes.weave_hidden(jni, loader, &original);
        let Some(woven) = woven else { return Ok((None, 0, entry)) };
        let array = jni.byte_array(&woven).ok_or("there is no memory for what was woven")?;
        Ok((Some(array), woven.len() as jint, entry))
    });
    woven.map_err(|why| agent.classes.left_alone("a hidden class", &why)).ok()
}
