//! The JDK's run-time image (`lib/modules`), read with the JDK's own library for it, which the VM has loaded itself.

use libc::{RTLD_LAZY, dlclose, dlopen, dlsym};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fs::File;
use std::mem::transmute;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;

/// Feature releases whose library has the functions below as they are declared here (jimage.hpp), and whose image's index is as
/// read here (imageFile.hpp).
const KNOWN: RangeInclusive<u32> = 17..=25;
const MODULE: &CStr = c"java.base";
/// The functions take a version and do not look at it.
const VERSION: &CStr = c"9.0";
/// No class file is larger; a size beyond is none that the library means.
const LARGEST: i64 = 16 << 20;

/// The first word of an image on machines with its order of bytes.
const MAGIC: u32 = 0xCAFE_DADA;
/// The header: words for magic, version, flags, number of resources, length of the tables, and two more.
const HEADER: usize = 28;
/// Where the length of the tables is in it. There are two, of a word for each entry, between the header and the locations.
const TABLE_LENGTH: usize = 16;
/// Attributes of a location: the end, the size if it is compressed, and the size if not.
const END: u8 = 0;
const COMPRESSED: u8 = 6;
const UNCOMPRESSED: u8 = 7;

type Open = unsafe extern "C" fn(*const c_char, *mut i32) -> *mut c_void;
type Find = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_char, *mut i64) -> i64;
type Get = unsafe extern "C" fn(*mut c_void, i64, *mut c_char, i64) -> i64;

/// An image. It stays open, as it does for the VM.
pub struct Image {
    image: *mut c_void,
    find: Find,
    get: Get,
    /// The same image, and where its locations begin.
    file: File,
    locations: u64,
}

// SAFETY: the library reads a mapping that never changes, and its functions may be called from any thread for what is not
// compressed; the VM's threads do so.
unsafe impl Send for Image {}

impl Image {
    /// The image of the JDK at `home`, of this feature release; `None` where it has none, as when it was built but not linked. To
    /// be called while the VM loads no classes: when it loads its agents.
    pub fn open(home: &str, feature: u32) -> Option<Image> {
        if !KNOWN.contains(&feature) {
            return None;
        }
        let path = format!("{home}/lib/modules");
        let file = File::open(&path).ok()?;
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0).ok()?;
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        if word(0) != MAGIC {
            return None;
        }
        let locations = HEADER as u64 + 8 * u64::from(word(TABLE_LENGTH));
        let library = CString::new(format!("{home}/lib/libjimage.so")).ok()?;
        let modules = CString::new(path).ok()?;
        // SAFETY: the strings are terminated; the functions are declared as in jimage.hpp of the releases in KNOWN; the library
        // stays loaded unless nothing of it is used.
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
            (!image.is_null()).then_some(Image { image, find, get, file, locations })
        }
    }

    /// The class file of a class of java.base, given by its internal name. `None`, too, for one that is compressed (jlink
    /// --compress): at the first of those the library prepares itself without a lock (imageDecompressor.cpp,
    /// image_decompressor_init), and must not do so for two threads.
    pub fn class(&self, name: &str) -> Option<Vec<u8>> {
        let file = CString::new(format!("{name}.class")).ok()?;
        let mut size = 0;
        // SAFETY: the image is open, and the strings are terminated.
        let at = unsafe { (self.find)(self.image, MODULE.as_ptr(), VERSION.as_ptr(), file.as_ptr(), &mut size) };
        if at == 0 || !(1..=LARGEST).contains(&size) || !self.is_stored(at, size) {
            return None;
        }
        let mut bytes = vec![0; size as usize];
        // SAFETY: the image is open, and the buffer has the size that is said.
        let got = unsafe { (self.get)(self.image, at, bytes.as_mut_ptr().cast(), size) };
        (got == size).then_some(bytes)
    }

    /// Whether the image has a resource as it is, of the size that the library says.
    fn is_stored(&self, location: i64, size: i64) -> bool {
        // A byte and at most eight for each attribute.
        let mut attributes = [END; 8 * 9];
        let Ok(location) = u64::try_from(location) else { return false };
        let Ok(read) = self.file.read_at(&mut attributes, self.locations + location) else { return false };
        sizes(&attributes[..read]) == Some((0, size as u64))
    }
}

/// The compressed and the uncompressed size in a location's attributes. Each begins with a byte of its kind and, in the low bits,
/// the number of bytes of its value less one; the value follows, high bytes first.
fn sizes(mut attributes: &[u8]) -> Option<(u64, u64)> {
    let (mut compressed, mut uncompressed) = (0, 0);
    loop {
        let (&head, rest) = attributes.split_first()?;
        let kind = head >> 3;
        if kind == END {
            return Some((compressed, uncompressed));
        }
        let (value, rest) = rest.split_at_checked(usize::from(head & 7) + 1)?;
        let value = value.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
        match kind {
            COMPRESSED => compressed = value,
            UNCOMPRESSED => uncompressed = value,
            _ => {}
        }
        attributes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_locations() {
        let stored = [1 << 3, 5, 5 << 3 | 2, 1, 2, 3, UNCOMPRESSED << 3 | 1, 0x12, 0x34, END];
        assert_eq!(sizes(&stored), Some((0, 0x1234)));
        let packed = [COMPRESSED << 3 | 1, 1, 0, UNCOMPRESSED << 3 | 1, 2, 0, END];
        assert_eq!(sizes(&packed), Some((0x100, 0x200)));
        assert_eq!(sizes(&packed[..4]), None);
        assert_eq!(sizes(&[]), None);
    }
}
