//! Woven code that is gone. A Java agent that can retransform is shown woven code, as it comes after cprof; where it gives the
//! class bytes that it has not made from those, but read from a file for instance, nobody asks cprof again (JVMTI,
//! RetransformClasses), and the class is not counted. Its code tells, before a profile is written. That takes some microseconds for
//! each class, so that it is done only where there may be such an agent.

use super::Classes;
use super::known::Code;
use crate::attach::events;
use crate::faults;
use crate::jni::Jni;
use crate::jvmti::Error;
use crate::lock;
use cprof_instrument::classfile::Pool;
use cprof_instrument::weave;
use cprof_profile::names::dotted;
use cprof_profile::recording::log::Entry;
use jni_sys::jclass;

/// The class by which all Java agents are asked, in all releases.
const JAVA_AGENTS: &str = "sun/instrument/InstrumentationImpl";

const REPLACED: &str =
    "another agent gave it, or some of its methods, code of its own, without cprof's in it, which is not counted";

impl Classes {
    /// Lists the classes whose woven code another agent has replaced.
    pub fn list_replaced(&self, jni: Jni) -> Result<(), String> {
        faults::pass("replaced");
        if !lock(&self.known).is_boot_class(JAVA_AGENTS) {
            return Ok(());
        }
        jni.in_frame(|| {
            let classes = self.jvmti.loaded_classes().map_err(|e| e.to_string())?;
            classes.into_iter().for_each(|class| self.look_for_woven_code(jni, class));
            Ok(())
        })
    }

    fn look_for_woven_code(&self, jni: Jni, class: jclass) {
        let Some((loader, name)) = self.key_of(class) else { return };
        let mut made = lock(&self.known).codes(loader, &name);
        made.retain(|code| code.methods[0] > 0);
        // In a running JVM a class may be known as woven a moment before it is, but not when it has been initialised.
        if made.is_empty() || self.sight.is_some() && !self.jvmti.is_initialised(class) {
            return;
        }
        match self.methods_now(class, &made) {
            // Fewer methods count, and more do not: methods may be more, which the agent has added, or others, as the class is what it was
            // before the JVM refused another version.
            Ok(Some([counting, bare])) if made.iter().any(|code| counting < code.methods[0] && bare > code.methods[1]) => {
                if !self.is_event(jni, class) {
                    self.not_covered(&name, REPLACED);
                }
            }
            Ok(_) => {}
            Err(why) => self.log.append(&Entry::Warning(&format!(
                "whether another agent has replaced the code of {} is not known ({why}): it may be counted in part",
                dotted(&name)
            ))),
        }
    }

    /// Whether a class is one of JFR's events, some methods of which it gives bodies of its own after all agents have seen them (JDK 25,
    /// jfrEventClassTransformer.cpp).
    fn is_event(&self, jni: Jni, class: jclass) -> bool {
        let name = |class| self.jvmti.class_name(class).unwrap_or_default();
        std::iter::successors(jni.superclass(class), |&above| jni.superclass(above))
            .any(|above| events::BASES.contains(&name(above).as_bytes()))
    }

    /// How many methods of a class count, and how many do not. `None`: its code is as long as it was `made`.
    fn methods_now(&self, class: jclass, made: &[Code]) -> Result<Option<[usize; 2]>, String> {
        let said = |error: Error| error.to_string();
        // An error: it is not prepared yet, and has run none.
        let Ok(methods) = self.jvmti.class_methods(class) else { return Ok(None) };
        let with_code = || methods.iter().filter_map(|&method| Some((method, self.jvmti.code_length(method)?)));
        let length: u64 = with_code().map(|(_, length)| length).sum();
        if made.iter().any(|code| code.length == length) {
            return Ok(None);
        }
        let pool = self.jvmti.constant_pool(class).map_err(said)?;
        let pool = Pool::alone(&pool).map_err(|e| e.to_string())?;
        let mut now = [0, 0];
        for (method, _) in with_code() {
            let counts = weave::calls_runtime(&pool, &self.jvmti.bytecodes(method).map_err(said)?);
            now[usize::from(!counts)] += 1;
        }
        Ok(Some(now))
    }
}
