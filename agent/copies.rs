//! Other copies of this library in the process. Each would weave what the other has woven, and call natives that are registered
//! for one of them.

use crate::natives::Java_java_lang_CProfRuntime_grow0 as grow0;
use std::ffi::{CStr, CString, c_int, c_void};

/// A copy exports this.
const MARK: &CStr = c"Java_java_lang_CProfRuntime_grow0";

/// The path of another copy that is loaded.
pub fn other() -> Option<String> {
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: `add` gets the address passed here, of a variable that outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut names).cast()) };
    let own = grow0 as *const () as *mut c_void;
    let is_copy = |name: &CString| {
        // SAFETY: RTLD_NOLOAD loads nothing: it finds the library if it is there still. Its handle is asked for a symbol and
        // given back.
        unsafe {
            let library = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                return false;
            }
            let mark = libc::dlsym(library, MARK.as_ptr());
            libc::dlclose(library);
            !mark.is_null() && mark != own
        }
    };
    names.into_iter().find(is_copy).map(|name| name.to_string_lossy().into_owned())
}

/// Called by the dynamic linker for each loaded library; other than 0 would end that. It holds a lock meanwhile, under which
/// nothing can be opened.
unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _size: libc::size_t, names: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr(3): the linker's record, whose name is a terminated string, and what `other` passed.
    let (name, names) = unsafe { (CStr::from_ptr((*info).dlpi_name), &mut *names.cast::<Vec<CString>>()) };
    // The program itself has none.
    if !name.is_empty() {
        names.push(name.to_owned());
    }
    0
}
