//! The end of memory. Rust ends a process in which an allocation fails; here that would be the program's. So some memory is set
//! aside for the day when the process has none: it lasts for what is being done, and nothing that can wait is begun any more.

use crate::faults;
use crate::heap::{self, Own};
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Bytes set aside: more than all that is kept of the classes of a large server, and enough to end the writing of a small
/// program's profile; pages that are not used take none. Before a profile is begun it is asked whether there is memory for all of
/// it ([`has`]); when that vanishes in the midst of a larger one, this does not last, and the process ends.
const SPARE: usize = 64 << 20;
/// What there is to say then.
pub const NONE: &str = "the process has no memory left";
/// A process that cannot have this much more has no memory left.
const LITTLE: usize = 1 << 20;

#[global_allocator]
static HEAP: Heap = Heap { spare: AtomicPtr::new(null_mut()), taken: AtomicU64::new(0), short: AtomicBool::new(false) };

/// The agent's heap, and what was set aside.
struct Heap {
    /// Null until the agent is loaded.
    spare: AtomicPtr<u8>,
    /// How many allocations are in the spare memory, in the upper half, and how many of its bytes are gone. The last one to go
    /// frees all.
    taken: AtomicU64,
    /// The kernel had no memory.
    short: AtomicBool,
}

/// Sets the memory aside, once.
///
/// # Errors
/// There is none.
pub fn set_aside() -> std::io::Result<()> {
    if !HEAP.spare.load(Ordering::Acquire).is_null() {
        return Ok(());
    }
    faults::io("memory mmap")?;
    let base = heap::map(SPARE);
    if base.is_null() {
        return Err(std::io::Error::last_os_error());
    }
    HEAP.spare.store(base, Ordering::Release);
    Ok(())
}

/// Whether the process has no memory left, so that nothing that takes some may be begun.
pub fn is_short() -> bool {
    if !HEAP.short.load(Ordering::Acquire) {
        return false;
    }
    let short = !has(LITTLE);
    HEAP.short.store(short, Ordering::Release);
    short
}

/// Whether the kernel has so many bytes now.
pub fn has(bytes: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(bytes.max(1), 8) else { return false };
    // SAFETY: the size is not 0, and what is allocated is freed with the same layout.
    unsafe {
        let memory = ours(|| Own.alloc(layout));
        if memory.is_null() {
            return false;
        }
        Own.dealloc(memory, layout);
    }
    true
}

fn ours(allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    if faults::memory_is_out() { null_mut() } else { allocate() }
}

impl Heap {
    fn is_spare(&self, memory: *mut u8) -> bool {
        let spare = self.spare.load(Ordering::Acquire);
        !spare.is_null() && (spare as usize..spare as usize + SPARE).contains(&(memory as usize))
    }

    /// Memory that was set aside, all zeros or used before.
    #[cold]
    fn spare(&self, layout: Layout) -> *mut u8 {
        self.short.store(true, Ordering::Release);
        let Some(base) = NonNull::new(self.spare.load(Ordering::Acquire)) else { return null_mut() };
        let mut taken = self.taken.load(Ordering::Acquire);
        loop {
            let (count, used) = (taken >> 32, (taken & 0xFFFF_FFFF) as usize);
            // The base is at a page's begin.
            let at = used.next_multiple_of(layout.align());
            let end = match at.checked_add(layout.size()) {
                Some(end) if end <= SPARE && layout.align() <= heap::PAGE => end,
                _ => return null_mut(),
            };
            match self.taken.compare_exchange_weak(taken, (count + 1) << 32 | end as u64, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: inside the mapping.
                Ok(_) => return unsafe { base.as_ptr().add(at) },
                Err(now) => taken = now,
            }
        }
    }

    fn give_back(&self) {
        let less = |taken: u64| if taken >> 32 == 1 { Some(0) } else { Some(taken - (1 << 32)) };
        // It never answers None.
        let _ = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }
}

// SAFETY: memory is from the heap, or from the spare mapping: there each allocation has bytes of its own until the last of them
// all is freed. Nothing here unwinds.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = ours(|| unsafe { Own.alloc(layout) });
        if memory.is_null() { self.spare(layout) } else { memory }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if self.is_spare(memory) {
            self.give_back();
        } else {
            // SAFETY: the caller's promise; it is from there.
            unsafe { Own.dealloc(memory, layout) };
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = ours(|| unsafe { Own.alloc_zeroed(layout) });
        if !memory.is_null() {
            return memory;
        }
        let memory = self.spare(layout);
        if !memory.is_null() {
            // SAFETY: so many bytes are there.
            unsafe { memory.write_bytes(0, layout.size()) };
        }
        memory
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.is_spare(memory) {
            // SAFETY: the caller's promise; it is from there.
            let larger = ours(|| unsafe { Own.realloc(memory, layout, size) });
            if !larger.is_null() {
                return larger;
            }
        }
        // SAFETY: the caller's promise: the size fits the alignment.
        let new = self.spare(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        // SAFETY: the caller's promise; spare memory that is handed out is nobody else's.
        unsafe { heap::moved(self, memory, layout, new, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_memory_is_separate_and_free_again_when_all_of_it_is() {
        set_aside().unwrap();
        let layout = Layout::from_size_align(100, 64).unwrap();
        let (a, b) = (HEAP.spare(layout), HEAP.spare(layout));
        assert!(HEAP.is_spare(a) && HEAP.is_spare(b) && b as usize - a as usize >= 100 && (b as usize).is_multiple_of(64));
        assert!(HEAP.spare(Layout::from_size_align(SPARE, 1).unwrap()).is_null(), "more than there is");
        HEAP.give_back();
        HEAP.give_back();
        assert_eq!(HEAP.spare(layout), a);
        HEAP.give_back();
        assert!(!is_short() && has(1 << 20) && !has(usize::MAX / 2));
    }
}
