//! The unsafe edge to the tool interface: the few functions and events the agent uses.
//!
//! Function numbers, event numbers and capability bits are those of the JVM Tool Interface specification 1.2 and its later
//! additions, which never renumber (sections "Function Index", "Event Index" and `jvmtiCapabilities`).

use crate::vm::Vm;
use crate::{faults, refusals};
use cprof_instrument::classfile::mutf8;
use jni_sys::{JNIEnv, jclass, jint, jlong, jobject};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;

/// A `jmethodID`: an opaque name of a method, valid while its class is loaded.
pub type MethodId = *mut c_void;

/// A reference to a thread object.
#[allow(non_camel_case_types)]
pub type jthread = jobject;

/// JVMTI version 1.2 of the environment asked for: every HotSpot since JDK 6 has it.
const VERSION_1_2: jint = 0x3001_0200;

type Function = *const c_void;

/// `jvmtiEnv`: a pointer to a table of functions; number `n` of the specification is at `n - 1`.
#[repr(C)]
pub struct RawEnv {
    functions: *const Function,
}

/// The environment of this agent. Any thread may use it (JVMTI specification, "Environments").
#[derive(Clone, Copy)]
pub struct Jvmti(*mut RawEnv);

// SAFETY: the specification allows every function from any thread; the pointer stays valid until DisposeEnvironment. Who disposes
// sees to it that nobody uses it any more but callbacks under way, for which HotSpot keeps it (`JvmtiEnvIterator`): it answers
// them that the environment is invalid (`JvmtiEnvBase::is_valid`).
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// An error code of a function, with the function's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    function: &'static str,
    code: jint,
}

impl Error {
    /// JVMTI_ERROR_THREAD_NOT_ALIVE.
    const NOT_ALIVE: jint = 15;
    /// JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED.
    const MODIFIERS_CHANGED: jint = 70;
    /// JVMTI_ERROR_WRONG_PHASE: of what is allowed in the live phase, after the VM's death.
    const WRONG_PHASE: jint = 112;
    /// JVMTI_ERROR_OUT_OF_MEMORY and JVMTI_ERROR_INTERNAL: no answer to what was asked.
    const NO_ANSWER: [jint; 2] = [faults::JVMTI_NO_MEMORY, 113];

    fn check(function: &'static str, code: jint) -> Result<(), Error> {
        if Error::NO_ANSWER.contains(&code) {
            refusals::note(function);
        }
        if code == 0 { Ok(()) } else { Err(Error { function, code }) }
    }

    /// Whether the VM had no memory for what was asked.
    pub fn is_out_of_memory(self) -> bool {
        self.code == faults::JVMTI_NO_MEMORY
    }

    /// Whether a class was to get other access flags.
    pub fn is_modifiers_changed(self) -> bool {
        self.code == Error::MODIFIERS_CHANGED
    }

    /// Whether the thread that was asked for has ended.
    pub fn is_thread_ended(self) -> bool {
        self.code == Error::NOT_ALIVE
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.function, self.code) {
            // JNI_EDETACHED before the VM is created in full (jni.cpp, jni_GetEnv), JNI_EVERSION but in the phases ONLOAD and
            // LIVE (jvmtiExport.cpp, get_jvmti_interface).
            ("GetEnv", -2 | -3) => f.write_str("it is starting or ending, and lets no agent in; try again"),
            (function, faults::JVMTI_NO_MEMORY) => {
                write!(f, "{function} failed: the JVM has no memory, of its heap, its metaspace, or the process's")
            }
            (_, Error::WRONG_PHASE) => f.write_str("the JVM is ending"),
            (function, code) => write!(f, "{function} failed with error {code}"),
        }
    }
}

/// Capabilities, as the bit's position in `jvmtiCapabilities`.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Capability {
    TagObjects = 0,
    GetBytecodes = 3,
    RedefineClasses = 9,
    Suspend = 20,
    RedefineAnyClass = 21,
    AllClassHookEvents = 26,
    NativeMethodBindEvents = 30,
    ObjectFreeEvents = 32,
    GetConstantPool = 35,
    RetransformClasses = 37,
    RetransformAnyClass = 38,
    EarlyVmStart = 41,
    EarlyClassHookEvents = 42,
    /// JDK 21 and later.
    SupportVirtualThreads = 44,
}

/// As a `jvmtiCapabilities`.
fn bits(capabilities: &[Capability]) -> [u8; 16] {
    capabilities.iter().fold(0u128, |bits, &c| bits | 1 << c as u32).to_le_bytes()
}

/// Events, by their number.
#[derive(Clone, Copy)]
#[repr(i32)]
pub enum Event {
    VmInit = 50,
    VmDeath = 51,
    ClassFileLoadHook = 54,
    ClassPrepare = 56,
    VmStart = 57,
    NativeMethodBind = 67,
    ObjectFree = 83,
}

/// The callbacks, see the event's section of the specification for the meaning of the arguments.
pub struct Callbacks {
    pub vm_init: unsafe extern "C" fn(*mut RawEnv, *mut JNIEnv, jthread),
    pub vm_death: unsafe extern "C" fn(*mut RawEnv, *mut JNIEnv),
    pub vm_start: unsafe extern "C" fn(*mut RawEnv, *mut JNIEnv),
    pub class_prepare: unsafe extern "C" fn(*mut RawEnv, *mut JNIEnv, jthread, jclass),
    pub native_method_bind: unsafe extern "C" fn(*mut RawEnv, *mut JNIEnv, jthread, MethodId, *mut c_void, *mut *mut c_void),
    #[allow(clippy::type_complexity)]
    pub class_file_load_hook: unsafe extern "C" fn(
        *mut RawEnv,
        *mut JNIEnv,
        jclass,
        jobject,
        *const c_char,
        jobject,
        jint,
        *const u8,
        *mut jint,
        *mut *mut u8,
    ),
    pub object_free: unsafe extern "C" fn(*mut RawEnv, i64),
}

/// Calls function number `$n` with the argument types of the specification and turns its code into a `Result`.
macro_rules! call {
    ($self:ident, $n:literal, $name:literal, ($($type:ty),*) $(, $arg:expr)* $(,)?) => {{
        let code = if faults::fails(concat!("JVMTI ", $name)) {
            faults::JVMTI_NO_MEMORY
        } else {
            // SAFETY: the table of a live environment; the number and the types are the specification's for this function, and
            // every pointer among the arguments is valid for the call.
            unsafe {
                let function = *(*$self.0).functions.add($n - 1);
                let function: unsafe extern "C" fn(*mut RawEnv $(, $type)*) -> jint = std::mem::transmute(function);
                function($self.0 $(, $arg)*)
            }
        };
        Error::check(concat!("JVMTI ", $name), code)
    }};
}

mod classes;
mod stacks;
pub use stacks::FrameInfo;

impl Jvmti {
    /// An environment of the VM's.
    pub fn new(vm: Vm) -> Result<Jvmti, Error> {
        let (env, code) =
            if faults::fails("GetEnv") { (std::ptr::null_mut(), faults::JVMTI_NO_MEMORY) } else { vm.interface(VERSION_1_2) };
        Error::check("GetEnv", code).map(|()| Jvmti(env.cast()))
    }

    /// Whether that is this environment.
    pub fn is(self, env: *mut RawEnv) -> bool {
        self.0 == env
    }

    /// Adds capabilities: all or none.
    pub fn add_capabilities(self, capabilities: &[Capability]) -> Result<(), Error> {
        call!(self, 142, "AddCapabilities", (*const u8), bits(capabilities).as_ptr())
    }

    /// Gives capabilities back, which others may have then.
    pub fn relinquish(self, capabilities: &[Capability]) -> Result<(), Error> {
        call!(self, 143, "RelinquishCapabilities", (*const u8), bits(capabilities).as_ptr())
    }

    /// Sets the callbacks.
    pub fn set_callbacks(self, callbacks: &Callbacks) -> Result<(), Error> {
        const FIRST: usize = Event::VmInit as usize;
        let mut table: [Function; 40] = [std::ptr::null(); 40];
        table[Event::VmInit as usize - FIRST] = callbacks.vm_init as Function;
        table[Event::VmDeath as usize - FIRST] = callbacks.vm_death as Function;
        table[Event::ClassFileLoadHook as usize - FIRST] = callbacks.class_file_load_hook as Function;
        table[Event::VmStart as usize - FIRST] = callbacks.vm_start as Function;
        table[Event::ClassPrepare as usize - FIRST] = callbacks.class_prepare as Function;
        table[Event::NativeMethodBind as usize - FIRST] = callbacks.native_method_bind as Function;
        table[Event::ObjectFree as usize - FIRST] = callbacks.object_free as Function;
        let size = size_of_val(&table) as jint;
        call!(self, 122, "SetEventCallbacks", (*const Function, jint), table.as_ptr(), size)
    }

    /// Switches an event on or off, for all threads.
    pub fn enable(self, event: Event, on: bool) -> Result<(), Error> {
        let mode = on as jint;
        call!(self, 2, "SetEventNotificationMode", (jint, jint, jthread), mode, event as jint, std::ptr::null_mut())
    }

    /// A copy of the bytes in memory that the VM will free.
    pub fn copy(self, bytes: &[u8]) -> Result<*mut u8, Error> {
        let mut memory: *mut u8 = std::ptr::null_mut();
        call!(self, 46, "Allocate", (jlong, *mut *mut u8), bytes.len() as jlong, &mut memory)?;
        // SAFETY: Allocate answered memory of that size, which is ours until we hand it on.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Ok(memory)
    }

    fn deallocate<T>(self, memory: *mut T) {
        // An error here means a pointer that the VM did not allocate; there are none.
        let _ = call!(self, 47, "Deallocate", (*mut u8), memory.cast());
    }

    /// Takes a C string that the VM allocated.
    fn take_bytes(self, string: *mut c_char) -> Vec<u8> {
        if string.is_null() {
            return Vec::new();
        }
        // SAFETY: functions that answer strings answer them terminated; deallocated only after the copy.
        let copy = unsafe { CStr::from_ptr(string) }.to_bytes().to_vec();
        self.deallocate(string);
        copy
    }

    /// Takes a name: decoded as those of class files are, with which it will be compared.
    fn take_name(self, name: *mut c_char) -> String {
        mutf8::decode(&self.take_bytes(name)).into_owned()
    }

    /// A VM property as the VM itself sees it; `None` when there is none.
    pub fn system_property(self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        let mut value: *mut c_char = std::ptr::null_mut();
        call!(self, 131, "GetSystemProperty", (*const c_char, *mut *mut c_char), name.as_ptr(), &mut value).ok()?;
        Some(String::from_utf8_lossy(&self.take_bytes(value)).into_owned())
    }

    /// Gives the environment back, with its events, capabilities and tags.
    pub fn dispose(self) -> Result<(), Error> {
        call!(self, 127, "DisposeEnvironment", ())
    }

    /// The current thread.
    pub fn current_thread(self) -> Result<jthread, Error> {
        let mut thread: jthread = std::ptr::null_mut();
        call!(self, 18, "GetCurrentThread", (*mut jthread), &mut thread)?;
        Ok(thread)
    }

    /// Whether the VM has died, but for the threads that still run.
    pub fn is_over(self) -> bool {
        self.current_thread().is_err_and(|error| error.code == Error::WRONG_PHASE)
    }

    /// The live platform threads.
    pub fn threads(self) -> Result<Vec<jthread>, Error> {
        let mut count: jint = 0;
        let mut threads: *mut jthread = std::ptr::null_mut();
        call!(self, 4, "GetAllThreads", (*mut jint, *mut *mut jthread), &mut count, &mut threads)?;
        Ok(self.take_array(threads, count))
    }

    fn take_array<T: Copy>(self, array: *mut T, count: jint) -> Vec<T> {
        if array.is_null() {
            return Vec::new();
        }
        // SAFETY: the VM answered `count` elements there; deallocated only after the copy.
        let copy = unsafe { std::slice::from_raw_parts(array, usize::try_from(count).unwrap_or(0)) }.to_vec();
        self.deallocate(array);
        copy
    }

    /// Suspends threads; for each, whether it was this call that did.
    pub fn suspend(self, threads: &[jthread]) -> Result<Vec<bool>, Error> {
        let mut results = vec![0 as jint; threads.len()];
        let count = threads.len() as jint;
        call!(self, 92, "SuspendThreadList", (jint, *const jthread, *mut jint), count, threads.as_ptr(), results.as_mut_ptr())?;
        Ok(results.into_iter().map(|code| code == 0).collect())
    }

    /// Resumes threads that [`Jvmti::suspend`] suspended.
    pub fn resume(self, threads: &[jthread]) -> Result<(), Error> {
        let mut results = vec![0 as jint; threads.len()];
        let count = threads.len() as jint;
        call!(self, 93, "ResumeThreadList", (jint, *const jthread, *mut jint), count, threads.as_ptr(), results.as_mut_ptr())
    }

    /// Suspends the virtual threads but these, the current one for instance. JDK 21 and later.
    pub fn suspend_virtual(self, except: &[jthread]) -> Result<(), Error> {
        call!(self, 118, "SuspendAllVirtualThreads", (jint, *const jthread), except.len() as jint, except.as_ptr())
    }

    /// Resumes the virtual threads but these.
    pub fn resume_virtual(self, except: &[jthread]) -> Result<(), Error> {
        call!(self, 119, "ResumeAllVirtualThreads", (jint, *const jthread), except.len() as jint, except.as_ptr())
    }

    /// The instances of a class, found by a walk of the heap; all of them get the tag.
    pub fn instances(self, class: jclass, tag: jlong) -> Result<Vec<jobject>, Error> {
        /// Of `jvmtiHeapCallbacks`, 16 pointers, the first is called for each object of a walk.
        type Callbacks = [Function; 16];
        /// JVMTI_VISIT_OBJECTS: go on.
        const GO_ON: jint = 0x100;
        unsafe extern "C" fn mark(_class_tag: jlong, _size: jlong, place: *mut jlong, _length: jint, tag: *mut c_void) -> jint {
            // SAFETY: the VM passes a place to write the tag to, and the pointer to the tag that is on the caller's stack.
            unsafe { *place = *tag.cast::<jlong>() };
            GO_ON
        }
        let mut callbacks: Callbacks = [std::ptr::null(); 16];
        callbacks[0] = mark as Function;
        let data: *const jlong = &tag;
        call!(
            self,
            116,
            "IterateThroughHeap",
            (jint, jclass, *const Callbacks, *const c_void),
            0,
            class,
            &callbacks,
            data.cast()
        )?;
        let mut count: jint = 0;
        let mut objects: *mut jobject = std::ptr::null_mut();
        let tags: *mut *mut jlong = std::ptr::null_mut();
        call!(
            self,
            114,
            "GetObjectsWithTags",
            (jint, *const jlong, *mut jint, *mut *mut jobject, *mut *mut jlong),
            1,
            &tag,
            &mut count,
            &mut objects,
            tags
        )?;
        Ok(self.take_array(objects, count))
    }

    /// The tag of an object; 0 when it has none.
    pub fn tag(self, object: jobject) -> Result<jlong, Error> {
        let mut tag: jlong = 0;
        call!(self, 106, "GetTag", (jobject, *mut jlong), object, &mut tag)?;
        Ok(tag)
    }

    /// Tags an object, for this environment only.
    pub fn set_tag(self, object: jobject, tag: jlong) -> Result<(), Error> {
        call!(self, 107, "SetTag", (jobject, jlong), object, tag)
    }
}
