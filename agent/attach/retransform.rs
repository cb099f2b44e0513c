//! Sends loaded classes through the class file load hook again.

use crate::jni::Jni;
use crate::jvmti::{Error, Jvmti};
use cprof_instrument::classfile::{ClassFile, access};
use jni_sys::{jclass, jobject};
use std::cell::Cell;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Classes at a time. The VM stops all threads once per batch, for a walk over all classes (vmRedefine, `AdjustAndCleanMetadata`)
/// and for the batch itself; the classes are read and woven before, while the program runs.
const BATCH: usize = 1000;
/// And no fewer where the VM refuses some.
const LEAST: usize = 16;

/// So often the VM may say that it has no memory: each time it has collected garbage to find some, and the program's own classes
/// want it, too.
const SHORT_OF_MEMORY: u32 = 4;

/// The class file load hooks of the current thread in this batch.
#[derive(Clone, Copy, Default)]
struct Hooks {
    last: Option<Instant>,
    /// How many were for a class of the batch.
    changed: usize,
}

thread_local! {
    /// The current thread only wants to see code: what it asks for is to be refused.
    static LOOKS: Cell<bool> = const { Cell::new(false) };
    static HOOKS: Cell<Hooks> = const { Cell::new(Hooks { last: None, changed: 0 }) };
}

/// The current thread is done with a class file load hook, of a class that is `changed` or one that is loaded.
pub fn hooked(changed: bool) {
    let before = HOOKS.get().changed;
    HOOKS.set(Hooks { last: Some(Instant::now()), changed: before + usize::from(changed) });
}

/// The bytes to answer in a class file load hook, if any, on a thread that only [looks](look_at): where the class would stay as it
/// is (`woven` is none), such as the VM refuses.
pub fn answer(woven: Option<Vec<u8>>, bytes: &[u8]) -> Option<Vec<u8>> {
    if woven.is_some() || !LOOKS.get() {
        return woven;
    }
    let at = ClassFile::parse(bytes).ok()?.pool.end;
    let mut refusable = bytes.to_vec();
    refusable[at] ^= (access::SYNTHETIC >> 8) as u8;
    Some(refusable)
}

/// Shows a loaded class to the hooks, as its code is known by no other way, and changes nothing. The VM would put code in force
/// that is as it was like any other: it stops the program, throws compiled code away, links `invokedynamic` anew, and forgets
/// breakpoints. It does nothing of that where the class is to have other access flags, which it finds after the hooks and before
/// it verifies (HotSpot 17 to 25, jvmtiRedefineClasses.cpp, `load_new_class_versions`). Other agents that look at the class see one
/// flag changed that says nothing of how it runs.
pub fn look_at(jvmti: Jvmti, class: jclass) -> Result<(), Error> {
    // The VM may link the class for it, and tell of others that it links, which are looked at in turn.
    let outer = LOOKS.replace(true);
    let refused = jvmti.retransform(&[class]);
    LOOKS.set(outer);
    // Ok: the hook had other code for it.
    refused.or_else(|error| if error.is_modifiers_changed() { Ok(()) } else { Err(error) })
}

/// Classes that may be collected at any time, and then are none any more. While one is held the VM cannot collect its loader
/// either: in a program that makes loaders and drops them, classes that were all held through an attach made it collect nothing,
/// find its metaspace too small, and wait longer with the next collection, so that each attach met more of them than the one
/// before.
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

/// Who in a batch of so many is to blame: the VM goes through the classes (`alive` are the places of those that are still there)
/// in their order, JDK 17 links each behind its hook and JDK 25 before. So it is the one that was hooked last, or the one behind.
/// `None`: nobody knows.
fn suspects(batch: usize, alive: &[usize], hooked: usize) -> Option<Range<usize>> {
    let place = |i: usize| alive.get(i).copied();
    let first = place(hooked.saturating_sub(1))?;
    Some(first..place(hooked).map_or(batch, |last| last + 1))
}

/// Retransforms classes in batches. `refused`: is told of each class that the VM refuses, and why.
pub fn all(jvmti: Jvmti, classes: &Watched<'_>, mut refused: impl FnMut(jclass, Error)) -> Outcome {
    let jni = classes.jni;
    let mut outcome = Outcome::default();
    // A class whose initialiser has failed is refused, and with it all of its batch, before any is looked at.
    let has_failed = |&&class: &&jobject| {
        let Some(class) = jni.local(class) else { return false };
        let failed = jvmti.has_failed(class);
        jni.forget(class);
        failed
    };
    let (failed, sound): (Vec<jobject>, Vec<jobject>) = classes.classes.iter().partition(has_failed);
    let mut batches: Vec<&[jobject]> = failed.chunks(1).chain(sound.chunks(BATCH).rev()).collect();
    let mut short = 0;
    // JDK 17 makes the code of all that it is given before it comes to the first that it refuses: where many are, few are given.
    let mut most = BATCH;
    // How many were refused when the culprit was last guessed.
    let mut guessed = None;
    while let Some(batch) = batches.pop() {
        let (batch, rest) = batch.split_at(batch.len().min(most));
        if !rest.is_empty() {
            batches.push(rest);
        }
        let begin = Instant::now();
        HOOKS.set(Hooks::default());
        let (result, places) = jni.in_frame(|| {
            let alive = batch.iter().enumerate().filter_map(|(place, &class)| {
                let found = jni.local(class);
                outcome.no_memory |= found.is_none() && !jni.is_gone(class);
                Some((place, found?))
            });
            let (places, alive): (Vec<usize>, Vec<jclass>) = alive.unzip();
            (jvmti.retransform(&alive), places)
        });
        let hooks = HOOKS.get();
        outcome.longest = outcome.longest.max(hooks.last.unwrap_or(begin).elapsed());
        let mut refuse = |class: jobject, error| {
            outcome.refused += 1;
            if let Some(class) = jni.local(class) {
                refused(class, error);
                jni.forget(class);
            }
        };
        most = if result.is_ok() { (most * 2).min(BATCH) } else { (most / 2).max(LEAST) };
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
                let right = guessed.is_none_or(|before| outcome.refused > before);
                let suspects = suspects(batch.len(), &places, hooks.changed).filter(|_| right && !error.is_out_of_memory());
                let Some(suspects) = suspects else {
                    let (first, second) = batch.split_at(batch.len() / 2);
                    batches.extend([second, first]);
                    continue;
                };
                guessed = Some(outcome.refused);
                let others = [&batch[suspects.end..], &batch[..suspects.start]];
                batches.extend(others.into_iter().filter(|others| !others.is_empty()));
                batches.extend(batch[suspects].chunks(1));
            }
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::suspects;

    #[test]
    fn who_was_hooked_last_or_comes_next_is_to_blame() {
        let alive = [0, 1, 3, 4];
        assert_eq!(suspects(5, &alive, 0), Some(0..1));
        assert_eq!(suspects(5, &alive, 1), Some(0..2));
        assert_eq!(suspects(5, &alive, 2), Some(1..4), "with one that is gone");
        assert_eq!(suspects(5, &alive, 4), Some(4..5));
        assert_eq!(suspects(5, &alive, 5), None, "more than there are");
        assert_eq!(suspects(1, &[0], 0), Some(0..1));
    }
}
