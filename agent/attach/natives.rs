//! Native methods of the JDK through which hidden classes pass, bound to the agent's functions while it is in a running JVM.

use crate::hidden;
use crate::jni::Jni;
use jni_sys::{JNIEnv, jclass, jobject, jstring};
use std::ffi::{CStr, c_void};

const DEFINE: (&CStr, &CStr) = (
    c"defineClass0",
    c"(Ljava/lang/ClassLoader;Ljava/lang/Class;Ljava/lang/String;[BIILjava/security/ProtectionDomain;ZILjava/lang/Object;)Ljava/lang/Class;",
);
const ARCHIVE: &CStr = c"java/lang/invoke/LambdaProxyClassArchive";
const FIND: (&CStr, &CStr) = (
    c"findFromArchive",
    c"(Ljava/lang/Class;Ljava/lang/String;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MemberName;Ljava/lang/invoke/MethodType;)Ljava/lang/Class;",
);
const FIND_SYMBOL: &CStr = c"Java_java_lang_invoke_LambdaProxyClassArchive_findFromArchive";

/// Binds them to the agent's functions, or back to the JDK's. Answers whether it could.
///
/// Called from Java code of the boot loader: RegisterNatives announces on standard output what any other code binds
/// (jni.cpp).
pub fn bind(jni: Jni, class_loader: jclass, ours: bool) -> bool {
    let Some(define) = original(hidden::SYMBOL) else { return false };
    hidden::stands_for(define);
    let define = if ours { hidden::wrapper() } else { define };
    // Lambdas from the class data archive do not pass defineClass0; without an answer from it they are made anew.
    let archive = jni.find_class(ARCHIVE).zip(original(FIND_SYMBOL));
    let find = archive.is_none_or(|(class, find)| {
        let find = if ours { find_from_archive as *mut c_void } else { find };
        jni.bind_native(class, FIND.0, FIND.1, find)
    });
    jni.bind_native(class_loader, DEFINE.0, DEFINE.1, define) && find
}

/// A function of libjava, which is in every JVM.
fn original(symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: RTLD_NOLOAD only finds the handle of a library that is loaded, under its soname; dlsym looks up a name in it.
    unsafe {
        let library = libc::dlopen(c"libjava.so".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() {
            return None;
        }
        let address = libc::dlsym(library, symbol.as_ptr());
        libc::dlclose(library);
        if address.is_null() { None } else { Some(address) }
    }
}

/// `LambdaProxyClassArchive.findFromArchive`: there is none.
#[allow(clippy::too_many_arguments)]
extern "C" fn find_from_archive(
    _env: *mut JNIEnv,
    _class: jclass,
    _caller: jclass,
    _name: jstring,
    _factory: jobject,
    _interface: jobject,
    _implementation: jobject,
    _dynamic: jobject,
) -> jclass {
    std::ptr::null_mut()
}
