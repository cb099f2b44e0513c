//! Stacks of new threads. Woven frames are larger: by about 40 % in the interpreter, up to eight times in code compiled by C1 (measured
//! with a method that only calls itself), so that recursion which fitted would not without more. All threads that Java code starts
//! pass the native method `Thread.start0`, in whose place the agent puts a function of its own: it has the JVM read a larger size
//! there, and puts the program's back. The main thread's stack is the launcher's.

use crate::flags::Flags;
use crate::jni::Jni;
use crate::vm_structs::Library;
use cprof_profile::options::STACKS;
use jni_sys::{JNIEnv, jclass, jfieldID, jobject};
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

const START: (&CStr, &CStr) = (c"start0", c"()V");
/// HotSpot's implementation (jvm.cpp), which it exports, in JDK 17 to 25.
const SYMBOL: &CStr = c"JVM_StartThread";
/// Where threads have the size: in a field of their own (JDK 17), or of an object of theirs (JDK 19 and later).
const SIZE: (&CStr, &CStr) = (c"stackSize", c"J");
const HOLDER: (&CStr, &CStr, &CStr) = (c"java/lang/Thread$FieldHolder", c"holder", c"Ljava/lang/Thread$FieldHolder;");
const BY: i64 = STACKS as i64;
/// Who asks for less gets what HotSpot needs by itself, which is less than this (os_posix.cpp, `_java_thread_min_stack_allowed`).
const LEAST: i64 = 256 << 10;
/// So many bytes a stack gets more at most: what is larger was chosen for more than its depth, and addresses are not endless.
const MOST_MORE: i64 = 1 << 30;

type Start0 = unsafe extern "C" fn(*mut JNIEnv, jobject);

static ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
/// For threads that name no size; 0: what the JVM gives them.
static DEFAULT: AtomicI64 = AtomicI64::new(0);
static FIELDS: OnceLock<Fields> = OnceLock::new();

/// Field ids are valid as long as their class, which is `Thread`: for ever.
struct Fields {
    holder: Option<jfieldID>,
    size: jfieldID,
}

// SAFETY: field ids are plain numbers to whoever passes them on, on any thread.
unsafe impl Send for Fields {}
// SAFETY: as above.
unsafe impl Sync for Fields {}

/// Puts the agent's function in the place of `Thread.start0`, or takes it away again. Threads that name no size get more where that is
/// the JVM's choice, or in `all` cases: a user who has chosen for a run without cprof knew of no profile. Answers whether it could.
///
/// Called from Java code of the boot loader, as [`attach::natives::bind`](crate::attach::natives::bind) is.
pub fn bind(jni: Jni, thread: jclass, ours: bool, all: bool) -> bool {
    if !ours {
        // Where nothing was put there is nothing to be taken away.
        let original = ORIGINAL.load(Ordering::Acquire);
        return original.is_null() || jni.bind_native(thread, START.0, START.1, original);
    }
    let Some(vm) = jni.vm() else { return false };
    let Some(original) = Library::of(vm).and_then(|library| library.function(SYMBOL)) else { return false };
    if FIELDS.get().is_none() {
        let Some(fields) = Fields::find(jni, thread) else { return false };
        // Another has found the same.
        let _ = FIELDS.set(fields);
    }
    ORIGINAL.store(original, Ordering::Release);
    let size = Flags::of(vm).ok().and_then(|flags| flags.stack_size(!all));
    DEFAULT.store(size.map_or(0, larger), Ordering::Relaxed);
    jni.bind_native(thread, START.0, START.1, start0 as Start0 as *mut c_void)
}

impl Fields {
    fn find(jni: Jni, thread: jclass) -> Option<Fields> {
        if let Some(size) = jni.field_if_any(thread, SIZE.0, SIZE.1) {
            return Some(Fields { holder: None, size });
        }
        let holder = jni.field(thread, HOLDER.1, HOLDER.2)?;
        let size = jni.field(jni.find_class(HOLDER.0)?, SIZE.0, SIZE.1)?;
        Some(Fields { holder: Some(holder), size })
    }
}

/// The bytes that a stack gets whose thread names so many.
fn larger(size: i64) -> i64 {
    let size = size.max(LEAST);
    size.saturating_mul(BY).min(size.saturating_add(MOST_MORE))
}

unsafe extern "C" fn start0(env: *mut JNIEnv, thread: jobject) {
    // SAFETY: the VM bound this only after ORIGINAL was set to the function that it stands for; env is this call's.
    let (original, jni) = unsafe {
        let original: Start0 = std::mem::transmute(ORIGINAL.load(Ordering::Acquire));
        (original, Jni::new(env))
    };
    // SAFETY: the arguments are the VM's own.
    let start = || unsafe { original(env, thread) };
    let Some((jni, fields)) = jni.zip(FIELDS.get()) else { return start() };
    let object = fields.holder.map_or(Some(thread), |holder| jni.object_field(thread, holder));
    let Some(object) = object else { return start() };
    let named = jni.long_field(object, fields.size);
    let wanted = if named > 0 { larger(named) } else { DEFAULT.load(Ordering::Relaxed) };
    if wanted == 0 {
        return start();
    }
    jni.set_long_field(object, fields.size, wanted);
    start();
    // There may be no room for that; it is tried as the program wanted it, which says what is wrong, if anything.
    let failed = jni.failed();
    jni.set_long_field(object, fields.size, named);
    if failed {
        start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_grow_within_reason() {
        let sizes = [1, 128 << 10, 1 << 20, 256 << 20, 1 << 30, i64::MAX];
        let expected = [1 << 20, 1 << 20, 4 << 20, 1 << 30, 2 << 30, i64::MAX];
        assert_eq!(sizes.map(larger), expected);
    }
}
