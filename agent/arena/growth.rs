//! Memory that is made usable as it is needed, within what the file system, the group of the process and the user leave.

use super::Arena;
use crate::cgroup::{Left, Limits};
use crate::{faults, message};
use cprof_instrument::abi::{self, flags, header, wanted};
use cprof_profile::names::thousands;
use cprof_profile::options::{Options, simulation};
use cprof_profile::recording::Memory;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Bytes that are ready beyond the runtime's limit.
pub(super) const KEPT: u64 = abi::RESERVE + abi::MARGIN;
/// Bytes of chunks made ready at a time, at least.
const LEAST_STEP: u64 = 256 << 10;
/// Bytes of chunks that are ready at first, and no more than must be, as the VM waits for it.
pub(super) const FIRST_STEP: u64 = KEPT + LEAST_STEP;
/// Bytes of chunks that an ordinary start takes until the VM can call [`Arena::grow`].
const START: u64 = KEPT + (4 << 20);
/// As [`START`], where everything that is called is logged as well.
const START_LOGGED: u64 = 64 << 20;
/// Bytes of chunks made ready at a time afterwards, at most: as many as are there, so that a small program takes little.
const STEP: u64 = 32 << 20;
/// Bytes that a group of processes is left when nothing else is: what contexts are folded into may take all but that.
const LAST: u64 = 4 << 20;
/// After a refusal for that reason nothing is asked of the group for so long: a call that finds no room asks each time.
const PATIENCE: Duration = Duration::from_millis(100);
/// A profile takes an eighth of its contexts' memory while it is made (measured); these shares of it have a margin.
const PROFILE_TO_COME: u64 = 4;
/// As above, when no more contexts come.
const PROFILE: u64 = 6;
/// Bytes of the method table made ready at a time: 8192 methods.
const TABLE_STEP: u64 = 64 << 10;
/// Bytes that an arena has beyond what contexts may take.
pub(super) const BEYOND: u64 = KEPT + STEP;

/// Bytes ready: of the whole from 0 (without the method table), and of the method table.
pub(super) struct Ready {
    chunks: u64,
    table: u64,
    /// The file could not grow: what is not ready yet is private memory.
    private: bool,
    /// Nor could private memory be had.
    full: bool,
    /// What is left of a group's memory is the program's, but for what contexts are folded into.
    spent: bool,
    /// When there was nothing for these, either.
    refused: Option<Instant>,
}

impl Ready {
    /// `private`: there is no file.
    pub(super) fn at_first(private: bool) -> Ready {
        Ready { chunks: abi::CHUNKS + FIRST_STEP, table: 0, private, full: false, spent: false, refused: None }
    }
}

/// Bytes of chunks that [`Arena::prepare`] makes ready.
pub fn at_first(options: &Options, limits: &Limits) -> u64 {
    let logged = simulation(&options.caches) == abi::caches::LOGGED;
    if logged { START_LOGGED.min(KEPT + limits.contexts) & !(abi::CHUNK_ALIGN - 1) } else { START }
}

impl Arena {
    /// Takes room in the file for these bytes.
    pub(super) fn allocate(&self, at: u64, length: u64) -> io::Result<()> {
        /// Taken in no time.
        const LEAST: u64 = 64 << 10;
        let Some(file) = &self.file else { return Ok(()) };
        let (mut at, end, mut step) = (at, at + length, length);
        while at < end {
            step = step.min(end - at);
            // SAFETY: plain system call on our own file.
            match unsafe { libc::posix_fallocate(file.as_raw_fd(), at as i64, step as i64) } {
                0 => at += step,
                // Interrupted, a kernel takes back all of the step: a profiler's timer may be faster than it.
                libc::EINTR => step = (step / 2).max(LEAST),
                code => return Err(io::Error::from_raw_os_error(code)),
            }
        }
        Ok(())
    }

    /// As [`Arena::allocate`], for bytes that are sure to be used soon: maps their pages too. Zeros are written, as pages that
    /// are whole are mapped sixteen at a time; together that takes three quarters of the time of `MADV_POPULATE_WRITE`.
    fn populate(&self, at: u64, length: u64) -> io::Result<()> {
        static ZEROS: [u8; 256 << 10] = [0; 256 << 10];
        let Some(file) = &self.file else { return Ok(()) };
        let (mut next, end) = (at, at + length);
        while next < end {
            let zeros = &ZEROS[..ZEROS.len().min((end - next) as usize)];
            match file.write_all_at(zeros, next) {
                Ok(()) => next += zeros.len() as u64,
                // A limit that was set since: it is one of writing, not of what a file has.
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return self.allocate(at, length),
                Err(error) => return Err(error),
            }
        }
        // SAFETY: inside our own mapping; the advice changes no byte. Without it, as on kernels before 5.14, pages are mapped
        // when they are used.
        unsafe { libc::madvise(self.base.as_ptr().add(at as usize).cast(), length as usize, libc::MADV_POPULATE_READ) };
        Ok(())
    }

    /// Gives back what an attempt in vain has taken of these bytes, which nobody uses: [`Arena::populate`] fills the file system
    /// to its last page before it fails. The class log may have that, and other programs, which may have mapped files without
    /// room.
    fn give_back(&self, at: u64, length: u64) {
        let Some(file) = &self.file else { return };
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: plain system call on our own file; where it fails, they stay taken.
        unsafe { libc::fallocate(file.as_raw_fd(), mode, at as i64, length as i64) };
    }

    /// Makes so many bytes of the method table usable.
    pub(super) fn extend_table(&self, bytes: u64) -> bool {
        let mut ready = crate::lock(&self.ready);
        while bytes > ready.table {
            if !self.extend(&mut ready, |ready| abi::METHODS + ready.table, TABLE_STEP, Arena::allocate) {
                return false;
            }
            ready.table += TABLE_STEP;
        }
        true
    }

    /// Makes room if the runtime wants it and cannot call [`Arena::grow`] yet. `false`: it wants no more.
    pub fn grant(&self) -> bool {
        let word = self.u64_at(header::WANTED);
        match word.load(Ordering::Acquire) {
            wanted::NOBODY => false,
            wanted::NOTHING => true,
            top => {
                // The runtime looks at the limit then.
                self.grow(top);
                // Not if nobody is to look any more.
                let _ = word.compare_exchange(top, wanted::NOTHING, Ordering::AcqRel, Ordering::Relaxed);
                true
            }
        }
    }

    /// Makes at least `top` bytes usable; false when that cannot be. Called by the runtime.
    pub fn grow(&self, top: u64) -> bool {
        let mut ready = crate::lock(&self.ready);
        if top + KEPT <= ready.chunks {
            return true;
        }
        // Asked at every call that finds no room: it is not tried again for contexts.
        if ready.full && !ready.private || ready.refused.is_some_and(|refused| refused.elapsed() < PATIENCE) {
            return false;
        }
        let step = (ready.chunks - abi::CHUNKS).min(STEP);
        // Contexts that are kept apart have no use for more than max-memory=, those that others are folded into go beyond it.
        let most = self.u64_at(header::SOFT_LIMIT).load(Ordering::Relaxed) + KEPT;
        let wanted = (ready.chunks + step).min(most).max(top + KEPT + LEAST_STEP).min(self.reserved);
        if top + KEPT > wanted {
            return false;
        }
        let (room, left) = self.room(&ready);
        let within = wanted.min(ready.chunks.saturating_add(room));
        if let Some(left) = left.filter(|_| top + KEPT > within && !ready.spent) {
            ready.spent = true;
            self.fold(&format!("{left}, for the program and its profile"), "Raise that limit for the next run");
            drop(ready);
            // It may have been asked for what contexts are folded into.
            return self.grow(top);
        }
        let fits = top + KEPT <= within;
        ready.refused = (!fits).then(Instant::now);
        fits && self.make_ready(&mut ready, within, Arena::populate)
    }

    /// How many bytes more may be made ready, and what the group of the process leaves, if that has a limit: the kernel ends a
    /// process of a group that has no memory left, whoever takes the last of it.
    fn room(&self, ready: &Ready) -> (u64, Option<Left>) {
        let Some(left) = self.limits.left() else { return (u64::MAX, None) };
        let room = match ready.spent {
            true => left.bytes.saturating_sub(LAST),
            false => left.without_spare().saturating_sub((ready.chunks - abi::CHUNKS) / PROFILE_TO_COME) / 5 * 4,
        };
        (room & !(abi::CHUNK_ALIGN - 1), Some(left))
    }

    /// Refuses to make a profile for which the group of the process has no room, with a class log of this length.
    pub fn has_room_for_profile(&self, log: u64) -> Result<(), String> {
        let needed = self.len().saturating_sub(abi::CHUNKS) / PROFILE + log;
        match self.limits.left() {
            Some(left) if left.bytes < needed => Err(format!("{left}, and the profile may take {}", thousands(needed >> 20))),
            _ => Ok(()),
        }
    }

    /// No more memory is taken for contexts.
    fn fold(&self, why: &str, way: &str) {
        message(&format!(
            "no more memory for calling contexts ({why}): new contexts are folded into overflow nodes. {way}, or bound the tree with \
             depth=, recursion=fold or max-memory="
        ));
        // From here on the runtime folds, and asks for nodes to fold into only.
        self.u64_at(header::SOFT_LIMIT).store(0, Ordering::Release);
    }

    /// Makes usable what an ordinary start takes. What cannot be, [`Arena::grow`] will be asked for again.
    pub fn prepare(&self) {
        let mut ready = crate::lock(&self.ready);
        if ready.chunks < self.start {
            self.make_ready(&mut ready, self.start, Arena::allocate);
        }
    }

    /// Makes the chunks up to there usable.
    fn make_ready(&self, ready: &mut Ready, wanted: u64, take: impl Fn(&Arena, u64, u64) -> io::Result<()>) -> bool {
        let length = wanted - ready.chunks;
        if !self.extend(ready, |ready| ready.chunks, length, take) {
            return false;
        }
        ready.chunks = wanted;
        self.u64_at(header::LIMIT).store(wanted - KEPT, Ordering::Release);
        true
    }

    /// Makes the bytes at `at` usable: in the file, or, when that is full, as private memory.
    fn extend(
        &self,
        ready: &mut Ready,
        at: impl Fn(&Ready) -> u64,
        length: u64,
        take: impl Fn(&Arena, u64, u64) -> io::Result<()>,
    ) -> bool {
        if ready.private {
            return true;
        }
        let begin = at(ready);
        let Err(error) = faults::io("arena grow").and_then(|()| take(self, begin, length)) else { return true };
        self.give_back(begin, length);
        // Nothing was handed out yet of what is not ready.
        let table = abi::METHODS + ready.table..abi::CHUNKS;
        let chunks = ready.chunks..self.reserved;
        let parts = [table, chunks].map(|part| (!part.is_empty(), self.make_private(part)));
        if parts.contains(&(true, true)) {
            self.u32_at(header::FLAGS).fetch_or(flags::PRIVATE, Ordering::Release);
        }
        ready.private = parts.iter().all(|&(_, done)| done);
        if ready.private {
            message(&format!(
                "shared memory has no room for {} KB more ({error}): from here on contexts are kept in private memory; a profile will be \
                 written as usual, but not if the JVM is killed. Make /dev/shm larger for the next run, or bound the tree with depth= or \
                 recursion=fold",
                thousands(length >> 10)
            ));
        } else if !std::mem::replace(&mut ready.full, true) {
            self.fold(&error.to_string(), "Make room in /dev/shm");
        }
        ready.private
    }

    /// Puts anonymous memory in the place of a part of the file whose contents nobody needs.
    pub(super) fn make_private(&self, part: std::ops::Range<u64>) -> bool {
        if faults::fails("arena private") {
            return false;
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        let length = (part.end - part.start) as usize;
        // SAFETY: the part is inside our own mapping. Nobody relies on what was in it: it lies behind what is ready, or the
        // recording has ended.
        let at = unsafe {
            let at = self.base.as_ptr().add(part.start as usize).cast();
            libc::mmap(at, length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        length == 0 || at != libc::MAP_FAILED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_made_ready_than_contexts_may_take_but_for_what_they_fold_into() {
        let arena = Arena::new(None, &Options::parse("max-memory=16777217").unwrap(), Limits::of_groups("", "")).unwrap();
        let limit = || arena.u64_at(header::LIMIT).load(Ordering::Relaxed);
        let most = abi::CHUNKS + (16 << 20) + abi::CHUNK_ALIGN;
        arena.prepare();
        while limit() < most {
            assert!(arena.grow(limit() + abi::CHUNK_ALIGN));
            assert!(crate::lock(&arena.ready).chunks.is_multiple_of(abi::CHUNK_ALIGN), "where memory of another kind may follow");
        }
        assert!(limit() <= most + LEAST_STEP + abi::CHUNK_ALIGN, "{}", limit() - most);
        let reached = limit();
        assert!(arena.grow(reached + abi::CHUNK_ALIGN) && limit() <= reached + LEAST_STEP + abi::CHUNK_ALIGN);
    }

    #[test]
    fn what_is_made_ready_at_first_ends_where_memory_of_another_kind_may_follow() {
        let mut limits = Limits::of_groups("", "");
        limits.contexts = (20 << 20) + 1;
        for caches in ["", "cache=4k/16,cache-scope=shared"] {
            assert!(at_first(&Options::parse(caches).unwrap(), &limits).is_multiple_of(abi::CHUNK_ALIGN));
        }
    }

    #[test]
    fn what_a_group_leaves_is_the_programs() {
        const GIVEN: u64 = 1 << 30;
        let root = std::env::temp_dir().join(format!("cprof-arena-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("memory.max"), GIVEN.to_string()).unwrap();
        let mounts = format!("1 0 0:1 / {} rw - cgroup2 cgroup2 rw\n", root.display());
        let left = |bytes: u64| std::fs::write(root.join("memory.current"), (GIVEN - bytes).to_string()).unwrap();
        let arena = Arena::new(None, &Options::parse("").unwrap(), Limits::of_groups("0::/\n", &mounts)).unwrap();
        let limit = || arena.u64_at(header::LIMIT).load(Ordering::Relaxed);
        // A sixteenth is the program's, and profiles take some.
        left(GIVEN / 16 + (4 << 20));
        let before = limit();
        assert!(arena.grow(before + abi::CHUNK_ALIGN) && limit() < before + (3 << 20));
        left(GIVEN / 16);
        let top = limit() + abi::CHUNK_ALIGN;
        assert!(arena.grow(top), "there is room for what contexts are folded into");
        let soft_limit = arena.u64_at(header::SOFT_LIMIT).load(Ordering::Relaxed);
        assert_eq!((limit(), soft_limit), (top + LEAST_STEP, 0), "the runtime folds");
        assert!(arena.grow(limit() + abi::CHUNK_ALIGN));
        assert!(arena.has_room_for_profile(GIVEN / 16).is_ok());
        left(1 << 20);
        assert!(!arena.grow(limit() + abi::CHUNK_ALIGN));
        let is_remembered = || crate::lock(&arena.ready).refused.is_some();
        assert!(is_remembered());
        assert!(arena.has_room_for_profile(2 << 20).is_err());
        // Not asked of the group at each call, but in the end.
        left(GIVEN / 16);
        let begin = Instant::now();
        while !arena.grow(limit() + abi::CHUNK_ALIGN) {
            assert!(begin.elapsed() < Duration::from_secs(60), "refused for ever");
        }
        assert!(!is_remembered());
        std::fs::remove_dir_all(&root).unwrap();
    }
}
