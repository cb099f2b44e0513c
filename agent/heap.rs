//! Where the agent's memory is from, apart from the JVM's. HotSpot takes its symbols from the C library's heap and puts the
//! methods of a class in the order of their names' addresses (method.cpp, sort_methods), which is the order in which they are
//! verified and classes are loaded for that: with the agent's memory in between, javac's classes called `loadClass` from other
//! places, now and then. (That it is by this order is inferred; that it ended with a heap of the agent's own was seen, on JDK 17
//! and 25.)
//!
//! Small blocks are dlmalloc's. Large ones, of which a profile that is written has some, are mappings of their own: they grow
//! without being copied, are cleared by the kernel where they are touched, and are the kernel's again when they are freed.

use dlmalloc::Dlmalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard};

/// The smallest block with a mapping of its own.
const LARGE: usize = 256 << 10;
/// The smallest block in huge pages, where the kernel has them: a few of its own. A profile of millions of contexts is made in
/// memory that is touched once, and to be given it page by page took the kernel longer than what was written there.
const HUGE: usize = 8 << 20;
/// Mappings begin at multiples of this.
pub const PAGE: usize = 4096;

/// The small blocks. The crate's own lock sends a thread to sleep at once; this one is worth waiting for, as a block is found in
/// less time than a thread falls asleep, and at the start two of the agent's threads are at it all the time.
static SMALL: Mutex<Dlmalloc> = Mutex::new(Dlmalloc::new());

/// The heap.
pub struct Own;

fn small() -> MutexGuard<'static, Dlmalloc> {
    crate::lock(&SMALL)
}

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

/// A mapping, all zeros; null: the kernel has none, for the reason that the last error tells.
pub fn map(size: usize) -> *mut u8 {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let memory = unsafe { libc::mmap(null_mut(), size, protection, flags, -1, 0) };
    if memory == libc::MAP_FAILED { null_mut() } else { memory.cast() }
}

/// Asks for huge pages for a mapping that is worth it.
fn advise(memory: *mut u8, size: usize) -> *mut u8 {
    if size >= HUGE && !memory.is_null() {
        // SAFETY: the caller's mapping of this size; what is in it stays. It fails where the kernel has no huge pages.
        unsafe { libc::madvise(memory.cast(), size, libc::MADV_HUGEPAGE) };
    }
    memory
}

/// Puts what is in a block of this heap into another, `new`, and frees the old one; answers the new one. Does nothing if that is
/// null.
///
/// # Safety
/// As for `GlobalAlloc::realloc`; `new` is null, or has `size` bytes that are nobody else's.
pub unsafe fn moved(heap: &impl GlobalAlloc, memory: *mut u8, layout: Layout, new: *mut u8, size: usize) -> *mut u8 {
    if !new.is_null() {
        // SAFETY: both have so many bytes, and the old one is the caller's to free.
        unsafe {
            new.copy_from_nonoverlapping(memory, layout.size().min(size));
            heap.dealloc(memory, layout);
        }
    }
    new
}

// SAFETY: a block is dlmalloc's or a mapping that is nobody else's, and which of them it is follows from its layout, which the
// caller must give back as it was. Nothing here unwinds.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return advise(map(layout.size()), layout.size());
        }
        // SAFETY: the caller's promise.
        unsafe { small().malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return advise(map(layout.size()), layout.size());
        }
        // SAFETY: the caller's promise.
        unsafe { small().calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise. A mapping has the size of the layout, to the page.
        unsafe {
            if is_large(layout) {
                libc::munmap(memory.cast(), layout.size());
            } else {
                small().free(memory, layout.size(), layout.align());
            }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise: the size fits the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as above.
        unsafe {
            match (is_large(layout), is_large(new)) {
                (false, false) => small().realloc(memory, layout.size(), layout.align(), size),
                (true, true) => {
                    let moved = libc::mremap(memory.cast(), layout.size(), size, libc::MREMAP_MAYMOVE);
                    if moved == libc::MAP_FAILED { null_mut() } else { advise(moved.cast(), size) }
                }
                _ => moved(self, memory, layout, self.alloc(new), size),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small and large, and from each to each.
    #[test]
    fn blocks_keep_what_is_in_them() {
        let byte = |i: usize| ((i * 31) >> 3) as u8;
        let sizes = [1, 5000, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 5, 100, 40 * LARGE, LARGE, 7];
        for align in [1, 16, 4096, 1 << 16] {
            let mut layout = Layout::from_size_align(sizes[0], align).unwrap();
            // SAFETY: each block is used within its size, and given back once with the layout it has then.
            unsafe {
                let mut memory = Own.alloc_zeroed(layout);
                assert_eq!(memory.read(), 0);
                for size in sizes {
                    let kept = layout.size().min(size);
                    (0..layout.size()).for_each(|i| memory.add(i).write(byte(i)));
                    memory = Own.realloc(memory, layout, size);
                    layout = Layout::from_size_align(size, align).unwrap();
                    assert!((memory as usize).is_multiple_of(align));
                    assert!((0..kept).all(|i| memory.add(i).read() == byte(i)), "{size} aligned to {align}");
                }
                Own.dealloc(memory, layout);
                let layout = Layout::from_size_align(2 * LARGE, align).unwrap();
                let memory = Own.alloc_zeroed(layout);
                assert!((0..layout.size()).all(|i| memory.add(i).read() == 0));
                Own.dealloc(memory, layout);
            }
        }
        // SAFETY: no block comes of it.
        assert!(unsafe { Own.alloc(Layout::from_size_align(1 << 60, 8).unwrap()) }.is_null());
    }
}
