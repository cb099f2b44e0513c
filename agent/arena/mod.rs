//! The memory that woven code counts in, shaped as `cprof_instrument::abi` says.
//!
//! It is one reservation of address space over a file in shared memory, so that another process can read it at any time and
//! a killed JVM leaves it behind. Space is allocated in the file before anything may touch it, so that a full file system is
//! an error and never a SIGBUS: the rest of the arena then becomes private memory of the JVM.

mod first_page;
mod growth;
mod trees;

use crate::cgroup::Limits;
use crate::directory::Lock;
use crate::{faults, lock, message};
use cprof_instrument::abi::{self, MethodEntry, flags, header, wanted};
use cprof_profile::options::Options;
use cprof_profile::recording::Memory;
pub use growth::at_first;
use growth::{BEYOND, FIRST_STEP, Ready};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Where an arena is best: so low that its address fits an instruction's displacement, which saves compiled code a register and
/// two instructions at each access. What it takes is address space that the JVM likes for its heap, but not the lowest 2 GB
/// (HotSpot: `HeapBaseMinAddress`).
const LOW: usize = 256 << 20;

/// The arena.
pub struct Arena {
    base: NonNull<u8>,
    reserved: u64,
    /// What [`Arena::prepare`] makes ready.
    start: u64,
    /// `None`: anonymous memory.
    file: Option<File>,
    /// What the process may have.
    limits: Limits,
    /// On the file, while this process records.
    lock: Mutex<Option<Lock>>,
    /// How much of it is usable.
    ready: Mutex<Ready>,
    /// Code in the JVM may know addresses in it.
    exposed: AtomicBool,
    /// See [`Arena::given_up`].
    given_up: Arc<AtomicBool>,
}

// SAFETY: the mapping lives as long as self; its words are only touched through atomics here, and the runtime and readers expect
// races (abi).
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps an arena over `file`, or over anonymous memory.
    ///
    /// # Errors
    /// No room for the reservation or for the first step.
    pub fn new(file: Option<(File, Lock)>, options: &Options, limits: Limits) -> io::Result<Arena> {
        let (file, lock) = file.unzip();
        // What is ready ends there some day, and another mapping may begin.
        let soft_limit = (abi::CHUNKS + options.max_memory.unwrap_or(limits.contexts)).next_multiple_of(abi::CHUNK_ALIGN);
        let start = abi::CHUNKS + at_first(options, &limits);
        let reserved = soft_limit.max(start) + BEYOND;
        faults::io("arena mmap")?;
        let (fd, flags) = match &file {
            Some(file) => {
                file.set_len(reserved)?;
                (file.as_raw_fd(), libc::MAP_SHARED)
            }
            None => (-1, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
        };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let map = |at: usize, flags_of_place: i32| {
            let flags = flags | flags_of_place | libc::MAP_NORESERVE;
            // SAFETY: a fresh mapping, at an address of the kernel's choice or one where nothing is mapped; older kernels than
            // 4.17 take that for a wish, as good as none.
            let base = unsafe { libc::mmap(at as *mut libc::c_void, reserved as usize, protection, flags, fd, 0) };
            if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base) }
        };
        let base = map(LOW, libc::MAP_FIXED_NOREPLACE).or_else(|_| map(0, 0))?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let ready = Ready::at_first(file.is_none());
        let arena = Arena {
            base,
            reserved,
            start,
            file,
            limits,
            lock: Mutex::new(lock),
            ready: Mutex::new(ready),
            exposed: AtomicBool::new(false),
            given_up: Arc::default(),
        };
        faults::io("arena fallocate")?;
        arena.allocate(0, abi::METHODS)?;
        arena.allocate(abi::CHUNKS, FIRST_STEP)?;
        arena.write_header(options, soft_limit);
        arena.write_caches(&options.caches);
        Ok(arena)
    }

    /// The recording has ended, though the memory stays: what is in the file is anybody's to recover.
    pub fn unlock(&self) {
        *lock(&self.lock) = None;
    }

    /// From here on its addresses are given to code in the JVM, and stay taken when the recording has ended.
    pub fn expose(&self) {
        self.exposed.store(true, Ordering::Release);
    }

    /// Becomes true when nothing but the addresses is left of an exposed one.
    pub fn given_up(&self) -> Arc<AtomicBool> {
        self.given_up.clone()
    }

    /// The address of its first byte.
    pub fn base(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// The address behind its last byte.
    pub fn end(&self) -> u64 {
        self.base() + self.reserved
    }

    /// What the method table says of a method.
    pub fn method(&self, id: u32) -> MethodEntry {
        let at = abi::METHODS + abi::METHOD_ENTRY * u64::from(id);
        MethodEntry::of([at, at + 4].map(|at| self.u32_at(at).load(Ordering::Acquire)))
    }

    /// The class log is in no file any more.
    pub fn is_without_log(&self) {
        self.u32_at(header::FLAGS).fetch_or(flags::LOG_PRIVATE, Ordering::Release);
    }

    fn u32_at(&self, at: u64) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.reserved, "word at {at} is not in the arena");
        // SAFETY: aligned and inside the mapping, which lives as long as self; atomics may race with the runtime's accesses.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(at as usize).cast()) }
    }

    fn u64_at(&self, at: u64) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.reserved, "word at {at} is not in the arena");
        // SAFETY: as in u32_at.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(at as usize).cast()) }
    }

    /// Enters a method in the method table. False when there is no room for it: then it must not be woven.
    pub fn add_method(&self, id: u32, entry: MethodEntry) -> bool {
        let at = abi::METHOD_ENTRY * u64::from(id);
        if !self.extend_table(at + abi::METHOD_ENTRY) {
            return false;
        }
        let [shape, code] = entry.words();
        self.u32_at(abi::METHODS + at + 4).store(code, Ordering::Relaxed);
        self.u32_at(abi::METHODS + at).store(shape, Ordering::Release);
        self.u32_at(header::METHOD_COUNT).fetch_max(id - abi::FIRST_METHOD + 2, Ordering::Release);
        true
    }

    /// Whether somebody is there to [grant](Arena::grant) what the runtime wants.
    pub fn take_wishes(&self, there: bool) {
        self.u64_at(header::WANTED).store(if there { wanted::NOTHING } else { wanted::NOBODY }, Ordering::Release);
    }

    /// Whether some of it is in no file.
    pub fn is_private(&self) -> bool {
        self.u32_at(header::FLAGS).load(Ordering::Acquire) & flags::PRIVATE != 0
    }
}

/// The recording has ended, but woven methods that are still active hold addresses of their nodes: what they write there must go
/// somewhere. So the address space stays taken, as private memory that takes none until it is written, while the file's pages are
/// freed. `crate::attach::retired` gives it back. One that was never [exposed](Arena::expose) goes at once.
impl Drop for Arena {
    fn drop(&mut self) {
        if !*self.exposed.get_mut() {
            // SAFETY: our own mapping, and nobody else has an address in it. If it cannot be unmapped, it stays, unused.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.reserved as usize) };
            return;
        }
        if !self.make_private(0..self.reserved) {
            message("the memory of a recording that has ended cannot be given up: it stays taken as long as the JVM runs");
            // The pages of the file at least. A full file system would then end the process at a late write; there is no other
            // way.
            // SAFETY: our own mapping; what is in it is nobody's any more.
            unsafe { libc::madvise(self.base.as_ptr().cast(), self.reserved as usize, libc::MADV_REMOVE) };
        }
        self.given_up.store(true, Ordering::Release);
    }
}

impl Memory for Arena {
    /// Up to the top: what lies behind was never used.
    fn len(&self) -> u64 {
        self.u64_at(header::TOP).load(Ordering::Acquire).min(self.reserved)
    }

    fn u32(&self, at: u64) -> Option<u32> {
        let inside = at.checked_add(4)? <= self.len() && at.is_multiple_of(4);
        inside.then(|| self.u32_at(at).load(Ordering::Acquire))
    }

    fn u64(&self, at: u64) -> Option<u64> {
        let inside = at.checked_add(8)? <= self.len() && at.is_multiple_of(8);
        inside.then(|| self.u64_at(at).load(Ordering::Acquire))
    }

    fn bytes(&self, at: u64, out: &mut [u8]) -> Option<()> {
        if at.checked_add(out.len() as u64)? > self.len() {
            return None;
        }
        // SAFETY: inside the mapping. The bytes may change meanwhile; the reader trusts none of them (Memory's contract), and
        // the copy goes through libc, which knows nothing of Rust's rules on races.
        unsafe { libc::memcpy(out.as_mut_ptr().cast(), self.base.as_ptr().add(at as usize).cast(), out.len()) };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn is_mapped(address: u64) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let ranges = maps.lines().filter_map(|line| line.split_once(' ')?.0.split_once('-'));
        let number = |hex: &str| u64::from_str_radix(hex, 16).unwrap();
        ranges.into_iter().any(|(begin, end)| (number(begin)..number(end)).contains(&address))
    }

    #[test]
    fn addresses_stay_taken_only_if_code_may_know_them() {
        let options = Options::parse("max-memory=64m").unwrap();
        for exposed in [false, true] {
            let arena = Arena::new(None, &options, Limits::of_groups("", "")).unwrap();
            let (base, end) = (arena.base(), arena.end());
            assert!(is_mapped(base) && is_mapped(end - 1));
            if exposed {
                arena.expose();
            }
            drop(arena);
            // Another test's arena may be there for a while.
            let begin = Instant::now();
            while !exposed && is_mapped(base) && begin.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(is_mapped(base), exposed);
        }
    }
}
