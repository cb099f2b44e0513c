//! Class loaders, told apart by tags, as their names need not differ. A program may make any number of them: what is kept of each
//! goes when the VM has collected it.

use super::Classes;
use super::claims::AWAITED_TAG;
use crate::jni::Jni;
use crate::jvmti::Jvmti;
use crate::lock;
use cprof_profile::names::dotted;
use jni_sys::jobject;
use rustc_hash::FxHashMap;
use std::sync::Mutex;

/// Names of the JDK's own loaders.
pub(super) const APP_LOADER: &str = "app";
pub(super) const PLATFORM_LOADER: &str = "platform";

/// The loaders that are alive, and those that are not any more and of which something is still kept.
#[derive(Default)]
pub(super) struct Loaders {
    names: Mutex<Names>,
    /// Tags. Not under the lock of the names: the VM says which objects are gone while it holds what answers for tags, and that
    /// is asked under the other lock.
    gone: Mutex<Vec<i64>>,
    /// Held while a loader gets its tag.
    naming: Mutex<()>,
}

#[derive(Default)]
struct Names {
    /// The last tag given out; the first is 1.
    last: i64,
    by_tag: FxHashMap<i64, String>,
}

impl Loaders {
    /// A loader's tag and name; 0 and nothing for the boot loader.
    pub(super) fn tag_and_name(&self, jvmti: Jvmti, jni: Option<Jni>, loader: jobject) -> (i64, String) {
        let Some(jni) = jni.filter(|_| !loader.is_null()) else { return (0, String::new()) };
        let known = || {
            let tag = jvmti.tag(loader).ok().filter(|&tag| tag > 0)?;
            Some((tag, lock(&self.names).by_tag.get(&tag).cloned().unwrap_or_default()))
        };
        // Not under the lock of the names, which every class that is loaded needs: a thread may be suspended in any call of the VM's.
        if let Some(known) = known() {
            return known;
        }
        let class = jni.class_of(loader);
        let name = jvmti.class_name(class).unwrap_or_default();
        jni.forget(class);
        // Of two threads that come with its first classes, one gives the loader its tag.
        let _one_at_a_time = lock(&self.naming);
        if let Some(known) = known() {
            return known;
        }
        let mut names = lock(&self.names);
        names.last += 1;
        let tag = names.last;
        let class = dotted(&name);
        let name = match class.as_str() {
            "jdk.internal.loader.ClassLoaders$AppClassLoader" => APP_LOADER.to_owned(),
            "jdk.internal.loader.ClassLoaders$PlatformClassLoader" => PLATFORM_LOADER.to_owned(),
            _ => format!("{class}@{tag}"),
        };
        names.by_tag.insert(tag, name.clone());
        drop(names);
        // Without a tag the loader gets a new name for each class, which only costs clarity.
        let _ = jvmti.set_tag(loader, tag);
        (tag, name)
    }

    /// The VM has collected an object with this tag.
    pub(super) fn collected(&self, tag: i64) {
        lock(&self.gone).push(tag);
    }

    /// Forgets those that were collected since this was asked. Answers their tags.
    pub(super) fn forget_gone(&self) -> Vec<i64> {
        let gone = std::mem::take(&mut *lock(&self.gone));
        if !gone.is_empty() {
            let mut names = lock(&self.names);
            for tag in &gone {
                names.by_tag.remove(tag);
            }
        }
        gone
    }
}

impl Classes {
    /// That a loader finds the runtime class, or why its classes are not covered; asks it if nobody has.
    pub fn asks(&self, jni: Jni, loader: jobject) -> Result<(), &'static str> {
        let (tag, _) = self.loaders.tag_and_name(self.jvmti, Some(jni), loader);
        self.sight.as_ref().map_or(Ok(()), |sight| sight.sees(self.jvmti, jni, loader, tag))
    }

    /// The VM has collected an object that had a tag.
    pub fn collected(&self, tag: i64) {
        if tag < AWAITED_TAG {
            self.loaders.collected(tag);
        }
    }

    /// Of loaders that are gone nothing is kept. (Not by who says that they are: [`Loaders::collected`].)
    pub(super) fn forget_loaders(&self) {
        for tag in self.loaders.forget_gone() {
            lock(&self.known).forget(tag);
            if let Some(sight) = &self.sight {
                sight.forget(tag);
            }
        }
    }
}
