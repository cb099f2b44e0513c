//! The arena as the simulation of caches reads and writes it: while nobody else touches what it writes.

use crate::arena::Arena;
use cprof_profile::recording::Memory;
use std::marker::PhantomData;
use std::sync::RwLockReadGuard;
use std::sync::atomic::{AtomicU32, Ordering};

/// The arena up to its present top. Misses are counted in it by one thread at a time.
pub struct View<'a> {
    base: *mut u8,
    len: u64,
    /// Whoever reads misses waits until the view is gone.
    _no_reader: PhantomData<RwLockReadGuard<'a, ()>>,
}

impl<'a> View<'a> {
    /// `no_reader` keeps those out who read misses. The caller is the only one who has a view of a core's nodes.
    pub fn new(arena: &'a Arena, _no_reader: &'a RwLockReadGuard<'_, ()>) -> View<'a> {
        View { base: arena.base() as *mut u8, len: arena.len(), _no_reader: PhantomData }
    }

    /// A word; `None` beyond the end.
    #[inline(always)]
    pub fn u32(&self, at: u64) -> Option<u32> {
        if at + 4 > self.len || !at.is_multiple_of(4) {
            return None;
        }
        // SAFETY: aligned, and inside the arena, which is mapped as long as its caches are simulated.
        Some(unsafe { AtomicU32::from_ptr(self.base.add(at as usize).cast()) }.load(Ordering::Relaxed))
    }

    /// Writes a word, if it is in the arena.
    pub fn set_u32(&mut self, at: u64, value: u32) {
        if at + 4 <= self.len && at.is_multiple_of(4) {
            // SAFETY: as in u32.
            unsafe { AtomicU32::from_ptr(self.base.add(at as usize).cast()) }.store(value, Ordering::Relaxed);
        }
    }

    /// Adds to a counter.
    pub fn add(&mut self, at: u64, amount: u64) {
        self.counters::<1>(at, |counters| counters[0] = counters[0].wrapping_add(amount));
    }

    /// Subtracts from adjacent counters.
    #[inline(always)]
    pub fn subtract<const N: usize>(&mut self, at: u64, amounts: &[i32; 8]) {
        self.counters::<N>(at, |counters| {
            for (counter, amount) in counters.iter_mut().zip(amounts) {
                *counter = counter.wrapping_sub(i64::from(*amount) as u64);
            }
        });
    }

    #[inline(always)]
    fn counters<const N: usize>(&mut self, at: u64, change: impl FnOnce(&mut [u64; N])) {
        if at + 8 * N as u64 > self.len || !at.is_multiple_of(8) {
            return;
        }
        // SAFETY: aligned and inside the arena; every bit pattern is a counter. Nobody else writes the misses of this core's nodes
        // (the caller of `new`), and whoever reads them waits for the guard.
        change(unsafe { &mut *self.base.add(at as usize).cast::<[u64; N]>() });
    }

    /// Copies words; `None` beyond the end.
    pub fn copy(&self, at: u64, count: usize, out: &mut Vec<u64>) -> Option<()> {
        out.clear();
        if at.checked_add(8 * count as u64)? > self.len || !at.is_multiple_of(8) {
            return None;
        }
        out.reserve(count);
        // SAFETY: inside the arena, into room for as many; the copy goes through libc, which knows nothing of Rust's rules on races with
        // the log's owner, and every bit pattern is a word.
        unsafe {
            libc::memcpy(out.as_mut_ptr().cast(), self.base.add(at as usize).cast(), 8 * count);
            out.set_len(count);
        }
        Some(())
    }
}
