//! Java code that runs on cprof's behalf is not the program's: the thread counts into the junk node meanwhile.

use crate::arena::Arena;
use crate::jni::Jni;
use cprof_instrument::abi;
use jni_sys::{jfieldID, jobject};
use std::ffi::CString;

/// A thread that does not count; it goes on counting where it was when this is dropped.
pub struct Muted<'a> {
    jni: Jni<'a>,
    thread: jobject,
    node: jfieldID,
    before: i64,
}

impl<'a> Muted<'a> {
    /// Mutes the current thread, given as an object.
    pub fn thread(jni: Jni<'a>, thread: jobject, arena: &Arena) -> Option<Muted<'a>> {
        let node = field(jni, thread, abi::THREAD_NODE)?;
        let before = jni.long_field(thread, node);
        jni.set_long_field(thread, node, (arena.base() + abi::JUNK) as i64);
        Some(Muted { jni, thread, node, before })
    }
}

impl Drop for Muted<'_> {
    fn drop(&mut self) {
        self.jni.set_long_field(self.thread, self.node, self.before);
    }
}

/// One of the fields added to `java.lang.Thread`, found through a thread rather than by the class's name, for which the JVM
/// would ask the application's class loader.
pub fn field(jni: Jni, thread: jobject, name: &str) -> Option<jfieldID> {
    jni.field(jni.class_of(thread), &CString::new(name).ok()?, c"J")
}
