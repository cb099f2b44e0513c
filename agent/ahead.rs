//! Weaving ahead: the classes that every JVM loads before the program begins are woven by a thread of the agent's while the VM
//! still prepares itself, and the VM's thread finds them done. It takes nothing from a program but the time of a processor that
//! has nothing to do yet.

use crate::{contained, faults, lock, memory, threads};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Lines of: feature releases that load a class, a space, its internal name. Made by `scripts/startup-classes`.
const LIST: &str = include_str!("startup-classes.txt");

/// What was woven ahead; `T` is a class that was.
pub struct Ahead<T> {
    places: Mutex<Places<T>>,
    /// A class is done, or no more will be.
    progress: Condvar,
}

struct Places<T> {
    by_name: FxHashMap<Box<str>, Place<T>>,
    /// The thread runs.
    working: bool,
    /// Somebody waits for progress: to tell nobody is a system call as well.
    awaited: bool,
    /// What is not woven yet will not be needed.
    ended: bool,
}

enum Place<T> {
    /// The thread is at it.
    InWork,
    /// Its class file, and what became of it.
    Done(Vec<u8>, T),
    /// The VM came first, or has it, or it is not woven ahead.
    Passed,
}

impl<T> Default for Ahead<T> {
    fn default() -> Ahead<T> {
        let places = Places { by_name: FxHashMap::default(), working: false, awaited: false, ended: false };
        Ahead { places: Mutex::new(places), progress: Condvar::new() }
    }
}

impl<T: Send + 'static> Ahead<T> {
    /// Begins to weave what a JVM of this feature release loads: `read` finds the class file for a name, `weave` answers `None`
    /// for what must not be woven ahead. Without a second processor, or when no thread can be had, nothing is.
    pub fn begin(
        self: &Arc<Self>,
        feature: u32,
        read: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static,
        weave: impl Fn(&[u8]) -> Option<T> + Send + 'static,
    ) {
        if processors() < 2 {
            return;
        }
        let ahead = self.clone();
        lock(&self.places).working = true;
        let started = threads::start("cprof ahead", move || {
            // A panic has been reported, and the class comes to the VM's thread.
            let _ = contained(|| {
                ahead.work(startup_classes(feature), read, weave);
                Ok(())
            });
            ahead.stopped();
        });
        if !started {
            self.stopped();
        }
    }

    fn work<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        read: impl Fn(&str) -> Option<Vec<u8>>,
        weave: impl Fn(&[u8]) -> Option<T>,
    ) {
        for name in names {
            {
                let mut places = lock(&self.places);
                if places.ended || memory::is_short() {
                    return;
                }
                if places.by_name.contains_key(name) {
                    continue;
                }
                places.by_name.insert(name.into(), Place::InWork);
            }
            faults::pass("weave ahead");
            let done = read(name).and_then(|bytes| weave(&bytes).map(|woven| Place::Done(bytes, woven)));
            let mut places = lock(&self.places);
            places.by_name.insert(name.into(), done.unwrap_or(Place::Passed));
            if std::mem::take(&mut places.awaited) {
                self.progress.notify_all();
            }
        }
    }

    /// The thread weaves no more.
    fn stopped(&self) {
        let mut places = lock(&self.places);
        places.working = false;
        let ended = places.ended;
        places.by_name.retain(|_, place| !ended && matches!(place, Place::Done(..)));
        self.progress.notify_all();
    }

    /// A class of the boot loader's with these bytes, if it was woven ahead. Waits if that is being done.
    pub fn take(&self, name: &str, bytes: &[u8]) -> Option<T> {
        let mut places = lock(&self.places);
        while let Some(Place::InWork) = places.by_name.get(name) {
            places.awaited = true;
            places = self.progress.wait(places).unwrap_or_else(PoisonError::into_inner);
        }
        let before = if places.working { places.by_name.insert(name.into(), Place::Passed) } else { places.by_name.remove(name) };
        match before {
            Some(Place::Done(ahead, woven)) if ahead == bytes => Some(woven),
            _ => None,
        }
    }

    /// The program begins: what the VM has not asked for yet it hardly will.
    pub fn end(&self) {
        let mut places = lock(&self.places);
        if !places.ended {
            places.ended = true;
            places.by_name.retain(|_, place| matches!(place, Place::InWork));
        }
    }
}

/// The classes that a JVM of a feature release loads, in order: those of the latest release in the list that is not later.
fn startup_classes(feature: u32) -> impl Iterator<Item = &'static str> {
    let lines = || LIST.lines().filter_map(|line| line.split_once(' '));
    let numbers = |releases: &'static str| releases.split(',').filter_map(|r| r.parse::<u32>().ok());
    let nearest = lines().flat_map(move |(releases, _)| numbers(releases)).filter(|&r| r <= feature).max();
    lines().filter(move |&(releases, _)| numbers(releases).any(|r| Some(r) == nearest)).map(|(_, name)| name)
}

/// Processors that this process may use; 1 if that cannot be told.
fn processors() -> i32 {
    // SAFETY: the set is plain bits, for which zeros are a value, and the kernel writes no more than its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) == 0 { libc::CPU_COUNT(&set) } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn weave(bytes: &[u8]) -> Option<usize> {
        (!bytes.is_empty()).then_some(bytes.len())
    }

    fn read(name: &str) -> Option<Vec<u8>> {
        (name != "missing").then(|| vec![7; name.len() - 1])
    }

    #[test]
    fn a_class_is_had_once_and_only_if_it_is_the_same() {
        let ahead = Ahead::default();
        ahead.work(["missing", "abc", "other", "x"].into_iter(), read, weave);
        ahead.stopped();
        assert_eq!(ahead.take("abc", &[7, 7]), Some(2));
        assert_eq!(ahead.take("abc", &[7, 7]), None, "the VM has it");
        assert_eq!(ahead.take("other", &[7, 7, 7, 8]), None, "another agent has changed it");
        assert_eq!(ahead.take("x", &[]), None, "it must not be woven ahead");
        assert_eq!(ahead.take("missing", &[]), None);
        assert!(lock(&ahead.places).by_name.is_empty());
    }

    #[test]
    fn what_the_vm_has_already_is_not_woven_and_at_the_end_nothing_is() {
        let ahead = Ahead::default();
        lock(&ahead.places).working = true;
        assert_eq!(ahead.take("first", &[7; 4]), None);
        let end_at = |name: &str| {
            assert_ne!(name, "first");
            if name == "third" {
                ahead.end();
            }
            read(name)
        };
        ahead.work(["first", "second", "third", "fourth"].into_iter(), end_at, weave);
        assert!(!lock(&ahead.places).by_name.contains_key("fourth"));
        assert_eq!(ahead.take("second", &[7; 5]), None, "given up at the end");
        assert_eq!(ahead.take("third", &[7; 4]), Some(4), "it was in work then");
        ahead.stopped();
        assert!(lock(&ahead.places).by_name.is_empty());
    }

    /// The one that waits is let go by success and by failure.
    #[test]
    fn who_needs_a_class_in_work_waits() {
        for fails in [false, true] {
            let ahead = Arc::new(Ahead::default());
            lock(&ahead.places).working = true;
            let (begun, has_begun) = mpsc::channel();
            let (go, may_go) = mpsc::channel::<()>();
            let other = ahead.clone();
            let thread = std::thread::spawn(move || {
                let slowly = |bytes: &[u8]| {
                    begun.send(()).unwrap();
                    may_go.recv().unwrap();
                    assert!(!fails, "as ordered");
                    weave(bytes)
                };
                let _ = contained(|| {
                    other.work(["abc"].into_iter(), read, slowly);
                    Ok(())
                });
                other.stopped();
            });
            has_begun.recv().unwrap();
            let waiting = std::thread::spawn(move || ahead.take("abc", &[7, 7]));
            go.send(()).unwrap();
            assert_eq!(waiting.join().unwrap(), (!fails).then_some(2));
            thread.join().unwrap();
        }
    }

    #[test]
    fn the_list_has_every_release_and_begins_with_object() {
        for feature in [17, 20, 21, 25, 26] {
            let classes: Vec<_> = startup_classes(feature).collect();
            assert_eq!(classes[0], "java/lang/Object");
            assert!((400..1000).contains(&classes.len()), "{} classes of release {feature}", classes.len());
        }
        assert!(startup_classes(20).eq(startup_classes(17)));
        assert!(startup_classes(16).next().is_none());
    }
}
