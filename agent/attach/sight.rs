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

/// Why a class is not covered whose loader answered.
const BLIND: &str = "its class loader does not find cprof's runtime class";
/// Why one is not whose loader could not.
const NO_ANSWER: &str = "its class loader had no stack or memory left to find cprof's runtime class";
/// Why one is not that a loader defines in order to answer: it would be asked once more.
const WHILE_ASKED: &str = "it was defined while a class loader was asked for cprof's runtime class";

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

    /// That a loader, not the boot loader, finds the runtime class; otherwise why its class is not covered.
    pub fn sees(&self, jvmti: Jvmti, jni: Jni, loader: jobject, tag: i64) -> Result<(), &'static str> {
        let because = |answer: bool| if answer { Ok(()) } else { Err(BLIND) };
        if let Some(&answer) = lock(&self.answers).get(&tag) {
            return because(answer);
        }
        if ASKING.replace(true) {
            return Err(WHILE_ASKED);
        }
        let asking = Asking;
        faults::pass("ask loader");
        let muted = jvmti.current_thread().ok().and_then(|thread| Muted::thread(jni, thread, self.contexts, &self.arena));
        let answer = jni.ask_static(self.runtime, c"seenBy", c"(Ljava/lang/ClassLoader;)Z", loader);
        drop((muted, asking));
        let answer = answer.ok_or(NO_ANSWER)?;
        lock(&self.answers).insert(tag, answer);
        because(answer)
    }
}
