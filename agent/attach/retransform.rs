//! Sends loaded classes through the class file load hook again.

use crate::jvmti::{Error, Jvmti};
use jni_sys::jclass;
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

/// What came of it.
#[derive(Default)]
pub struct Outcome {
    /// The classes that the VM refused, and why.
    pub refused: Vec<(jclass, Error)>,
    /// The VM had no memory, metaspace above all, for some of these, or for others that were not tried any more.
    pub no_memory: bool,
    /// The longest time from the last hook of a batch to its end, in which the VM stops the program once: no pause was longer.
    pub longest: Duration,
}

/// Retransforms classes in batches.
pub fn all(jvmti: Jvmti, classes: &[jclass]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut batches: Vec<&[jclass]> = classes.chunks(BATCH).rev().collect();
    let mut short = 0;
    while let Some(batch) = batches.pop() {
        let begin = Instant::now();
        LAST_HOOK.set(None);
        let result = jvmti.retransform(batch);
        outcome.longest = outcome.longest.max(LAST_HOOK.get().unwrap_or(begin).elapsed());
        match (result, batch) {
            (Ok(()), _) => {}
            (Err(error), _) if error.is_out_of_memory() && short == SHORT_OF_MEMORY => {
                outcome.no_memory = true;
                outcome.refused.extend(batches.drain(..).chain([batch]).flatten().map(|&class| (class, error)));
            }
            (Err(error), &[class]) => outcome.refused.push((class, error)),
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
