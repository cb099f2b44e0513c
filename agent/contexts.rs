//! Where a thread's context is: in fields that were added to `java.lang.Thread` at launch, or, in a running JVM, in a table of
//! slots.

use crate::faults;
use crate::jni::Jni;
use cprof_instrument::abi::{self, slot};
use jni_sys::{jfieldID, jobject};
use std::ffi::CString;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// One word of a context.
#[derive(Debug, Clone, Copy)]
pub enum Word {
    /// The current node's address.
    Node,
    /// The address of the leased tree's root.
    Tree,
    /// What the simulation of method caches keeps.
    Cache,
}

/// Where contexts are.
#[derive(Clone, Copy)]
pub enum Contexts {
    /// In fields of `Thread`.
    Fields {
        /// The arena's address.
        origin: u64,
    },
    /// In a table.
    Slots(&'static Slots),
}

impl Contexts {
    /// The address that nodes' handles are counted from.
    pub fn origin(&self) -> u64 {
        match self {
            Contexts::Fields { origin } => *origin,
            Contexts::Slots(_) => 0,
        }
    }

    /// What is to be added to what a context holds: of a node, the handle.
    fn shift(&self, word: Word) -> u64 {
        match word {
            Word::Node => self.origin(),
            Word::Tree | Word::Cache => 0,
        }
    }

    /// A word of a thread's context; when it has none 0, or the address of the early node. The thread may change it meanwhile,
    /// unless it is stopped.
    pub fn get(&self, jni: Jni, thread: jobject, word: Word) -> Option<u64> {
        match self {
            Contexts::Fields { .. } => field(jni, thread, name(word)).map(|value| self.shift(word).wrapping_add(value as u64)),
            Contexts::Slots(slots) => {
                let id = field(jni, thread, slot::KEY)? as u64;
                Some(slots.find(id).map_or(0, |at| slots.word(at, word).load(Ordering::Acquire)))
            }
        }
    }

    /// Sets a word of the context of the current thread, or of one that is stopped.
    pub fn set(&self, jni: Jni, thread: jobject, word: Word, value: u64) -> Option<()> {
        match self {
            Contexts::Fields { .. } => {
                let field = field_id(jni, thread, name(word))?;
                jni.set_long_field(thread, field, value.wrapping_sub(self.shift(word)) as i64);
            }
            Contexts::Slots(slots) => {
                let id = field(jni, thread, slot::KEY)? as u64;
                let at = slots.find(id).or_else(|| slots.claim(id))?;
                slots.word(at, word).store(value, Ordering::Release);
            }
        }
        Some(())
    }
}

fn name(word: Word) -> &'static str {
    match word {
        Word::Node => abi::THREAD_NODE,
        Word::Tree => abi::THREAD_TREE,
        Word::Cache => abi::THREAD_CACHE,
    }
}

/// A field of `java.lang.Thread`.
fn field(jni: Jni, thread: jobject, name: &str) -> Option<i64> {
    Some(jni.long_field(thread, field_id(jni, thread, name)?))
}

/// Found in `java.lang.Thread`, and that through a thread: for a class's name the JVM would ask the application's class loader,
/// and asked for the field of a class it initialises that class (JNI, GetFieldID), which a thread that is stopped may be doing
/// with one of the program's.
fn field_id(jni: Jni, thread: jobject, name: &str) -> Option<jfieldID> {
    let mut class = jni.class_of(thread);
    let mut above = jni.superclass(class)?;
    while let Some(next) = jni.superclass(above) {
        jni.forget(class);
        (class, above) = (above, next);
    }
    let field = jni.field(class, &CString::new(name).ok()?, c"J");
    jni.forget(above);
    jni.forget(class);
    field
}

/// The table, shaped as `cprof_instrument::abi::slot` says. Pages that no thread has used take no memory.
pub struct Slots(NonNull<u8>);

// SAFETY: the mapping lives as long as the process, and its words are only touched through atomics here.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    /// An empty table.
    ///
    /// # Errors
    /// No address space.
    pub fn new() -> io::Result<Slots> {
        faults::io("slots mmap")?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), slot::TABLE as usize, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Slots(NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?))
    }

    /// Empties the table, for an arena at this address. Nothing counts meanwhile.
    pub fn begin(&self, arena: u64) {
        // SAFETY: the whole of our own mapping, which nobody reads meanwhile; it reads as zeros afterwards (madvise(2), private
        // anonymous memory). Pages that are locked (mlockall(2)) cannot be given back.
        unsafe {
            if libc::madvise(self.0.as_ptr().cast(), slot::TABLE as usize, libc::MADV_DONTNEED) != 0 {
                self.0.write_bytes(0, slot::TABLE as usize);
            }
        }
        // A free slot with id 0 would be taken for that of a thread that has no id yet.
        self.at(0).store(u64::MAX, Ordering::Release);
        self.at(slot::NONE * slot::SIZE + slot::NODE).store(arena + abi::header::EARLY, Ordering::Release);
    }

    /// The address of its first byte.
    pub fn base(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    fn at(&self, at: u64) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at < slot::TABLE, "byte {at} is not in the table of contexts");
        // SAFETY: aligned and inside the mapping; atomics may race with the runtime's accesses.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(at as usize).cast()) }
    }

    fn word(&self, slot: u64, word: Word) -> &AtomicU64 {
        self.at(slot
            + match word {
                Word::Node => slot::NODE,
                Word::Tree => slot::TREE,
                Word::Cache => slot::CACHE,
            })
    }

    /// The places where a thread's slot may be.
    fn places(id: u64) -> impl Iterator<Item = u64> {
        (0..slot::WINDOW).map(move |i| (id.wrapping_add(i * slot::STRIDE) & (slot::COUNT - 1)) * slot::SIZE)
    }

    fn find(&self, id: u64) -> Option<u64> {
        if id == 0 {
            return None;
        }
        Slots::places(id).find(|&at| self.at(at).load(Ordering::Acquire) == id)
    }

    fn claim(&self, id: u64) -> Option<u64> {
        if id == 0 {
            return None;
        }
        Slots::places(id).find(|&at| self.at(at).compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_share_a_place_get_slots_a_step_apart() {
        let slots = Slots::new().unwrap();
        slots.begin(0x1000);
        let first = slots.claim(5).unwrap();
        let second = slots.claim(5 + slot::COUNT).unwrap();
        assert_eq!((first, second), (5 * slot::SIZE, (5 + slot::STRIDE) * slot::SIZE));
        assert_eq!((slots.find(5), slots.find(5 + slot::COUNT), slots.find(5 + slot::STRIDE)), (Some(first), Some(second), None));
        // The first thread ends; the other keeps its slot.
        slots.at(first).store(0, Ordering::Release);
        assert_eq!(slots.find(5 + slot::COUNT), Some(second));
        assert_eq!(slots.claim(slot::COUNT), Some(slot::STRIDE * slot::SIZE), "slot 0 is nobody's");
        assert_eq!((slots.find(0), slots.claim(0)), (None, None));
        slots.begin(0x1000);
        assert_eq!(slots.find(5 + slot::COUNT), None);
    }

    #[test]
    fn a_pool_of_threads_leaves_room_for_those_with_ids_a_million_further() {
        let slots = Slots::new().unwrap();
        slots.begin(0x1000);
        let pool = 100..1100;
        assert!(pool.clone().all(|id| slots.claim(id).is_some()));
        assert!(pool.map(|id| slots.claim(id + slot::COUNT)).all(|slot| slot.is_some()));
    }

    #[test]
    fn a_full_window_is_no_slot() {
        let slots = Slots::new().unwrap();
        slots.begin(0x1000);
        for i in 0..slot::WINDOW {
            assert!(slots.claim(7 + i * slot::COUNT).is_some());
        }
        assert_eq!(slots.claim(7 + slot::WINDOW * slot::COUNT), None);
    }
}
