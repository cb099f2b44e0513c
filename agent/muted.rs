//! Java code that runs on cprof's behalf is not the program's: the thread counts into the junk node meanwhile.

use crate::arena::Arena;
use crate::contexts::{Contexts, Word};
use crate::jni::Jni;
use crate::message;
use cprof_instrument::abi;
use jni_sys::jobject;

/// A thread that does not count; it goes on counting where it was when this is dropped.
pub struct Muted<'a> {
    jni: Jni<'a>,
    thread: jobject,
    contexts: Contexts,
    before: u64,
}

impl<'a> Muted<'a> {
    /// Mutes the current thread, given as an object.
    pub fn thread(jni: Jni<'a>, thread: jobject, contexts: Contexts, arena: &Arena) -> Option<Muted<'a>> {
        let before = contexts.get(jni, thread, Word::Node)?;
        contexts.set(jni, thread, Word::Node, arena.base() + abi::JUNK)?;
        Some(Muted { jni, thread, contexts, before })
    }

    /// Where a thread goes on counting, if it is this one.
    pub fn node_of(&self, thread: jobject) -> Option<u64> {
        self.jni.same(self.thread, thread).then_some(self.before)
    }
}

impl Drop for Muted<'_> {
    fn drop(&mut self) {
        // It worked before. A VM that has no memory now may have some in a moment.
        let set = || self.contexts.set(self.jni, self.thread, Word::Node, self.before);
        if set().or_else(set).is_none() {
            message("a thread counts no more: its context cannot be set");
        }
    }
}
