//! The VM, by the pointer that it passes to its agents.

use jni_sys::{JavaVM, jint};
use std::ffi::c_void;

/// A VM. Its functions are there until the process ends.
#[derive(Clone, Copy)]
pub struct Vm(*mut JavaVM);

impl Vm {
    /// The VM with this pointer.
    ///
    /// # Safety
    /// The VM passed it to `Agent_OnLoad` or `Agent_OnAttach`, or answered it to JNI's `GetJavaVM`.
    pub unsafe fn new(vm: *mut JavaVM) -> Vm {
        Vm(vm)
    }

    /// An interface of this version, JNI's for the current thread or a new one of JVMTI, and the VM's answer: 0, or why there is
    /// none.
    pub fn interface(self, version: jint) -> (*mut c_void, jint) {
        let mut interface = std::ptr::null_mut();
        // SAFETY: the pointer is the VM's (`new`); GetEnv writes one pointer.
        let code = unsafe { ((**self.0).v1_2.GetEnv)(self.0, &mut interface, version) };
        (interface, code)
    }

    /// An address in the code of libjvm.
    pub fn code(self) -> *const c_void {
        // SAFETY: the pointer is the VM's (`new`).
        unsafe { (**self.0).v1_2.GetEnv as *const c_void }
    }
}
