//! Classes and their methods.

use super::{Error, Jvmti, MethodId, RawEnv};
use crate::faults;
use jni_sys::{jclass, jint, jlong, jobject};
use std::ffi::{CStr, c_char};

impl Jvmti {
    /// The class's signature, as `Ljava/lang/String;`.
    pub fn class_signature(self, class: jclass) -> Result<String, Error> {
        let mut signature: *mut c_char = std::ptr::null_mut();
        let none: *mut *mut c_char = std::ptr::null_mut();
        call!(self, 48, "GetClassSignature", (jclass, *mut *mut c_char, *mut *mut c_char), class, &mut signature, none)?;
        Ok(self.take_name(signature))
    }

    /// The internal name of a class; none of an array or a primitive type's.
    pub fn class_name(self, class: jclass) -> Option<String> {
        let signature = self.class_signature(class).ok()?;
        Some(signature.strip_prefix('L')?.strip_suffix(';')?.to_owned())
    }

    /// The class's defining loader; null for the boot loader.
    pub fn class_loader(self, class: jclass) -> Result<jobject, Error> {
        let mut loader: jobject = std::ptr::null_mut();
        call!(self, 57, "GetClassLoader", (jclass, *mut jobject), class, &mut loader)?;
        Ok(loader)
    }

    /// Whether a package, by its internal name, is in a module of the boot loader's.
    pub fn has_boot_package(self, package: &CStr) -> bool {
        let mut module: jobject = std::ptr::null_mut();
        let boot: jobject = std::ptr::null_mut();
        let found =
            call!(self, 40, "GetNamedModule", (jobject, *const c_char, *mut jobject), boot, package.as_ptr(), &mut module);
        found.is_ok() && !module.is_null()
    }

    /// All classes that are loaded now, arrays included.
    pub fn loaded_classes(self) -> Result<Vec<jclass>, Error> {
        let mut count: jint = 0;
        let mut classes: *mut jclass = std::ptr::null_mut();
        call!(self, 78, "GetLoadedClasses", (*mut jint, *mut *mut jclass), &mut count, &mut classes)?;
        Ok(self.take_array(classes, count))
    }

    /// Whether a class is linked, as far as is known: none of its code runs before.
    pub fn is_linked(self, class: jclass) -> bool {
        const VERIFIED: jint = 1;
        self.class_status(class).is_none_or(|status| status & VERIFIED != 0)
    }

    /// Whether a class is initialised.
    pub fn is_initialised(self, class: jclass) -> bool {
        const INITIALIZED: jint = 4;
        self.class_status(class).is_some_and(|status| status & INITIALIZED != 0)
    }

    /// Whether a class's initialiser has failed.
    pub fn has_failed(self, class: jclass) -> bool {
        const ERROR: jint = 8;
        self.class_status(class).is_some_and(|status| status & ERROR != 0)
    }

    fn class_status(self, class: jclass) -> Option<jint> {
        let mut status: jint = 0;
        call!(self, 49, "GetClassStatus", (jclass, *mut jint), class, &mut status).ok()?;
        Some(status)
    }

    /// Whether a class may be retransformed.
    pub fn is_modifiable(self, class: jclass) -> bool {
        let mut answer: u8 = 0;
        call!(self, 45, "IsModifiableClass", (jclass, *mut u8), class, &mut answer).is_ok() && answer != 0
    }

    /// Sends classes through the class file load hooks once more; all or none.
    pub fn retransform(self, classes: &[jclass]) -> Result<(), Error> {
        call!(self, 152, "RetransformClasses", (jint, *const jclass), classes.len() as jint, classes.as_ptr())
    }

    /// Replaces classes by others of the same shape; all or none.
    pub fn redefine(self, classes: &[(jclass, Vec<u8>)]) -> Result<(), Error> {
        /// `jvmtiClassDefinition`.
        #[repr(C)]
        struct Definition {
            class: jclass,
            length: jint,
            bytes: *const u8,
        }
        let definitions: Vec<Definition> = classes
            .iter()
            .map(|(class, bytes)| Definition { class: *class, length: bytes.len() as jint, bytes: bytes.as_ptr() })
            .collect();
        call!(self, 87, "RedefineClasses", (jint, *const Definition), definitions.len() as jint, definitions.as_ptr())
    }

    /// The methods that a class declares; an error before it is prepared.
    pub fn class_methods(self, class: jclass) -> Result<Vec<MethodId>, Error> {
        let mut count: jint = 0;
        let mut methods: *mut MethodId = std::ptr::null_mut();
        call!(self, 52, "GetClassMethods", (jclass, *mut jint, *mut *mut MethodId), class, &mut count, &mut methods)?;
        Ok(self.take_array(methods, count))
    }

    /// The size of a method's frame in words; an error for a native method.
    pub fn max_locals(self, method: MethodId) -> Result<jint, Error> {
        let mut locals: jint = 0;
        call!(self, 68, "GetMaxLocals", (MethodId, *mut jint), method, &mut locals)?;
        Ok(locals)
    }

    /// Whether a method's class has been changed since, so that it is no longer called.
    pub fn is_obsolete(self, method: MethodId) -> bool {
        let mut answer: u8 = 0;
        call!(self, 91, "IsMethodObsolete", (MethodId, *mut u8), method, &mut answer).is_ok() && answer != 0
    }

    /// How long a method's code is now, in bytes.
    pub fn code_length(self, method: MethodId) -> Option<u64> {
        let (mut start, mut end): (jlong, jlong) = (-1, -1);
        call!(self, 71, "GetMethodLocation", (MethodId, *mut jlong, *mut jlong), method, &mut start, &mut end).ok()?;
        u64::try_from(end).ok().map(|last| last + 1)
    }

    /// A method's code, as in a class file whose constant pool is its class's.
    pub fn bytecodes(self, method: MethodId) -> Result<Vec<u8>, Error> {
        let mut length: jint = 0;
        let mut code: *mut u8 = std::ptr::null_mut();
        call!(self, 75, "GetBytecodes", (MethodId, *mut jint, *mut *mut u8), method, &mut length, &mut code)?;
        Ok(self.take_array(code, length))
    }

    /// A class's constant pool, as in a class file: the number of constants first.
    pub fn constant_pool(self, class: jclass) -> Result<Vec<u8>, Error> {
        let (mut count, mut length): (jint, jint) = (0, 0);
        let mut bytes: *mut u8 = std::ptr::null_mut();
        call!(
            self,
            146,
            "GetConstantPool",
            (jclass, *mut jint, *mut jint, *mut *mut u8),
            class,
            &mut count,
            &mut length,
            &mut bytes
        )?;
        Ok([&(count as u16).to_be_bytes()[..], &self.take_array(bytes, length)].concat())
    }

    /// A method's name and descriptor.
    pub fn method_name(self, method: MethodId) -> Result<(String, String), Error> {
        let mut name: *mut c_char = std::ptr::null_mut();
        let mut descriptor: *mut c_char = std::ptr::null_mut();
        let none: *mut *mut c_char = std::ptr::null_mut();
        call!(
            self,
            64,
            "GetMethodName",
            (MethodId, *mut *mut c_char, *mut *mut c_char, *mut *mut c_char),
            method,
            &mut name,
            &mut descriptor,
            none
        )?;
        Ok((self.take_name(name), self.take_name(descriptor)))
    }

    /// The class that declares a method.
    pub fn declaring_class(self, method: MethodId) -> Result<jclass, Error> {
        let mut class: jclass = std::ptr::null_mut();
        call!(self, 65, "GetMethodDeclaringClass", (MethodId, *mut jclass), method, &mut class)?;
        Ok(class)
    }
}
