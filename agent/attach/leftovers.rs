//! What stays in the JVM when the agent leaves: hidden classes cannot be changed back, nor those to which another agent gave
//! woven code, so they go on calling the runtime, which does nothing then. When the agent comes back they count again, under the
//! method ids they have.

use crate::jni::Jni;
use crate::jvmti::{Jvmti, MethodId};
use crate::lock;
use cprof_instrument::Level;
use cprof_instrument::abi::MethodEntry;
use cprof_instrument::weave;
use jni_sys::jobject;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A woven class that cannot be changed back.
pub struct Lasting {
    /// A weak reference.
    pub class: jobject,
    /// Its number in the class log.
    pub entry: u32,
}

/// Those of a run that may be there still.
#[derive(Default)]
pub struct Lastings {
    all: Vec<Lasting>,
    /// How many there are when it is time to see which are.
    full: usize,
}

impl Lastings {
    /// One more. Of those that the VM has collected nothing is kept, sooner or later: a program may define hidden classes without
    /// end. One to which the VM had no memory for a reference stays, and cannot be told from others any more.
    pub fn push(&mut self, jni: Jni, lasting: Lasting) {
        if lasting.class.is_null() {
            return lose();
        }
        const AT_LEAST: usize = 1024;
        if self.all.len() >= self.full.max(AT_LEAST) {
            self.all = self.take_alive(jni);
            self.full = 2 * self.all.len();
        }
        self.all.push(lasting);
    }

    /// Those that are there; they are not here any more.
    pub fn take_alive(&mut self, jni: Jni) -> Vec<Lasting> {
        let mut all = std::mem::take(&mut self.all);
        all.extract_if(.., |lasting| jni.is_gone(lasting.class)).for_each(|lasting| jni.unwatch(lasting.class));
        all
    }

    /// Forgets those with this number, if there is one.
    pub fn remove(&mut self, jni: Jni, entry: Option<u32>) {
        self.all.extract_if(.., |lasting| Some(lasting.entry) == entry).for_each(|lasting| jni.unwatch(lasting.class));
    }
}

/// What woven code differs by.
#[derive(Debug, Clone)]
pub struct WovenFor {
    /// How it was woven.
    pub options: weave::Options,
    /// The patterns of `root=`, `include=` and `exclude=`.
    pub patterns: Arc<[Vec<String>; 3]>,
}

impl WovenFor {
    /// Whether two differ in what does not show in what is counted.
    pub fn differs(&self, other: &WovenFor) -> bool {
        let hidden = |w: &WovenFor| (w.options.sites, w.options.caches);
        hidden(self) != hidden(other) || self.patterns != other.patterns
    }
}

// SAFETY: a weak global reference may be used from any thread (JNI specification, "Global and Local References").
unsafe impl Send for Lasting {}

/// A woven method.
pub struct WovenMethod {
    /// Position in the class file's method table.
    pub index: u16,
    /// Its id.
    pub id: u32,
    /// How its departures are placed.
    pub level: Level,
    /// What the method table says of it.
    pub entry: MethodEntry,
}

/// One of an earlier run.
pub struct Leftover {
    /// A weak reference.
    pub class: jobject,
    /// As in the class log.
    pub name: String,
    /// As in the class log.
    pub loader: String,
    /// As in the class log.
    pub hidden: bool,
    /// As in the class log.
    pub bytes: Vec<u8>,
    /// Its woven methods.
    pub methods: Vec<WovenMethod>,
    /// As in the class log.
    pub skipped: Vec<(u16, String)>,
    /// What it was woven for.
    pub woven_for: WovenFor,
}

impl Leftover {
    /// Its methods, if it is still there. `None`: the VM does not say.
    pub fn method_ids(&self, jvmti: Jvmti, jni: Jni) -> Option<Vec<MethodId>> {
        let Some(class) = jni.local(self.class) else { return jni.is_gone(self.class).then(Vec::new) };
        let methods = jvmti.class_methods(class);
        jni.forget(class);
        methods.ok()
    }
}

// SAFETY: as for Lasting.
unsafe impl Send for Leftover {}

/// A method of a class that has its own code again, which a thread was still to enter when a run ended. It enters it with the id it
/// had, in whatever run that is.
pub struct Entering {
    /// A [`MethodId`], which is only compared.
    pub method: usize,
    /// The ids that it may have, with what the method table says of them.
    pub ids: Vec<(u32, MethodEntry)>,
}

static LEFT: Mutex<Vec<Leftover>> = Mutex::new(Vec::new());
static ENTERING: Mutex<Vec<Entering>> = Mutex::new(Vec::new());
static LOST: AtomicBool = AtomicBool::new(false);
/// Woven code that has come back. Few classes have any.
static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());

struct Made {
    woven: Box<[u8]>,
    original: Box<[u8]>,
}

/// Keeps what woven code was made of: it may come back in another run.
pub fn remember(woven: &[u8], original: &[u8]) {
    lock(&MADE).push(Made { woven: woven.into(), original: original.into() });
}

/// What woven code was made of that came back before.
pub fn original(woven: &[u8]) -> Option<Vec<u8>> {
    lock(&MADE).iter().find(|made| *made.woven == *woven).map(|made| made.original.to_vec())
}

/// Keeps what a run leaves behind, beside what it did not take over from an earlier one.
pub fn keep(leftovers: Vec<Leftover>) {
    lock(&LEFT).extend(leftovers);
}

/// Keeps methods that are still to be entered, beside those of earlier runs.
pub fn keep_entering(methods: Vec<Entering>) {
    let mut kept = lock(&ENTERING);
    for one in methods {
        if kept.iter().all(|known| known.method != one.method) {
            kept.push(one);
        }
    }
}

/// The ids that such methods may have, with what the method table says of them.
pub fn entering_ids() -> Vec<(u32, MethodEntry)> {
    lock(&ENTERING).iter().flat_map(|one| one.ids.iter().copied()).collect()
}

/// Forgets those that have no frame any more, which all are among the `active` methods; and takes the others out of there: they are
/// woven ones.
pub fn still_entering(active: &mut HashSet<MethodId>) {
    lock(&ENTERING).retain(|one| active.remove(&(one.method as MethodId)));
}

/// What is left is not known any more: what it counts in another run would be counted for other methods.
pub fn lose() {
    LOST.store(true, Ordering::Release);
}

/// Whether no other run may begin.
pub fn are_lost() -> bool {
    LOST.load(Ordering::Acquire)
}

/// Hands each to the next run; it stays here when that fails.
pub fn hand_over(mut adopt: impl FnMut(&Leftover) -> Result<(), String>) -> Result<(), String> {
    let mut left = lock(&LEFT);
    while let Some(one) = left.last() {
        adopt(one)?;
        left.pop();
    }
    Ok(())
}
