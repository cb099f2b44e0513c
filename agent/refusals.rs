//! What the JVM could not do for lack of memory, or for errors of its own. Most callers go on without the answer, so that it
//! would show nowhere: it is kept for the profile.

use crate::lock;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// By function.
static REFUSED: Mutex<BTreeMap<&'static str, Times>> = Mutex::new(BTreeMap::new());

#[derive(Default)]
struct Times {
    all: u64,
    /// How many of them are in a profile.
    told: u64,
}

/// Keeps one.
pub fn note(function: &'static str) {
    lock(&REFUSED).entry(function).or_default().all += 1;
}

/// A run begins: what was kept is not its own.
pub fn begin() {
    lock(&REFUSED).clear();
}

/// All that was kept, as warnings for a profile.
pub fn warnings() -> Vec<String> {
    lock(&REFUSED)
        .iter_mut()
        .map(|(function, times)| {
            times.told = times.all;
            warning(function, times.all)
        })
        .collect()
}

/// What was kept since the last profile was written.
pub fn late() -> Vec<String> {
    let mut refused = lock(&REFUSED);
    let late = refused.iter_mut().filter(|(_, times)| times.told < times.all);
    late.map(|(function, times)| warning(function, times.all - std::mem::replace(&mut times.told, times.all))).collect()
}

fn warning(function: &str, times: u64) -> String {
    format!(
        "the JVM failed in {function} ({times}×), for lack of memory or by an error of its own: coverage, names, or the counts of frames that were \
         active may lack what it was asked for"
    )
}
