//! HotSpot's description of its own data for debuggers (`gHotSpotVMStructs`, vmStructs.cpp), exported by libjvm.

use crate::vm::Vm;
use std::ffi::{CStr, c_char, c_void};

/// libjvm, however it was loaded.
pub struct Library(*mut c_void);

impl Library {
    /// The library that a VM's functions are in.
    pub fn of(vm: Vm) -> Option<Library> {
        // SAFETY: dladdr looks an address up and answers the terminated name of its library, which is loaded: RTLD_NOLOAD only
        // finds the handle.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(vm.code(), &mut info) == 0 || info.dli_fname.is_null() {
                return None;
            }
            let handle = libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if handle.is_null() { None } else { Some(Library(handle)) }
        }
    }

    /// The address of an exported function.
    pub fn function(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: dlsym looks a name up in a library that is loaded.
        let at = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if at.is_null() { None } else { Some(at) }
    }

    /// The value of an exported variable of pointer size.
    fn variable<T: Copy>(&self, name: &CStr) -> Option<T> {
        // SAFETY: the exported variables asked for are pointers or uint64_t (vmStructs.hpp).
        unsafe {
            let at = libc::dlsym(self.0, name.as_ptr());
            if at.is_null() { None } else { Some(*at.cast::<T>()) }
        }
    }

    /// sizeof a VM type, from gHotSpotVMTypes.
    pub fn type_size(&self, wanted: &str) -> Option<usize> {
        let entries: *const u8 = self.variable(c"gHotSpotVMTypes")?;
        let stride: u64 = self.variable(c"gHotSpotVMTypeEntryArrayStride")?;
        let name: u64 = self.variable(c"gHotSpotVMTypeEntryTypeNameOffset")?;
        let size: u64 = self.variable(c"gHotSpotVMTypeEntrySizeOffset")?;
        let mut entry = entries;
        loop {
            // SAFETY: entries of this stride up to one without a name (vmStructs.hpp, VMTypeEntry).
            unsafe {
                let at = *entry.add(name as usize).cast::<*const c_char>();
                if at.is_null() {
                    return None;
                }
                if CStr::from_ptr(at).to_bytes() == wanted.as_bytes() {
                    return Some(*entry.add(size as usize).cast::<u64>() as usize);
                }
                entry = entry.add(stride as usize);
            }
        }
    }
}

/// The VM's description of its fields (vmStructs.hpp, VMStructEntry).
pub struct Structs {
    entries: *const u8,
    stride: usize,
    type_name: usize,
    field_name: usize,
    offset: usize,
    address: usize,
}

/// A field of one of the VM's types.
pub struct Field {
    /// Of an instance field.
    pub offset: usize,
    /// Of a static field.
    pub address: *const c_void,
}

impl Structs {
    /// `None`: the VM does not describe itself.
    pub fn open(library: &Library) -> Option<Structs> {
        let number = |name| library.variable::<u64>(name).map(|n| n as usize);
        Some(Structs {
            entries: library.variable(c"gHotSpotVMStructs")?,
            stride: number(c"gHotSpotVMStructEntryArrayStride")?,
            type_name: number(c"gHotSpotVMStructEntryTypeNameOffset")?,
            field_name: number(c"gHotSpotVMStructEntryFieldNameOffset")?,
            offset: number(c"gHotSpotVMStructEntryOffsetOffset")?,
            address: number(c"gHotSpotVMStructEntryAddressOffset")?,
        })
    }

    /// A field, by the names of its type and its own.
    pub fn field(&self, type_name: &str, field_name: &str) -> Option<Field> {
        let mut entry = self.entries;
        loop {
            // SAFETY: entries of this stride, with these fields, up to one without a type name.
            unsafe {
                let of = *entry.add(self.type_name).cast::<*const c_char>();
                if of.is_null() {
                    return None;
                }
                let name = *entry.add(self.field_name).cast::<*const c_char>();
                if CStr::from_ptr(of).to_bytes() == type_name.as_bytes()
                    && !name.is_null()
                    && CStr::from_ptr(name).to_bytes() == field_name.as_bytes()
                {
                    return Some(Field {
                        offset: *entry.add(self.offset).cast::<u64>() as usize,
                        address: *entry.add(self.address).cast::<*const c_void>(),
                    });
                }
                entry = entry.add(self.stride);
            }
        }
    }
}
