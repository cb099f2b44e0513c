//! The unsafe edge to JNI: the handful of functions the agent calls. None runs Java code unless it says so, but that asking
//! for a field or a method initialises its class (JNI specification, GetFieldID and GetMethodID).

use crate::vm::Vm;
use crate::{faults, refusals};
use cprof_instrument::classfile::mutf8;
use jni_sys::{
    JNI_OK, JNI_TRUE, JNI_VERSION_1_2, JNIEnv, JNINativeMethod, jbyteArray, jclass, jfieldID, jmethodID, jobject, jobjectArray,
    jstring, jvalue,
};
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

/// The JNI environment of the current thread, for the length of one callback.
#[derive(Clone, Copy)]
pub struct Jni<'a> {
    env: *mut JNIEnv,
    callback: PhantomData<&'a JNIEnv>,
}

/// Calls a JNI function of the table.
macro_rules! call {
    ($self:ident, $table:ident, $name:ident $(, $arg:expr)*) => {
        // SAFETY: the environment belongs to this thread and callback (`Jni::new`), the arguments are valid references or
        // pointers of the function's types.
        unsafe { ((**$self.env).$table.$name)($self.env $(, $arg)*) }
    };
}

/// Local references that are made while this lives are given back when it goes.
struct Frame<'a>(Option<Jni<'a>>);

impl<'a> Frame<'a> {
    fn push(jni: Jni<'a>) -> Frame<'a> {
        let pushed = !jni.faulty("JNI PushLocalFrame") && call!(jni, v1_2, PushLocalFrame, 65_536) == JNI_OK;
        if !pushed {
            // There is no memory: they stay until the thread's native code returns.
            jni.failed();
        }
        Frame(pushed.then_some(jni))
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        if let Some(jni) = self.0 {
            call!(jni, v1_2, PopLocalFrame, std::ptr::null_mut());
        }
    }
}

impl<'a> Jni<'a> {
    /// The environment of a callback; `None` in the primordial phase, when there is none.
    ///
    /// # Safety
    /// `env` is what the VM passed to the callback that is running on this thread, and `'a` does not outlive that.
    pub unsafe fn new(env: *mut JNIEnv) -> Option<Jni<'a>> {
        if env.is_null() { None } else { Some(Jni { env, callback: PhantomData }) }
    }

    /// The environment of the current thread; `None` when the VM does not know the thread.
    ///
    /// # Safety
    /// This thread is in native code, and `'a` does not outlive that.
    pub unsafe fn current(vm: Vm) -> Option<Jni<'a>> {
        let (env, code) = vm.interface(JNI_VERSION_1_2);
        // SAFETY: the caller's promise.
        if code == JNI_OK { unsafe { Jni::new(env.cast()) } } else { None }
    }

    /// The VM.
    pub fn vm(self) -> Option<Vm> {
        let mut vm = std::ptr::null_mut();
        let found = call!(self, v1_2, GetJavaVM, &mut vm) == JNI_OK;
        // SAFETY: the VM answered it.
        found.then(|| unsafe { Vm::new(vm) })
    }

    /// Whether a Java exception is pending; it is cleared.
    pub fn failed(self) -> bool {
        if !call!(self, v1_2, ExceptionCheck) {
            return false;
        }
        call!(self, v1_2, ExceptionClear);
        true
    }

    /// As [`Jni::failed`]; it is kept for the profile that this function did.
    fn refused(self, function: &'static str) -> bool {
        let failed = self.failed();
        if failed {
            refusals::note(function);
        }
        failed
    }

    /// Whether a fault is ordered here.
    fn faulty(self, function: &'static str) -> bool {
        let fails = faults::fails(function);
        if fails {
            refusals::note(function);
        }
        fails
    }

    /// Defines a class in the boot loader.
    pub fn define_boot_class(self, name: &CStr, bytes: &[u8]) -> Option<jclass> {
        if self.faulty("JNI DefineClass") {
            return None;
        }
        let class =
            call!(self, v1_2, DefineClass, name.as_ptr(), std::ptr::null_mut(), bytes.as_ptr().cast(), bytes.len() as i32);
        self.answer(class)
    }

    /// A reference that outlives the callback, for as long as the VM lives.
    pub fn keep(self, object: jobject) -> Option<jobject> {
        if self.faulty("JNI NewGlobalRef") {
            return None;
        }
        let kept = call!(self, v1_2, NewGlobalRef, object);
        if kept.is_null() { None } else { Some(kept) }
    }

    /// Local references that are made meanwhile are given back at the end, those of what is called included. As many are
    /// announced as the VM lets anybody have (`MaxJNILocalCapacity`): JVMTI answers one for each class and each thread.
    pub fn in_frame<T>(self, body: impl FnOnce() -> T) -> T {
        let _frame = Frame::push(self);
        body()
    }

    /// A reference by which an object can be found as long as it is alive; null when there is no memory.
    pub fn watch(self, object: jobject) -> jobject {
        if self.faulty("JNI NewWeakGlobalRef") {
            return std::ptr::null_mut();
        }
        let reference = call!(self, v1_2, NewWeakGlobalRef, object);
        if reference.is_null() {
            refusals::note("JNI NewWeakGlobalRef");
            self.failed();
        }
        reference
    }

    /// Gives such a reference back.
    pub fn unwatch(self, reference: jobject) {
        call!(self, v1_2, DeleteWeakGlobalRef, reference);
    }

    /// The object of such a reference; `None` if it is gone, or there is no memory.
    pub fn local(self, reference: jobject) -> Option<jobject> {
        if self.faulty("JNI NewLocalRef") {
            return None;
        }
        let object = call!(self, v1_2, NewLocalRef, reference);
        if !object.is_null() {
            return Some(object);
        }
        if !self.is_gone(reference) {
            refusals::note("JNI NewLocalRef");
        }
        None
    }

    /// Whether the object of such a reference has been collected.
    pub fn is_gone(self, reference: jobject) -> bool {
        self.same(reference, std::ptr::null_mut())
    }

    /// A class of the boot loader. Outside of methods of such classes the VM asks the application's loader first.
    pub fn find_class(self, name: &CStr) -> Option<jclass> {
        if self.faulty("JNI FindClass") {
            return None;
        }
        self.answer(call!(self, v1_2, FindClass, name.as_ptr()))
    }

    fn answer(self, object: jobject) -> Option<jobject> {
        if self.failed() || object.is_null() { None } else { Some(object) }
    }

    /// An object's class.
    pub fn class_of(self, object: jobject) -> jclass {
        call!(self, v1_2, GetObjectClass, object)
    }

    /// A class's superclass; `None` for `java.lang.Object`.
    pub fn superclass(self, class: jclass) -> Option<jclass> {
        let above = call!(self, v1_2, GetSuperclass, class);
        if above.is_null() { None } else { Some(above) }
    }

    /// Gives a local reference back before the callback ends.
    pub fn forget(self, object: jobject) {
        call!(self, v1_2, DeleteLocalRef, object);
    }

    /// Whether two references are to the same object.
    pub fn same(self, a: jobject, b: jobject) -> bool {
        call!(self, v1_2, IsSameObject, a, b)
    }

    /// An instance field.
    pub fn field(self, class: jclass, name: &CStr, descriptor: &CStr) -> Option<jfieldID> {
        if self.faulty("JNI GetFieldID") {
            return None;
        }
        let field = call!(self, v1_2, GetFieldID, class, name.as_ptr(), descriptor.as_ptr());
        if self.refused("JNI GetFieldID") || field.is_null() { None } else { Some(field) }
    }

    /// As [`Jni::field`], of which a class need have none.
    pub fn field_if_any(self, class: jclass, name: &CStr, descriptor: &CStr) -> Option<jfieldID> {
        let field = call!(self, v1_2, GetFieldID, class, name.as_ptr(), descriptor.as_ptr());
        if self.failed() || field.is_null() { None } else { Some(field) }
    }

    /// A field of a class's type; `None` where it is null.
    pub fn object_field(self, object: jobject, field: jfieldID) -> Option<jobject> {
        self.answer(call!(self, v1_2, GetObjectField, object, field))
    }

    /// A field of type int.
    pub fn int_field(self, object: jobject, field: jfieldID) -> i32 {
        call!(self, v1_2, GetIntField, object, field)
    }

    /// A field of type long.
    pub fn long_field(self, object: jobject, field: jfieldID) -> i64 {
        call!(self, v1_2, GetLongField, object, field)
    }

    /// Sets a field of type long.
    pub fn set_long_field(self, object: jobject, field: jfieldID, value: i64) {
        call!(self, v1_2, SetLongField, object, field, value);
    }

    /// Runs a static method with this one object as its argument: Java code. `None`: it threw, or there is no such method.
    pub fn ask_static(self, class: jclass, name: &CStr, descriptor: &CStr, argument: jobject) -> Option<bool> {
        if self.faulty("JNI CallStaticMethod") {
            return None;
        }
        let method: jmethodID = call!(self, v1_2, GetStaticMethodID, class, name.as_ptr(), descriptor.as_ptr());
        if self.failed() || method.is_null() {
            return None;
        }
        let arguments = [jvalue { l: argument }];
        let answer = if descriptor.to_bytes().ends_with(b"V") {
            call!(self, v1_2, CallStaticVoidMethodA, class, method, arguments.as_ptr());
            JNI_TRUE
        } else {
            call!(self, v1_2, CallStaticBooleanMethodA, class, method, arguments.as_ptr())
        };
        if self.failed() { None } else { Some(answer) }
    }

    /// Sets a static field of type boolean.
    pub fn set_static_boolean(self, class: jclass, name: &CStr, value: bool) -> Option<()> {
        if self.faulty("JNI SetStaticBooleanField") {
            return None;
        }
        let field = self.static_field(class, name, c"Z")?;
        call!(self, v1_2, SetStaticBooleanField, class, field, value);
        Some(())
    }

    fn static_field(self, class: jclass, name: &CStr, descriptor: &CStr) -> Option<jfieldID> {
        let field = call!(self, v1_2, GetStaticFieldID, class, name.as_ptr(), descriptor.as_ptr());
        if self.failed() || field.is_null() { None } else { Some(field) }
    }

    /// What a static field of this name and descriptor has: an array.
    pub fn static_array(self, class: jclass, (name, descriptor): (&CStr, &CStr)) -> Option<jobjectArray> {
        if class.is_null() || self.faulty("JNI GetStaticObjectField") {
            return None;
        }
        let field = self.static_field(class, name, descriptor)?;
        let array = call!(self, v1_2, GetStaticObjectField, class, field);
        if array.is_null() { None } else { Some(array) }
    }

    /// What an array of objects has at that place, if it has anything there.
    pub fn element(self, array: jobjectArray, at: u32) -> Option<jobject> {
        let at = i32::try_from(at).ok().filter(|&at| at < call!(self, v1_2, GetArrayLength, array))?;
        let object = call!(self, v1_2, GetObjectArrayElement, array, at);
        if object.is_null() { None } else { Some(object) }
    }

    /// A new string.
    pub fn new_string(self, text: &CStr) -> Option<jstring> {
        if self.faulty("JNI NewStringUTF") {
            return None;
        }
        self.answer(call!(self, v1_2, NewStringUTF, text.as_ptr()))
    }

    /// Binds a native method to a function of the method's type. Answers whether the class has such a method.
    pub fn bind_native(self, class: jclass, name: &CStr, descriptor: &CStr, function: *mut c_void) -> bool {
        if self.faulty("JNI RegisterNatives") {
            return false;
        }
        let method =
            JNINativeMethod { name: name.as_ptr().cast_mut(), signature: descriptor.as_ptr().cast_mut(), fnPtr: function };
        let code = call!(self, v1_2, RegisterNatives, class, &method, 1);
        !self.failed() && code == JNI_OK
    }

    /// Runs a static method `()V`: Java code. Answers whether it returned normally.
    pub fn run_static(self, class: jclass, name: &CStr) -> bool {
        if self.faulty("JNI CallStaticVoidMethod") {
            return false;
        }
        let method: jmethodID = call!(self, v1_2, GetStaticMethodID, class, name.as_ptr(), c"()V".as_ptr());
        if self.failed() || method.is_null() {
            return false;
        }
        call!(self, v1_2, CallStaticVoidMethodA, class, method, std::ptr::null());
        !self.failed()
    }

    /// The bytes of a `byte[]` from `offset`; `None` when they are not all there.
    pub fn bytes(self, array: jbyteArray, offset: i32, length: i32) -> Option<Vec<u8>> {
        if self.faulty("JNI GetByteArrayRegion") {
            return None;
        }
        let mut bytes = vec![0u8; usize::try_from(length).ok()?];
        call!(self, v1_2, GetByteArrayRegion, array, offset, length, bytes.as_mut_ptr().cast());
        if self.refused("JNI GetByteArrayRegion") { None } else { Some(bytes) }
    }

    /// A new `byte[]`.
    pub fn byte_array(self, bytes: &[u8]) -> Option<jbyteArray> {
        if self.faulty("JNI NewByteArray") {
            return None;
        }
        let length = i32::try_from(bytes.len()).ok()?;
        let array = self.answer(call!(self, v1_2, NewByteArray, length))?;
        call!(self, v1_2, SetByteArrayRegion, array, 0, length, bytes.as_ptr().cast());
        if self.refused("JNI SetByteArrayRegion") { None } else { Some(array) }
    }

    /// A string's characters; half a surrogate pair is replaced.
    pub fn string(self, string: jstring) -> Option<String> {
        if self.faulty("JNI GetStringUTFChars") {
            return None;
        }
        if string.is_null() {
            return None;
        }
        let chars = call!(self, v1_2, GetStringUTFChars, string, std::ptr::null_mut());
        if chars.is_null() {
            self.failed();
            return None;
        }
        // SAFETY: GetStringUTFChars answered a terminated string, released only after the copy.
        let copy = mutf8::decode_lossy(unsafe { CStr::from_ptr(chars) }.to_bytes());
        call!(self, v1_2, ReleaseStringUTFChars, string, chars);
        Some(copy)
    }
}
