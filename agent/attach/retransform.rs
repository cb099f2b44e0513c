//! Sends loaded classes through the class file load hook again.

use crate::jni::Jni;
use crate::jvmti::{Error, Jvmti};
use jni_sys::{jclass, jobject};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Classes at a time. The VM stops all threads once per batch, for a walk over all classes (vmRedefine, `AdjustAndCleanMetadata`)
/// and for the batch itself; the classes are read and woven before, while the program runs.
const BATCH: usize = 1000;

/// So often the VM may say that it has no memory: each time it has collected garbage to find some, and the program's own classes want it, too.
const SHORT_OF_MEMORY: u32 = 4;

thread_local! {
    static LAST_HOOK: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The current thread is done with a class file load hook.
pub fn hooked() {
    LAST_HOOK.set(Some(Instant::now()));
}

/// Classes that may be collected at any time, and then are none any more. While one is held the VM cannot collect its loader either: in a program that makes
/// loaders and drops them, classes that were all held through an attach made it collect nothing, find its metaspace too small, and wait longer
/// with the next collection, so that each attach met more of them than the one before.
pub struct Watched<'j> {
    jni: Jni<'j>,
    classes: Vec<jobject>,
}

impl<'j> Watched<'j> {
    /// None yet.
    pub fn new(jni: Jni<'j>) -> Watched<'j> {
        Watched { jni, classes: Vec::new() }
    }

    /// One more. False: there is no memory for that.
    pub fn add(&mut self, class: jclass) -> bool {
        let reference = self.jni.watch(class);
        if reference.is_null() {
            return false;
        }
        self.classes.push(reference);
        true
    }

    /// How many there are, or were.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Does something with each that is still there.
    pub fn each(&self, mut body: impl FnMut(jclass)) {
        for batch in self.classes.chunks(BATCH) {
            self.jni.in_frame(|| batch.iter().filter_map(|&class| self.jni.local(class)).for_each(&mut body));
        }
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.classes.iter().for_each(|&class| self.jni.unwatch(class));
    }
}

/// What came of it.
#[derive(Default)]
pub struct Outcome {
    /// How many classes the VM refused.
    pub refused: usize,
    /// The VM had no memory, metaspace above all, for some of these, or for others that were not tried any more.
    pub no_memory: bool,
    /// The longest time from the last hook of a batch to its end, in which the VM stops the program once: no pause was longer.
    pub longest: Duration,
}

/// Retransforms classes in batches. `refused`: is told of each class that the VM refuses, and why.
pub fn all(jvmti: Jvmti, classes: &Watched<'_>, mut refused: impl FnMut(jclass, Error)) -> Outcome {
    let jni = classes.jni;
    let mut outcome = Outcome::default();
    let mut batches: Vec<&[jobject]> = classes.classes.chunks(BATCH).rev().collect();
    let mut short = 0;
    while let Some(batch) = batches.pop() {
        let begin = Instant::now();
        LAST_HOOK.set(None);
        let result = jni.in_frame(|| {
            let alive: Vec<jclass> = batch.iter().filter_map(|&class| jni.local(class)).collect();
            jvmti.retransform(&alive)
        });
        outcome.longest = outcome.longest.max(LAST_HOOK.get().unwrap_or(begin).elapsed());
        let mut refuse = |class: jobject, error| {
            outcome.refused += 1;
            if let Some(class) = jni.local(class) {
                refused(class, error);
                jni.forget(class);
            }
        };
        match (result, batch) {
            (Ok(()), _) => {}
            (Err(error), _) if error.is_out_of_memory() && short == SHORT_OF_MEMORY => {
                batches.drain(..).chain([batch]).flatten().for_each(|&class| refuse(class, error));
                outcome.no_memory = true;
            }
            (Err(error), &[class]) => refuse(class, error),
            // All or none: so the one to blame is searched for.
            (Err(error), _) => {
                short += u32::from(error.is_out_of_memory());
                let (first, second) = batch.split_at(batch.len() / 2);
                batches.extend([second, first]);
            }
        }
    }
    outcome
}
