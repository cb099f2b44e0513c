//! What is not covered, and why: one class, or from here on all.

use super::Classes;
use crate::{faults, lock, memory, message};
use cprof_instrument::classfile::{ClassFile, tag};
use cprof_instrument::weave::Woven;
use cprof_profile::names::dotted;
use cprof_profile::recording::log::{Entry, NOT_SELECTED};
use jni_sys::jclass;
use std::sync::atomic::Ordering;

/// At launch nothing can be counted without these: they hold what woven code calls, where contexts are kept, and where counting
/// begins.
const ESSENTIAL: [&str; 3] = ["java/lang/Object", "java/lang/Thread", "java/lang/System"];

impl Classes {
    /// The VM has not taken a class's woven code. `why`: what it says.
    pub fn refused(&self, class: jclass, why: &str) {
        if let Some((tag, name)) = self.key_of(class) {
            let mut known = lock(&self.known);
            let entry = known.by_name.get_mut(&tag).and_then(|of_loader| of_loader.remove(&*name));
            // That of another loader, with the same code, may count.
            if let Some(entry) = entry.filter(|&entry| !known.is_named(entry)) {
                known.refused.insert(entry);
            }
        }
        let name = self.jvmti.class_name(class).unwrap_or_default();
        self.not_covered(&name, &format!("the JVM refuses the woven class: {why}"));
    }

    /// The JVM gets a class as it was. `why`: what failed.
    pub fn left_alone(&self, name: &str, why: &str) {
        self.not_covered(name, why);
        if self.sight.is_none() && ESSENTIAL.contains(&name) && !self.gave_up.swap(true, Ordering::AcqRel) {
            self.ahead.end();
            message(&format!(
                "{} cannot be woven ({why}), without which nothing can be counted. The application runs on without being profiled",
                dotted(name)
            ));
        }
    }

    /// Whether no class is woven any more, and counting must not begin.
    pub fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Acquire)
    }

    /// Whether there is no memory for weaving; that it is so is said once.
    fn no_memory(&self) -> bool {
        let short = memory::is_short();
        if short && !self.short.swap(true, Ordering::AcqRel) {
            self.ahead.end();
            message(&format!("{}: classes that are loaded from here on are not covered", memory::NONE));
            self.log.append(&Entry::Warning("when the process had no memory left, classes that were loaded were not covered"));
        }
        short
    }

    /// Says so of the first class that uses the JDK's continuations itself. Virtual threads are made of them, and have contexts of
    /// their own; here the thread stays the same, and its context is that of the frames that have gone.
    pub(super) fn note_continuations(&self, class: &ClassFile<'_>) {
        const CONTINUATION: &[u8] = b"jdk/internal/vm/Continuation";
        let is_it = |index| class.pool.tag(index) == Ok(tag::CLASS) && class.pool.class_name(index) == Ok(CONTINUATION);
        let said = || self.continues.load(Ordering::Acquire);
        if !said() && (1..class.pool.count() as u16).any(is_it) && !self.continues.swap(true, Ordering::AcqRel) {
            self.log.append(&Entry::Warning(&format!(
                "{} uses jdk.internal.vm.Continuation: what is called after one has yielded may be below another context, and of one that \
                 is never finished a block may count that was not executed to its end",
                dotted(&class.name_str())
            )));
        }
    }

    /// Whether a class may be woven now.
    pub(super) fn may_weave(&self, name: &str) -> bool {
        match ESSENTIAL.iter().position(|&essential| *essential == *name) {
            Some(0) => faults::pass("weave Object"),
            Some(1) => faults::pass("weave Thread"),
            Some(2) => faults::pass("weave System"),
            _ => faults::pass("weave"),
        }
        let short = self.no_memory();
        if short && ESSENTIAL.contains(&name) {
            self.left_alone(name, memory::NONE);
        }
        !short
    }

    /// As [`Classes::left_alone`].
    pub(super) fn stays(&self, name: &str, why: &str) -> Option<Woven> {
        self.left_alone(name, why);
        None
    }

    /// The classes that are not covered, and why, but for those that the user left out.
    pub fn gaps(&self) -> Vec<(String, String)> {
        lock(&self.gaps).iter().filter(|(_, reason)| reason != NOT_SELECTED).cloned().collect()
    }

    /// A class is not covered, whose code is the program's: no gap where the user has left it out.
    pub fn not_covered(&self, name: &str, reason: &str) {
        self.list(name, if self.policy.selects(name) { reason } else { NOT_SELECTED });
    }

    /// Lists a class that is not covered; once, however many loaders define it.
    pub(super) fn list(&self, name: &str, reason: &str) {
        if lock(&self.gaps).insert((name.to_owned(), reason.to_owned())) {
            self.log.append(&Entry::NotCovered { name, reason });
        }
    }
}
