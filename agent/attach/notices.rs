//! What the agent has to say while it is in a JVM that it was attached to: that JVM's standard error is not ours. It is kept for
//! the answer to the next command, and for the profile.

use crate::{Agent, lock};
use cprof_profile::recording::Log;
use cprof_profile::recording::log::Entry;
use std::sync::Mutex;

/// More than this, and something says the same over and over.
const MOST: usize = 64;
const MORE: &str = "there was more to say, which was not kept";

/// `None`: messages go to stderr.
static KEPT: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// From here on messages are kept.
pub fn begin() {
    lock(&KEPT).get_or_insert_default();
}

/// From here on they are not. Answers what was kept since the last time.
pub fn end() -> Vec<String> {
    lock(&KEPT).take().unwrap_or_default()
}

/// Keeps a message; false when it is to go to stderr.
pub fn keep(text: &str) -> bool {
    match &mut *lock(&KEPT) {
        Some(kept) => {
            match kept.len() {
                0..MOST => kept.push(text.to_owned()),
                MOST => kept.push(MORE.to_owned()),
                _ => {}
            }
            true
        }
        None => false,
    }
}

/// What was kept since the last time.
pub fn take() -> Vec<String> {
    lock(&KEPT).as_mut().map(std::mem::take).unwrap_or_default()
}

/// As [`take`], and has it in the recording's profile.
pub fn tell(agent: &Agent) -> Vec<String> {
    let notices = take();
    if !notices.is_empty() {
        let records = agent.log.records();
        let known = Log::read(&records).warnings;
        let new = notices.iter().filter(|notice| !known.contains(&notice.as_str()));
        new.for_each(|notice| agent.log.append(&Entry::Warning(notice)));
    }
    notices
}
