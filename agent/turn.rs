//! The class hook's turn among those of other agents.
//!
//! The VM shows a class to its agents in the order in which they were loaded, to those that can retransform last. An agent that
//! was loaded after this one would be shown woven code, and what it finds out of a class would be out of one that nobody has:
//! coverage that JaCoCo records belongs to a class file by a checksum of its bytes. So when all agents are loaded, weaving is
//! left to a second environment, which is after theirs.

use crate::hooks;
use crate::jni::Jni;
use crate::jvmti::{Capability, Error, Event, Jvmti, RawEnv};
use std::cell::Cell;
use std::sync::OnceLock;

thread_local! {
    /// Whether the class that the VM is showing around on this thread is left to the second environment. Decided once per class,
    /// since other threads load classes while the second one is being made.
    static LEFT: Cell<bool> = const { Cell::new(false) };
}

/// Which environment weaves.
#[derive(Default)]
pub struct Turn {
    last: OnceLock<Jvmti>,
}

impl Turn {
    /// Weaving is left to a new environment from the next class on.
    pub fn leave_to_last(&self, jni: Jni) -> Result<(), String> {
        let vm = jni.vm().ok_or("JNI GetJavaVM failed")?;
        let prepare = || {
            let last = Jvmti::new(vm)?;
            last.add_capabilities(&[Capability::AllClassHookEvents])?;
            hooks::set_callbacks(last)?;
            last.enable(Event::ClassFileLoadHook, true)?;
            Ok(last)
        };
        let last = prepare().map_err(|e: Error| e.to_string())?;
        // Whoever asks twice has one already.
        let _ = self.last.set(last);
        Ok(())
    }

    /// Whether the hook of that environment is the one to weave a class. It is asked by the first one before the second one.
    pub fn is_of(&self, first: Jvmti, env: *mut RawEnv) -> bool {
        if first.is(env) {
            LEFT.set(self.last.get().is_some());
            return !LEFT.get();
        }
        LEFT.get()
    }
}
