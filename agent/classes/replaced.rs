//! Woven code that is gone. A Java agent that can retransform is shown woven code, as it comes after cprof; where it gives the
//! class bytes that it has not made from those, but read from a file for instance, nobody asks cprof again (JVMTI,
//! RetransformClasses), and the class is not counted. Its code tells, before a profile is written. That takes some microseconds
//! for each class, so that it is done only where there may be such an agent.

use super::{Classes, EntryId};
use crate::attach::events;
use crate::faults;
use crate::jni::Jni;
use crate::jvmti::Error;
use crate::lock;
use cprof_instrument::classfile::{ClassFile, Pool};
use cprof_instrument::weave;
use cprof_profile::recording::Log;
use jni_sys::jclass;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

/// The boot loader's class by which all Java agents are asked, in all releases.
const JAVA_AGENTS: &str = "sun/instrument/InstrumentationImpl";

const REPLACED: &str =
    "another agent gave it, or some of its methods, code of its own, without cprof's in it, which is not counted";

/// Names and descriptors.
type Methods = HashSet<(String, String)>;

/// A class with code of another length than it was woven to.
struct Suspect {
    class: jclass,
    name: String,
    /// What was woven for it: several, where it was redefined, or the VM refused that.
    versions: Vec<EntryId>,
}

impl Classes {
    /// Lists the classes whose woven code another agent has replaced.
    pub fn list_replaced(&self, jni: Jni) -> Result<(), String> {
        faults::pass("replaced");
        // Without memory classes are left alone.
        if !lock(&self.known).has(0, JAVA_AGENTS) || self.short.load(Ordering::Acquire) {
            return Ok(());
        }
        jni.in_frame(|| {
            let classes = self.jvmti.loaded_classes().map_err(|e| e.to_string())?;
            let suspects: Vec<Suspect> = classes.into_iter().filter_map(|class| self.suspect(class)).collect();
            if suspects.is_empty() {
                return Ok(());
            }
            let records = self.log.records();
            let log = Log::read(&records);
            for suspect in suspects {
                match self.is_replaced(&log, &suspect) {
                    Ok(true) if !self.is_event(jni, suspect.class) => self.not_covered(&suspect.name, REPLACED),
                    Ok(_) => {}
                    Err(why) => self.not_covered(
                        &suspect.name,
                        &format!("whether another agent has replaced its code is not known ({why}): it may be counted in part"),
                    ),
                }
            }
            Ok(())
        })
    }

    /// A loaded class, if others may have changed its code.
    fn suspect(&self, class: jclass) -> Option<Suspect> {
        let (loader, name) = self.key_of(class)?;
        let versions = lock(&self.known).woven_versions(loader, &name);
        // In a running JVM a class may be known as woven a moment before it is, but not when it has been initialised.
        if versions.is_empty() || self.sight.is_some() && !self.jvmti.is_initialised(class) {
            return None;
        }
        // An error: it is not prepared yet, and has run none.
        let methods = self.jvmti.class_methods(class).ok()?;
        let length: u64 = methods.into_iter().filter_map(|method| self.jvmti.code_length(method)).sum();
        let is_as_woven = versions.iter().any(|&(_, woven)| woven == length);
        (!is_as_woven).then(|| Suspect { class, name, versions: versions.into_iter().map(|(entry, _)| entry).collect() })
    }

    /// Whether fewer methods count than were woven in the version that the VM has: of those whose methods are all there, the one
    /// with most. Others it has refused; and agents may add methods.
    fn is_replaced(&self, log: &Log<'_>, suspect: &Suspect) -> Result<bool, String> {
        let said = |error: Error| error.to_string();
        let pool = self.jvmti.constant_pool(suspect.class).map_err(said)?;
        let pool = Pool::alone(&pool).map_err(|e| e.to_string())?;
        let (mut all, mut counting) = (Methods::new(), 0);
        for method in self.jvmti.class_methods(suspect.class).map_err(said)? {
            all.insert(self.jvmti.method_name(method).map_err(said)?);
            if self.jvmti.code_length(method).is_some() {
                counting += usize::from(weave::calls_runtime(&pool, &self.jvmti.bytecodes(method).map_err(said)?));
            }
        }
        let versions = suspect.versions.iter().filter_map(|&entry| woven_methods(log, entry));
        let woven = versions.filter(|woven| woven.is_subset(&all)).map(|woven| woven.len()).max();
        Ok(counting == 0 || woven.is_some_and(|woven| counting < woven))
    }

    /// Whether a class is one of JFR's events, some methods of which it gives bodies of its own after all agents have seen them
    /// (JDK 25, jfrEventClassTransformer.cpp).
    fn is_event(&self, jni: Jni, class: jclass) -> bool {
        let name = |class| self.jvmti.class_name(class).unwrap_or_default();
        std::iter::successors(jni.superclass(class), |&above| jni.superclass(above))
            .any(|above| events::BASES.contains(&name(above).as_bytes()))
    }
}

/// The methods of an entry that were woven.
fn woven_methods(log: &Log<'_>, entry: EntryId) -> Option<Methods> {
    let logged = log.classes.get(entry as usize)?;
    let class = ClassFile::parse(logged.bytes).ok()?;
    let methods = logged.methods.iter().filter_map(|&(index, ..)| class.methods.get(usize::from(index)));
    Some(methods.map(|method| (method.name_str().into_owned(), method.descriptor_str().into_owned())).collect())
}
