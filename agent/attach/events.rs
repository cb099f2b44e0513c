//! Classes of JFR's events that are loaded while the agent is in a running JVM.
//!
//! HotSpot adds fields and methods to such a class behind the class file load hook, and shows what came of it whenever the class
//! is to be changed (JDK 25, jfrEventClassTransformer.cpp, `cache_class_file_data`; JFR need not be recording). Woven as it is
//! loaded, it could not be changed back. So it is loaded as it is, and woven by retransformation when it is ready to run, which
//! leaves what is shown alone.

use crate::lock;
use cprof_instrument::classfile::ClassFile;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// The classes that JFR changes, and their subclasses (JDK 17 to 25).
pub const BASES: [&[u8]; 2] = [b"jdk/internal/event/Event", b"jdk/jfr/Event"];

/// Which classes are events.
#[derive(Default)]
pub struct Events(Mutex<Names>);

#[derive(Default)]
struct Names {
    /// Subclasses of the bases that were seen.
    events: HashSet<Box<[u8]>>,
    /// Loaded and not ready to run yet: by how many loaders.
    waiting: HashMap<Box<[u8]>, usize>,
}

impl Events {
    /// Whether a class that is being loaded, or changed, is to wait until it is ready.
    pub fn is_to_wait(&self, class: &ClassFile<'_>, loading: bool) -> bool {
        let mut names = lock(&self.0);
        let is = |name: &[u8]| BASES.contains(&name) || names.events.contains(name);
        if !is(class.name()) && !class.super_name().is_some_and(is) {
            return false;
        }
        names.events.insert(class.name().into());
        if loading {
            *names.waiting.entry(class.name().into()).or_default() += 1;
        }
        loading
    }

    /// Whether any class waits.
    pub fn any_waits(&self) -> bool {
        !lock(&self.0).waiting.is_empty()
    }

    /// Whether one of this name has waited; now it does not any more.
    pub fn has_waited(&self, name: &str) -> bool {
        let mut names = lock(&self.0);
        let Some(waiting) = names.waiting.get_mut(name.as_bytes()) else { return false };
        *waiting -= 1;
        if *waiting == 0 {
            names.waiting.remove(name.as_bytes());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cprof_synthetic::classes::ClassWriter;

    #[test]
    fn events_and_what_extends_them_wait_once() {
        let events = Events::default();
        let is_to_wait = |name: &str, of: &str, loading| {
            let bytes = ClassWriter::new(name, of).finish();
            events.is_to_wait(&ClassFile::parse(&bytes).unwrap(), loading)
        };
        assert!(!is_to_wait("a/B", "java/lang/Object", true));
        assert!(!events.any_waits());
        assert!(!is_to_wait("a/Event", "jdk/jfr/Event", false), "it is there already");
        assert!(is_to_wait("a/Sub", "a/Event", true) && is_to_wait("a/Sub", "a/Event", true), "two loaders");
        assert!(is_to_wait("jdk/internal/event/Event", "java/lang/Object", true));
        assert!(events.has_waited("a/Sub") && events.has_waited("a/Sub") && !events.has_waited("a/Sub"));
        assert!(events.any_waits());
    }
}
