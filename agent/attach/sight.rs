//! Which class loaders find the runtime class.
//!
//! Woven code names it, and the first class of a loader to do so makes the JVM call the loader's `loadClass` (JVMS §5.3.2): code
//! of the program, which may also refuse. So each loader is asked beforehand, on a thread that does not count, and HotSpot keeps
//! the answer in the loader's dictionary (systemDictionary.cpp, `resolve_instance_class_or_null`). At launch only the JDK's own
//! loaders are asked (`CProfRuntime.introduce`).

use crate::arena::Arena;
use crate::contexts::Contexts;
use crate::faults;
use crate::jni::Jni;
use crate::jvmti::Jvmti;
use crate::lock;
use crate::muted::Muted;
use jni_sys::{jclass, jobject};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::{Arc, Mutex};

thread_local! {
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// What the loaders answered.
pub struct Sight {
    runtime: jclass,
    contexts: Contexts,
    arena: Arc<Arena>,
    /// By the loader's tag.
    answers: Mutex<FxHashMap<i64, bool>>,
}

// SAFETY: `runtime` is a global reference, which may be used from any thread.
unsafe impl Send for Sight {}
// SAFETY: as above.
unsafe impl Sync for Sight {}

/// Some loader is being asked on this thread, until this is dropped.
struct Asking;

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.set(false);
    }
}

impl Sight {
    /// Nobody was asked yet. `runtime`: a global reference to the runtime class.
    pub fn new(runtime: jclass, contexts: Contexts, arena: Arc<Arena>) -> Sight {
        Sight { runtime, contexts, arena, answers: Mutex::default() }
    }

    /// Whether a loader was asked, and finds the runtime class.
    pub fn is_known_to_see(&self, tag: i64) -> bool {
        lock(&self.answers).get(&tag) == Some(&true)
    }

    /// The loader with this tag is gone.
    pub fn forget(&self, tag: i64) {
        lock(&self.answers).remove(&tag);
    }

    /// Whether a loader, not the boot loader, finds the runtime class.
    pub fn sees(&self, jvmti: Jvmti, jni: Jni, loader: jobject, tag: i64) -> bool {
        if let Some(&answer) = lock(&self.answers).get(&tag) {
            return answer;
        }
        // A loader that defines classes of its own in order to answer: they are not woven.
        if ASKING.replace(true) {
            return false;
        }
        let asking = Asking;
        faults::pass("ask loader");
        let muted = jvmti.current_thread().ok().and_then(|thread| Muted::thread(jni, thread, self.contexts, &self.arena));
        let answer = jni.ask_static(self.runtime, c"seenBy", c"(Ljava/lang/ClassLoader;)Z", loader).unwrap_or(false);
        drop((muted, asking));
        lock(&self.answers).insert(tag, answer);
        answer
    }
}
