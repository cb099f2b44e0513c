//! Which loaded classes are to be woven now, and by whom: in a running JVM several threads may come to one class, and the VM
//! comes to some by itself.

use super::{Classes, FIRST_CLASS_TAG};
use crate::{lock, runtime};
use jni_sys::jclass;

/// The tag of classes that are about to be retransformed; no loader has it.
pub(super) const AWAITED_TAG: i64 = FIRST_CLASS_TAG - 1;

impl Classes {
    /// Whether a class was not woven when it was loaded because it is to be woven now.
    pub fn has_waited(&self, class: jclass) -> bool {
        self.events.any_waits() && self.jvmti.class_name(class).is_some_and(|name| self.events.has_waited(&name))
    }

    /// In a running JVM: whether nobody has seen a class, since it was being loaded when cprof came, and it can be woven. The
    /// thread that links it holds a lock on it: its loader is not asked now, which might wait for another that waits for the
    /// class.
    pub fn is_news(&self, class: jclass) -> bool {
        let Some(sight) = &self.sight else { return false };
        if self.entry_of(class).is_some() || !self.jvmti.is_modifiable(class) {
            return false;
        }
        let Some(name) = self.jvmti.class_name(class).filter(|name| !runtime::is_own(name)) else { return false };
        let Ok(loader) = self.jvmti.class_loader(class) else { return false };
        let seen = loader.is_null() || self.jvmti.tag(loader).is_ok_and(|tag| sight.is_known_to_see(tag));
        let is_listed = || lock(&self.gaps).range((name.clone(), String::new())..).next().is_some_and(|(gap, _)| *gap == name);
        if !seen && !is_listed() {
            self.not_covered(
                &name,
                "it was being loaded when cprof came, and its class loader is not known to find cprof's runtime class",
            );
        }
        seen
    }

    /// In a running JVM: this class is about to be retransformed. To do that the VM links it, which is no news then; JDK 25 does
    /// so before it reads the code, and would have it woven twice. False: somebody else said so before. Two who change one class
    /// at the same time may wait for each other, as one of them holds the lock under which it is linked.
    pub fn await_it(&self, class: jclass) -> bool {
        let _one_at_a_time = lock(&self.claiming);
        match self.jvmti.tag(class) {
            Ok(AWAITED_TAG) => false,
            Ok(0) => {
                // An error: it is woven alone if it was not linked.
                let _ = self.jvmti.set_tag(class, AWAITED_TAG);
                true
            }
            // A class of an earlier recording, which has a tag of its own.
            _ => true,
        }
    }

    /// The class is not awaited any more.
    pub fn came(&self, class: jclass) {
        if self.jvmti.tag(class).is_ok_and(|tag| tag == AWAITED_TAG) {
            // An error: it is not woven when it is linked later, as it is woven already.
            let _ = self.jvmti.set_tag(class, 0);
        }
    }
}
