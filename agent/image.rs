//! The JDK's run-time image (`lib/modules`), read with the JDK's own library for it, which the VM has loaded itself.

use libc::{RTLD_LAZY, dlclose, dlopen, dlsym};
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::transmute;
use std::ops::RangeInclusive;

/// Feature releases whose library has the functions below as they are declared here (jimage.hpp).
const KNOWN: RangeInclusive<u32> = 17..=25;
const MODULE: &CStr = c"java.base";
/// A class that is in every image.
const FIRST: &str = "java/lang/Object";
/// The functions take a version and do not look at it.
const VERSION: &CStr = c"9.0";
/// No class file is larger; a size beyond is none that the library means.
const LARGEST: i64 = 16 << 20;

type Open = unsafe extern "C" fn(*const c_char, *mut i32) -> *mut c_void;
type Find = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_char, *mut i64) -> i64;
type Get = unsafe extern "C" fn(*mut c_void, i64, *mut c_char, i64) -> i64;

/// An image. It stays open, as it does for the VM.
pub struct Image {
    image: *mut c_void,
    find: Find,
    get: Get,
}

// SAFETY: the library reads a mapping that never changes, and its functions may be called from any thread once it is prepared (`open`); the VM's
// threads do so.
unsafe impl Send for Image {}

impl Image {
    /// The image of the JDK at `home`, of this feature release; `None` where it has none, as when it was built but not linked. To be called while the
    /// VM loads no classes: when it loads its agents.
    pub fn open(home: &str, feature: u32) -> Option<Image> {
        if !KNOWN.contains(&feature) {
            return None;
        }
        let library = CString::new(format!("{home}/lib/libjimage.so")).ok()?;
        let modules = CString::new(format!("{home}/lib/modules")).ok()?;
        // SAFETY: the strings are terminated; the functions are declared as in jimage.hpp of the releases in KNOWN; the library stays loaded
        // unless nothing of it is used.
        unsafe {
            let library = dlopen(library.as_ptr(), RTLD_LAZY);
            if library.is_null() {
                return None;
            }
            let function = |name: &CStr| Some(dlsym(library, name.as_ptr())).filter(|f| !f.is_null());
            let functions =
                || Some((function(c"JIMAGE_Open")?, function(c"JIMAGE_FindResource")?, function(c"JIMAGE_GetResource")?));
            let Some((open, find, get)) = functions() else {
                dlclose(library);
                return None;
            };
            let open = transmute::<*mut c_void, Open>(open);
            let (find, get) = (transmute::<*mut c_void, Find>(find), transmute::<*mut c_void, Get>(get));
            let mut error = 0;
            let image = open(modules.as_ptr(), &mut error);
            if image.is_null() {
                return None;
            }
            let image = Image { image, find, get };
            // The first class that is compressed (jlink --compress) has the library prepare itself for that, which only one thread at a time may do
            // (imageDecompressor.cpp, image_decompressor_init): this one, which the VM waits for.
            image.class(FIRST).map(|_| image)
        }
    }

    /// The class file of a class of java.base, given by its internal name.
    pub fn class(&self, name: &str) -> Option<Vec<u8>> {
        let file = CString::new(format!("{name}.class")).ok()?;
        let mut size = 0;
        // SAFETY: the image is open, the strings are terminated, and the buffer has the size that is said.
        unsafe {
            let at = (self.find)(self.image, MODULE.as_ptr(), VERSION.as_ptr(), file.as_ptr(), &mut size);
            if at == 0 || !(1..=LARGEST).contains(&size) {
                return None;
            }
            let mut bytes = vec![0; size as usize];
            ((self.get)(self.image, at, bytes.as_mut_ptr().cast(), size) == size).then_some(bytes)
        }
    }
}
