//! Address space of recordings that have ended, kept for frames that may still write there, and given back when those are gone.

use crate::arena::Arena;
use crate::jvmti::MethodId;
use crate::lock;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, Weak};

/// One recording's.
struct Retired {
    /// Its owner may not be dropped yet, and then it is not ours to unmap.
    arena: Weak<Arena>,
    base: u64,
    length: usize,
    /// The methods whose active frames may write there.
    writers: HashSet<MethodId>,
}

// SAFETY: a jmethodID may be compared on any thread.
unsafe impl Send for Retired {}

static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());

/// Keeps the address space of an arena while one of these methods is active.
pub fn keep(arena: &Arc<Arena>, writers: HashSet<MethodId>) {
    let (base, length) = (arena.base(), (arena.end() - arena.base()) as usize);
    lock(&RETIRED).push(Retired { arena: Arc::downgrade(arena), base, length, writers });
}

/// Gives back what nobody can write to any more.
///
/// # Safety
/// Counting is off, and `active` holds the methods of all frames of all threads.
pub unsafe fn release(active: &HashSet<MethodId>) {
    lock(&RETIRED).retain(|retired| {
        if retired.arena.strong_count() > 0 || retired.writers.iter().any(|method| active.contains(method)) {
            return true;
        }
        // SAFETY: `Arena` left this mapping when it was dropped, and nobody else unmaps it. The frames that knew addresses in it are
        // gone (the caller's promise), and no others ever did.
        unsafe { libc::munmap(retired.base as *mut libc::c_void, retired.length) != 0 }
    });
}
