//! Woven code that another agent has kept, and has given to a class again by redefining it: as an agent that comes after cprof can, to which
//! the VM shows what cprof made. It is not woven twice. When cprof leaves, such a class stays woven, as hidden ones do.

use super::{Classes, FIRST_CLASS_TAG};
use crate::attach::leftovers::Lasting;
use crate::jni::Jni;
use crate::lock;
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::weave;
use cprof_profile::recording::log::Entry;
use jni_sys::jclass;

/// Of a class that this recording knows.
const KEPT: &str = "another agent gave it code that it had kept, with cprof's in it: what was woven is counted, and what that agent added is not. Agents \
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

impl Classes {
    /// Whether the class that comes has woven code already, and stays as it is. `changed`: it is loaded, and gets this code; or null.
    pub(super) fn is_kept(&self, class: &ClassFile<'_>, changed: jclass) -> bool {
        let is_woven = weave::is_woven(class);
        if is_woven {
            let name = class.name_str();
            if !changed.is_null() && self.entry_of(changed).is_some() {
                self.not_covered(&name, KEPT);
            } else {
                lock(&self.kept).strange.push(name.clone().into_owned());
                self.not_covered(&name, STRANGE);
                self.log.append(&Entry::Warning(&format!(
                    "the counts of some methods are wrong: {}: {STRANGE}",
                    name.replace('/', ".")
                )));
            }
        } else if !changed.is_null() && self.was_left(changed) {
            self.is_clean(changed);
        }
        is_woven
    }

    /// Whether a class is known by itself, not by its name: it is hidden, or an earlier recording left it woven.
    pub fn was_left(&self, class: jclass) -> bool {
        self.jvmti.tag(class).is_ok_and(|tag| tag >= FIRST_CLASS_TAG)
    }

    /// A class that was left woven by an earlier recording has its own code again.
    fn is_clean(&self, class: jclass) {
        let entry = self.entry_of(class);
        lock(&self.lasting).retain(|left| Some(left.entry) != entry);
        // An error: its frames are taken for those of the code that it had.
        let _ = self.jvmti.set_tag(class, 0);
    }

    /// The classes that came with woven code of which this recording knows nothing.
    pub fn strange(&self) -> Vec<String> {
        lock(&self.kept).strange.clone()
    }

    /// A class comes while cprof leaves, and gets the code that it comes with.
    pub fn leaves(&self, jni: Option<Jni>, class: jclass, bytes: &[u8]) -> Option<()> {
        let file = ClassFile::parse(bytes).ok().filter(|_| !class.is_null())?;
        if !weave::is_woven(&file) {
            return None;
        }
        if !self.was_left(class)
            && let Some(entry) = self.entry_of(class)
        {
            lock(&self.lasting).push(Lasting { class: jni?.watch(class), entry, woven_for: self.weaves_for() });
        }
        lock(&self.kept).stay.push(file.name_str().into_owned());
        Some(())
    }

    /// The classes that got woven code while cprof leaves.
    pub fn stay_woven(&self) -> Vec<String> {
        lock(&self.kept).stay.clone()
    }
}
