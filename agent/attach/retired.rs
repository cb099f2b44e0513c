//! Address space of recordings that have ended, kept for frames that may still write there, and given back when those are gone.
//!
//! Their junk nodes stay for ever, a few hundred KB of addresses each, without memory unless it is written: a class whose loading
//! took longer than the recording is woven, but no class of the JVM's yet, so that nobody can change it back; what it runs later
//! counts into junk.

use crate::arena::Arena;
use crate::jvmti::MethodId;
use crate::lock;
use cprof_instrument::abi;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// One recording's.
struct Retired {
    /// [`Arena::given_up`]: until then it is not ours to unmap.
    given_up: Arc<AtomicBool>,
    base: u64,
    length: usize,
    /// The methods whose active frames may write there.
    writers: HashSet<MethodId>,
}

// SAFETY: a jmethodID may be compared on any thread.
unsafe impl Send for Retired {}

static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());

/// Keeps the address space of an arena while one of these methods is active.
pub fn keep(arena: &Arena, writers: HashSet<MethodId>) {
    let (base, length) = (arena.base(), (arena.end() - arena.base()) as usize);
    lock(&RETIRED).push(Retired { given_up: arena.given_up(), base, length, writers });
}

/// Gives back what nobody can write to any more.
///
/// # Safety
/// Counting is off, and `active` holds the methods of all frames of all threads.
pub unsafe fn release(active: &HashSet<MethodId>) {
    lock(&RETIRED).retain(|retired| {
        if !retired.given_up.load(Ordering::Acquire) || retired.writers.iter().any(|method| active.contains(method)) {
            return true;
        }
        let nodes = (retired.base + abi::METHODS) as *mut libc::c_void;
        // SAFETY: `Arena` has left this mapping, and nobody else unmaps it. The frames that knew addresses in it
        // are gone (the caller's promise), and no others ever did, but of the junk node in front of this.
        unsafe { libc::munmap(nodes, retired.length - abi::METHODS as usize) != 0 }
    });
}
