//! The runtime's classes in a running JVM: defined once, in the boot loader, which unloads nothing; afterwards redefined with the
//! constants of each run.

use crate::jni::Jni;
use crate::jvmti::Jvmti;
use crate::{copies, lock};
use cprof_instrument::abi;
use jni_sys::jclass;
use std::ffi::CString;
use std::sync::Mutex;

/// Global references to the classes, in the order of `crate::runtime`.
static DEFINED: Mutex<Vec<Class>> = Mutex::new(Vec::new());

#[derive(Clone, Copy)]
struct Class(jclass);

// SAFETY: a global reference may be used from any thread.
unsafe impl Send for Class {}

/// Whether the JVM has such a class already. (JNI's FindClass would ask the application's class loader, whose exception stops
/// debuggers that wait for uncaught ones.)
fn is_there(jvmti: Jvmti, jni: Jni) -> bool {
    let is_runtime = |class| jvmti.class_name(class).is_some_and(|name| name == abi::RUNTIME);
    jni.in_frame(|| jvmti.loaded_classes().unwrap_or_default().into_iter().any(is_runtime))
}

/// Puts these bytes in force. Answers the class that woven code calls.
///
/// # Errors
/// The VM refuses, or another copy of the agent has defined them.
pub fn install(jvmti: Jvmti, jni: Jni, classes: &[(&'static str, Vec<u8>)]) -> Result<jclass, String> {
    let mut defined = lock(&DEFINED);
    if defined.is_empty() && is_there(jvmti, jni) {
        return Err(match copies::other() {
            Some(other) => {
                format!("another copy of libcprof.so has been in this JVM, {other}; use that one again (--agent {other})")
            }
            None => "another copy of libcprof.so has been in this JVM; use that file again (--agent)".to_owned(),
        });
    }
    // All or none, unless an earlier attempt failed half way.
    let (old, new) = classes.split_at(defined.len().min(classes.len()));
    if !old.is_empty() {
        let pairs: Vec<_> = defined.iter().zip(old).map(|(class, (_, bytes))| (class.0, bytes.clone())).collect();
        jvmti.redefine(&pairs).map_err(|e| format!("cprof's runtime classes cannot be renewed: {e}"))?;
    }
    for (name, bytes) in new {
        let class = CString::new(*name).ok().and_then(|name| jni.define_boot_class(&name, bytes));
        let class = class.and_then(|class| jni.keep(class)).ok_or_else(|| format!("this JVM refuses to define {name}"))?;
        defined.push(Class(class));
    }
    let main = classes.iter().position(|(name, _)| *name == abi::RUNTIME);
    main.and_then(|i| defined.get(i)).map(|class| class.0).ok_or_else(|| crate::FOREIGN.to_owned())
}
