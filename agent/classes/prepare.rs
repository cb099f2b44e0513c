//! Weaving a class, whoever asks for it: the VM that loads it, or the agent ahead of that.

use super::{Classes, EntryId};
use crate::policy::ClassPolicy;
use crate::{faults, lock, thread_fields};
use cprof_instrument::abi::{self, MethodEntry};
use cprof_instrument::classfile::{ClassFile, Method};
use cprof_instrument::weave::{self, SkipReason, Treatment, Weaver, Woven};
use cprof_profile::names;
use cprof_profile::recording::log::{self, ClassEntry, Entry};
use rustc_hash::FxHasher;
use std::cell::RefCell;
use std::hash::{Hash, Hasher};

/// By name and content, without running numbers: a class that is defined again, by another loader for instance, has the same
/// methods.
pub(super) type Key = (Box<str>, u64);

/// A class that is not known yet, woven.
pub struct Prepared {
    pub(super) key: Key,
    pub(super) name: String,
    pub(super) outcome: Result<Option<Woven>, String>,
    /// Why not all of its methods are covered.
    pub(super) adds_methods: Option<&'static str>,
    /// Its record in the class log.
    pub(super) record: Vec<u8>,
}

/// A class's key. Up to JDK 17 and in some cases later, the name of a lambda or an accessor has a running number, inside the
/// class file too, which would make the same code of each new loader another class, to be kept for ever. `numbers`: they are part
/// of the key.
fn key(class: &ClassFile, hidden: bool, numbers: bool) -> Key {
    let mut hasher = FxHasher::default();
    let name = class.name_str();
    let stable = if numbers { name.to_string() } else { names::stable(&name, hidden) };
    let mut rest = class.bytes;
    if stable.len() < name.len() {
        // Where the name is a constant of its own, with its length before it (JVMS 4.4.7): inside of others it stays. No modified
        // UTF-8 has a zero, and hardly a class a name of more than 255 bytes; if these two are of another constant's text, the
        // classes are two.
        let constant = [&(name.len() as u16).to_be_bytes(), name.as_bytes()].concat();
        while let Some(at) = rest.windows(constant.len()).position(|bytes| bytes == constant) {
            rest[..at].hash(&mut hasher);
            rest = &rest[at + constant.len()..];
        }
    }
    rest.hash(&mut hasher);
    // What the log says of one does not hold for the other.
    hidden.hash(&mut hasher);
    (stable.into(), hasher.finish())
}

/// A class's number in [`MethodEntry`].
fn number(name: &[u8]) -> u16 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    (hasher.finish() as u16).max(1)
}

/// The bytes that the VM uses instead, if there is a difference.
pub(super) fn changed(woven: Option<Woven>, length: usize) -> Option<Vec<u8>> {
    woven.filter(|woven| !woven.methods.is_empty() || woven.bytes.len() != length).map(|woven| woven.bytes)
}

thread_local! {
    static WEAVER: RefCell<Weaver> = RefCell::new(Weaver::new());
}

/// Hands out ids while a class is woven, or the ids it had before.
struct Numbering<'a> {
    classes: &'a Classes,
    policy: ClassPolicy<'a>,
    /// What [`MethodEntry::class`] and [`MethodEntry::superclass`] are in its constructors.
    family: [u16; 2],
    /// Of a class that is woven again: its methods' places in the class file, in their order, and their ids.
    before: Option<Vec<(u16, u32)>>,
}

impl weave::Policy for Numbering<'_> {
    fn treat(&mut self, class: &ClassFile<'_>, method: &Method<'_>) -> Result<Treatment, &'static str> {
        self.policy.treat(class, method)
    }

    fn adds_methods(&self) -> bool {
        self.classes.sight.is_none()
    }

    /// An id's low bits are its colour.
    fn id(&mut self, method: &Method<'_>, counters: u16, leaf: bool) -> Option<u32> {
        // A method that was not woven, being too large for instance, has none and gets none.
        if let Some(before) = &self.before {
            return before.binary_search_by_key(&method.index, |&(index, _)| index).ok().map(|at| before[at].1);
        }
        let id = lock(&self.classes.colours).id(method);
        let code_length = method.code_length()?.try_into().ok()?;
        let [class, superclass] = if method.is_constructor() { self.family } else { [0; 2] };
        let entry = MethodEntry { counters, leaf, code_length, class, superclass };
        (id < abi::MAX_METHODS && self.classes.arena.add_method(id, entry)).then_some(id)
    }
}

impl Classes {
    /// A class's key in this run.
    pub(super) fn key(&self, class: &ClassFile, hidden: bool) -> Key {
        key(class, hidden, self.policy.tells_numbers())
    }

    /// Weaves a class of the boot loader's before the VM loads it. `None`: it cannot be read.
    pub fn weave_ahead(&self, bytes: &[u8]) -> Option<Prepared> {
        // Classes with seeds stay as they are.
        debug_assert!(!self.deterministic);
        let class = ClassFile::parse(bytes).ok()?;
        Some(self.prepare(&class, self.key(&class, false), "", false, &self.woven_for.options))
    }

    /// Weaves a class that is not known yet.
    pub(super) fn prepare(
        &self,
        class: &ClassFile<'_>,
        key: Key,
        loader: &str,
        hidden: bool,
        options: &weave::Options,
    ) -> Prepared {
        lock(&self.colours).note_calls(class);
        let outcome = self.transform(class, self.numbering(class, None), options);
        let woven = outcome.as_ref().ok().and_then(Option::as_ref);
        let skipped = woven
            .iter()
            .flat_map(|w| &w.skipped)
            .filter(|s| s.reason != SkipReason::Policy(log::NOT_SELECTED))
            .map(|s| (s.index, s.reason.to_string()))
            .collect();
        let methods = woven.iter().flat_map(|w| &w.methods).map(|m| (m.index, m.id, m.level)).collect();
        let name = class.name_str().into_owned();
        let mut record = Vec::with_capacity(class.bytes.len() + 1024);
        let entry = ClassEntry { name: &name, loader, hidden, bytes: class.bytes, methods, skipped };
        log::encode(&Entry::Class(entry), &mut record);
        Prepared { adds_methods: self.policy.adds_methods(class), key, name, outcome, record }
    }

    /// Weaves a class whose methods have ids.
    pub(super) fn weave_again(
        &self,
        class: &ClassFile<'_>,
        ids: Vec<(u16, u32)>,
        options: &weave::Options,
    ) -> Result<Option<Woven>, String> {
        self.transform(class, self.numbering(class, Some(ids)), options)
    }

    /// `before`: the ids that its methods have.
    fn numbering(&self, class: &ClassFile<'_>, before: Option<Vec<(u16, u32)>>) -> Numbering<'_> {
        let family = [Some(class.name()), class.super_name()].map(|name| name.map_or(0, number));
        Numbering { classes: self, policy: self.policy.class(class), family, before }
    }

    /// What the VM gets to see of a class.
    fn transform(
        &self,
        class: &ClassFile<'_>,
        mut numbering: Numbering,
        options: &weave::Options,
    ) -> Result<Option<Woven>, String> {
        let wider = if self.sight.is_none() && class.name() == b"java/lang/Thread" {
            Some(thread_fields::add(class).ok_or("its fields cannot be found; cprof cannot keep contexts in it")?)
        } else {
            None
        };
        let weave = || {
            faults::pass("weaver");
            // A weaver that panicked is not used again.
            let mut weaver = WEAVER.try_with(RefCell::take).unwrap_or_default();
            let woven = match &wider {
                Some(bytes) => weaver.weave(bytes, options, &mut numbering),
                None => weaver.weave_parsed(class, options, &mut numbering),
            };
            let _ = WEAVER.try_with(|place| place.replace(weaver));
            woven
        };
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(weave)) {
            Ok(Ok(woven)) => Ok(woven),
            Ok(Err(error)) => Err(format!("the class file cannot be changed: {error}")),
            Err(_) => Err("internal error of cprof while it was changed; please report it with the class file".to_owned()),
        }
    }

    /// Weaves a logged class once more, to learn where its bytecodes went: per method, as in [`weave::WovenMethod::map`].
    pub fn maps(&self, number: EntryId, entry: &ClassEntry) -> Option<Woven> {
        let ids = entry.methods.iter().map(|&(index, id, _)| (index, id)).collect();
        let class = ClassFile::parse(entry.bytes).ok()?;
        let adopted = lock(&self.adopted).get(&number).map(|woven_for| woven_for.options);
        let mut numbering = self.numbering(&class, Some(ids));
        if adopted.is_some() {
            // What has an id was selected, whatever the patterns are by now.
            numbering.policy.select();
        }
        let inherited_calls = self.inherited_calls(entry.loader);
        let options = weave::Options { inherited_calls, maps: true, ..adopted.unwrap_or(self.woven_for.options) };
        self.transform(&class, numbering, &options).ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::key;
    use cprof_instrument::classfile::ClassFile;
    use cprof_synthetic::classes::ClassWriter;

    #[test]
    fn running_numbers_make_no_other_class() {
        let class = |name: &str, of: &str| ClassWriter::new(name, of).finish();
        let keys = |bytes: &[u8], hidden, numbers| key(&ClassFile::parse(bytes).unwrap(), hidden, numbers);
        let key = |name: &str, of: &str, hidden| keys(&class(name, of), hidden, false);
        let lambda = key("a/B$$Lambda$9", "java/lang/Object", true);
        assert_eq!(lambda, key("a/B$$Lambda$10", "java/lang/Object", true));
        assert_ne!(lambda, key("a/B$$Lambda$10", "java/lang/Thread", true), "other code");
        assert_ne!(lambda, key("a/C$$Lambda$9", "java/lang/Object", true), "of another class");
        assert_ne!(lambda, key("a/B$$Lambda$9", "java/lang/Object", false), "an ordinary class");
        // A class whose superclass's name has its own in it, behind one letter or another.
        assert_ne!(key("a/B$1", "x/ILa/B$1;", true), key("a/B$2", "x/ZLa/B$2;", true), "the name is part of another constant");
        let accessor = |number| key(&format!("jdk/internal/reflect/GeneratedMethodAccessor{number}"), "java/lang/Object", false);
        assert_eq!(accessor(1), accessor(1234));
        let ordinary = |name| key(name, "java/lang/Object", false);
        assert_ne!(ordinary("a/B$1"), ordinary("a/B$2"));
        assert_eq!(ordinary("a/B$1"), ordinary("a/B$1"));
        let told_apart = |number| keys(&class(&format!("a/B$$Lambda${number}"), "java/lang/Object"), true, true);
        assert_ne!(told_apart(9), told_apart(10), "a pattern may fit one of them");
    }
}
