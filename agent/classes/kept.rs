//! Woven code that comes back. An agent that comes after cprof sees what cprof made, and may keep it and give it to the class
//! again, by redefining it; so does JFR with some of its event classes, having changed them (jfrEventClassTransformer.cpp,
//! `cache_class_file_data`). It is not woven twice. What is just as cprof made it is taken for the code that it was made of; what
//! is not stays as it is, also when cprof leaves, like hidden classes.

use super::{Classes, FIRST_CLASS_TAG};
use crate::attach::leftovers::{self, Lasting};
use crate::jni::Jni;
use crate::lock;
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::weave;
use cprof_profile::names::dotted;
use cprof_profile::recording::Log;
use cprof_profile::recording::log::Entry;
use jni_sys::jclass;

/// Of a class that this recording knows.
const KEPT: &str = "another agent gave it changed code with cprof's in it: what was woven is counted, and what that agent added is not. Agents \
                    that come before cprof see code without it";
/// Of any other.
const STRANGE: &str = "another agent gave it code that it had kept of another class or an earlier recording, with cprof's in it: what it runs is counted for \
                       other methods";

/// Names of classes.
#[derive(Default)]
pub(super) struct Kept {
    /// They came with woven code of which this recording knows nothing.
    strange: Vec<String>,
    /// They stay woven when cprof leaves.
    stay: Vec<String>,
}

/// How a class comes.
pub(super) enum Comes {
    /// No code of cprof's is in it.
    Clean,
    /// With the code that was made of this.
    AsMade(Vec<u8>),
    /// With such code that others have changed.
    Changed,
}

impl Classes {
    /// How a class comes. `changed`: it is loaded, and gets this code; or null.
    pub(super) fn comes(&self, jni: Option<Jni>, class: &ClassFile<'_>, changed: jclass) -> Comes {
        if !weave::is_woven(class) {
            if let Some(jni) = jni
                && !changed.is_null()
                && self.is_tagged(changed)
            {
                self.forget_left(jni, changed);
            }
            return Comes::Clean;
        }
        if let Some(original) = self.original(class, changed) {
            return Comes::AsMade(original);
        }
        let name = class.name_str();
        if !changed.is_null() && self.entry_of(changed).is_some() {
            self.list(&name, KEPT);
        } else {
            lock(&self.kept).strange.push(name.clone().into_owned());
            self.list(&name, STRANGE);
            let name = dotted(&name);
            self.log.append(&Entry::Warning(&format!("the counts of some methods are wrong: {name}: {STRANGE}")));
        }
        Comes::Changed
    }

    /// What the agent made this woven code of, now or for an earlier recording.
    fn original(&self, class: &ClassFile<'_>, changed: jclass) -> Option<Vec<u8>> {
        if let Some(original) = leftovers::original(class.bytes) {
            return Some(original);
        }
        let entry = if changed.is_null() { None } else { self.entry_of(changed) }?;
        let records = self.log.records();
        let log = Log::read(&records);
        let logged = log.classes.get(entry as usize)?;
        if self.maps(entry, logged)?.bytes != class.bytes {
            return None;
        }
        leftovers::remember(class.bytes, logged.bytes);
        Some(logged.bytes.to_vec())
    }

    /// Whether a class is known by itself, not by its name: it is hidden, or an earlier recording left it woven.
    pub fn is_tagged(&self, class: jclass) -> bool {
        self.jvmti.tag(class).is_ok_and(|tag| tag >= FIRST_CLASS_TAG)
    }

    /// A class that was left woven by an earlier recording has its own code again: it is known by its name, like others.
    fn forget_left(&self, jni: Jni, class: jclass) {
        let entry = self.entry_of(class);
        lock(&self.lasting).remove(jni, entry);
        // An error: its frames are taken for those of the code that it had.
        let _ = self.jvmti.set_tag(class, 0);
    }

    /// The classes that came with woven code of which this recording knows nothing.
    pub fn strange(&self) -> Vec<String> {
        lock(&self.kept).strange.clone()
    }

    /// A class comes while cprof leaves. Answers other code for it.
    pub fn leaves(&self, jni: Option<Jni>, class: jclass, bytes: &[u8]) -> Option<Vec<u8>> {
        let file = ClassFile::parse(bytes).ok().filter(|_| !class.is_null())?;
        if !weave::is_woven(&file) {
            return None;
        }
        if let Some(original) = self.original(&file, class) {
            return Some(original);
        }
        lock(&self.kept).stay.push(file.name_str().into_owned());
        if !self.is_tagged(class)
            && let Some(entry) = self.entry_of(class)
        {
            let jni = jni?;
            let class = jni.watch(class);
            lock(&self.lasting).push(jni, Lasting { class, entry });
        }
        None
    }

    /// The classes that got woven code while cprof leaves.
    pub fn stay_woven(&self) -> Vec<String> {
        lock(&self.kept).stay.clone()
    }
}
