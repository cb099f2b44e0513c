//! What is known of the classes that were woven: by entry in the log, and by loader and name.

use super::prepare::Key;
use super::{Classes, EntryId, FIRST_CLASS_TAG};
use crate::jni::Jni;
use crate::{intrinsics, lock, runtime};
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::weave::{self, Woven};
use jni_sys::{jclass, jobject};
use rustc_hash::{FxHashMap, FxHashSet};

/// A class in the log: its entry, and the places in the class file of the methods that were woven, with their ids.
pub(super) type Entered = (EntryId, Vec<(u16, u32)>);

/// What was made of a class.
pub(super) struct Made {
    /// The places in the class file of the methods that were woven, and their ids.
    pub(super) ids: Box<[(u16, u32)]>,
    /// Bytes of code that all its methods have then; `None`: that is not known.
    pub(super) code_length: Option<u64>,
}

#[derive(Default)]
pub(super) struct Known {
    /// By entry.
    pub(super) entries: Vec<Made>,
    /// Woven classes that the VM has not taken, of any loader.
    pub(super) refused: FxHashSet<EntryId>,
    /// Classes that were woven.
    pub(super) same: FxHashMap<Key, EntryId>,
    /// By loader's tag (0: boot) and name: for frames.
    pub(super) by_name: FxHashMap<i64, FxHashMap<Box<str>, EntryId>>,
    /// As `by_name`, what was entered before for the same loader and name: the VM may have refused what was entered last, as
    /// another of that name is there, or it is not what a class may become.
    earlier: FxHashMap<i64, FxHashMap<Box<str>, Vec<EntryId>>>,
    /// In a running JVM: methods that were woven in classes with intrinsic ones, as name and descriptor.
    intrinsic: FxHashMap<Box<str>, Vec<(String, String)>>,
}

impl Known {
    /// A class of this loader was entered.
    pub(super) fn name(&mut self, loader: i64, name: &str, entry: EntryId) {
        self.refused.remove(&entry);
        let before = self.by_name.entry(loader).or_default().insert(name.into(), entry);
        if let Some(before) = before.filter(|&before| before != entry) {
            let earlier = self.earlier.entry(loader).or_default().entry(name.into()).or_default();
            if !earlier.contains(&before) {
                earlier.push(before);
            }
        }
    }

    /// All that was entered for a loader and name: the last first, unless it is not woven for a reason.
    fn versions(&self, loader: i64, name: &str) -> impl Iterator<Item = (EntryId, &Made)> {
        let last = self.by_name.get(&loader).and_then(|names| names.get(name));
        let earlier = self.earlier.get(&loader).and_then(|names| names.get(name));
        last.into_iter().chain(earlier.into_iter().flatten()).map(|&entry| (entry, &self.entries[entry as usize]))
    }

    /// The woven versions of a class, with [`Made::code_length`]. None where it was not woven the last time.
    pub(super) fn woven_versions(&self, loader: i64, name: &str) -> Vec<(EntryId, u64)> {
        if !self.has(loader, name) {
            return Vec::new();
        }
        let woven = self.versions(loader, name).filter(|(_, made)| !made.ids.is_empty());
        woven.filter_map(|(entry, made)| Some((entry, made.code_length?))).collect()
    }

    /// The entry of such a class.
    pub(super) fn entered(&self, key: &Key) -> Option<Entered> {
        self.same.get(key).map(|&entry| (entry, self.entries[entry as usize].ids.to_vec()))
    }

    /// Whether a class was entered for a loader and name, and is not left alone since.
    pub(super) fn has(&self, loader: i64, name: &str) -> bool {
        self.by_name.get(&loader).is_some_and(|names| names.contains_key(name))
    }

    /// Whether a class of any loader was entered so.
    pub(super) fn is_named(&self, entry: EntryId) -> bool {
        self.by_name.values().any(|of_loader| of_loader.values().any(|&named| named == entry))
    }

    /// A loader is gone, and its classes are.
    pub(super) fn forget(&mut self, loader: i64) {
        self.by_name.remove(&loader);
        self.earlier.remove(&loader);
    }

    /// The frames of that class are none of woven code, whatever was entered before.
    pub(super) fn unname(&mut self, loader: i64, name: &str) {
        if let Some(of_loader) = self.by_name.get_mut(&loader) {
            of_loader.remove(name);
        }
    }
}

impl Classes {
    /// This loader's class of that name is not woven now, whatever it was before.
    pub fn not_woven(&self, jni: Option<Jni>, loader: jobject, name: &str) {
        let (tag, _) = self.loaders.tag_and_name(self.jvmti, jni, loader);
        lock(&self.known).unname(tag, name);
    }

    /// Keeps which methods of a class lost their intrinsics' bodies to weaving.
    pub(super) fn note_intrinsic(&self, class: &ClassFile<'_>, woven: Option<&Woven>) {
        let Some(woven) = woven.filter(|_| intrinsics::may_have(class.bytes)) else { return };
        let of = |m: &weave::WovenMethod| {
            let method = &class.methods[usize::from(m.index)];
            (method.name_str().into_owned(), method.descriptor_str().into_owned())
        };
        lock(&self.known).intrinsic.insert(Box::from(&*class.name_str()), woven.methods.iter().map(of).collect());
    }

    /// The woven methods of a class with intrinsic ones, as name and descriptor; `None` for any other class.
    pub fn intrinsic(&self, name: &str) -> Option<Vec<(String, String)>> {
        lock(&self.known).intrinsic.get(name).cloned()
    }

    /// How many classes and methods count.
    pub fn covered(&self) -> (usize, usize) {
        let known = lock(&self.known);
        let woven = known.entries.iter().zip(0..).filter(|(made, entry)| !made.ids.is_empty() && !known.refused.contains(entry));
        woven.fold((0, 0), |(classes, methods), (made, _)| (classes + 1, methods + made.ids.len()))
    }

    /// Whether a loaded class counts.
    pub fn is_woven(&self, class: jclass) -> bool {
        self.entry_of(class).is_some_and(|entry| !lock(&self.known).entries[entry as usize].ids.is_empty())
    }

    /// Whether a loaded class counts, or may do so: something that was entered for it, now or before, is woven.
    pub fn may_be_woven(&self, class: jclass) -> bool {
        let any = |(loader, name): (i64, String)| lock(&self.known).versions(loader, &name).any(|(_, made)| !made.ids.is_empty());
        self.is_woven(class) || self.key_of(class).is_some_and(any)
    }

    /// Whether a class is a hidden one that was woven.
    pub fn is_woven_hidden(&self, class: jclass) -> bool {
        self.jvmti.tag(class).is_ok_and(|tag| tag >= FIRST_CLASS_TAG) && self.is_woven(class)
    }

    /// Whether a loaded class is that of the public API, which the agent replaces.
    pub fn is_api(&self, class: jclass) -> bool {
        self.jvmti.class_name(class).is_some_and(|name| name == runtime::API_NAME)
    }

    /// The entry of a loaded class, if it is in the log.
    pub fn entry_of(&self, class: jclass) -> Option<EntryId> {
        let tag = self.jvmti.tag(class).ok()?;
        if tag >= FIRST_CLASS_TAG {
            return EntryId::try_from(tag - FIRST_CLASS_TAG).ok();
        }
        let (tag, name) = self.key_of(class)?;
        lock(&self.known).by_name.get(&tag)?.get(&*name).copied()
    }

    /// The tag of a class's loader, and its name.
    pub(super) fn key_of(&self, class: jclass) -> Option<(i64, String)> {
        let loader = self.jvmti.class_loader(class).ok()?;
        let tag = if loader.is_null() { 0 } else { self.jvmti.tag(loader).ok().filter(|&tag| tag != 0)? };
        Some((tag, self.jvmti.class_name(class)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(ids: &[&[(u16, u32)]]) -> Known {
        let entries = ids.iter().map(|&ids| Made { ids: ids.into(), code_length: Some(1) });
        Known { entries: entries.collect(), ..Known::default() }
    }

    #[test]
    fn what_was_woven_is_remembered_when_something_without_code_comes_by_its_name() {
        let mut known = known(&[&[(0, 16)], &[], &[(0, 17)]]);
        let ids = |known: &Known, name| known.versions(1, name).map(|(_, made)| made.ids.to_vec()).collect::<Vec<_>>();
        known.name(1, "a/Same", 0);
        known.name(1, "a/Same", 0);
        known.name(1, "a/Empty", 1);
        assert_eq!((ids(&known, "a/Same"), ids(&known, "a/Empty")), (vec![vec![(0, 16)]], vec![vec![]]));
        known.name(1, "a/Same", 2);
        known.name(1, "a/Same", 1);
        assert_eq!(ids(&known, "a/Same"), [vec![], vec![(0, 16)], vec![(0, 17)]]);
        assert!(known.versions(2, "a/Same").next().is_none());
        assert_eq!(known.woven_versions(1, "a/Same"), [(0, 1), (2, 1)]);
        known.unname(1, "a/Same");
        assert!(known.woven_versions(1, "a/Same").is_empty() && known.versions(1, "a/Same").next().is_some());
        known.forget(1);
        assert!(known.earlier.is_empty() && known.by_name.is_empty());
    }

    #[test]
    fn what_counts_for_another_loader_is_not_refused() {
        let mut known = known(&[&[(0, 16)]]);
        known.name(1, "a/Same", 0);
        assert!(known.is_named(0));
        known.unname(1, "a/Same");
        assert!(!known.is_named(0));
        known.refused.insert(0);
        known.name(2, "a/Same", 0);
        assert!(known.refused.is_empty() && known.is_named(0));
    }
}
