//! Makes intrinsic methods run as the bytecode they have: at launch a VM flag does that, which is read only then.
//!
//! `Method::_intrinsic_id` says which intrinsic a method is; 0 is none. The VM describes where it is (`crate::vm_structs`).

use crate::Agent;
use crate::intrinsics::KEPT;
use crate::jvmti::MethodId;
use crate::vm::Vm;
use crate::vm_structs::{Library, Structs};
use jni_sys::jclass;

/// The latest release whose method ids are known to be addresses.
const LATEST: u32 = 25;

/// Where the VM keeps things.
pub struct Methods {
    intrinsic: usize,
    constant: usize,
    max_locals: usize,
}

impl Methods {
    /// `None`: this VM does not say, or has ids that are no addresses (JDK 26, JDK-8268406).
    pub fn find(vm: Vm, feature: u32) -> Option<Methods> {
        if feature > LATEST {
            return None;
        }
        let structs = Structs::open(&Library::of(vm)?)?;
        let offset = |type_name, field| structs.field(type_name, field).map(|field| field.offset);
        Some(Methods {
            intrinsic: offset("Method", "_intrinsic_id")?,
            constant: offset("Method", "_constMethod")?,
            max_locals: offset("ConstMethod", "_max_locals")?,
        })
    }

    /// Takes the intrinsics of a class's woven methods away.
    pub fn clear(&self, agent: &Agent, class: jclass) -> Option<()> {
        let jvmti = agent.jvmti;
        if !jvmti.class_loader(class).ok()?.is_null() {
            return None;
        }
        let name = jvmti.class_name(class)?;
        let woven = agent.classes.intrinsic(&name)?;
        // An error: it is not prepared yet, and comes again when it is.
        for method in jvmti.class_methods(class).ok()? {
            let Ok(known) = jvmti.method_name(method) else { continue };
            if woven.contains(&known) && !KEPT.contains(&(name.as_str(), known.0.as_str())) && !self.clear_one(agent, method) {
                agent
                    .classes
                    .not_covered(&name, "its intrinsic methods cannot be found in this JVM: compiled code may not count them");
                return None;
            }
        }
        Some(())
    }

    /// False when the method is not where it is expected, and nothing was written.
    fn clear_one(&self, agent: &Agent, method: MethodId) -> bool {
        let Ok(locals) = agent.jvmti.max_locals(method) else { return false };
        // SAFETY: a jmethodID is the address of the Method's address (method.cpp, `Method::resolve_jmethod_id`, up to JDK 25),
        // valid while its class is loaded, to which the caller has a reference. That this is so is checked by a number that the
        // VM has given us as well, before the one write: two bytes that only compilers read, each time anew.
        unsafe {
            let method = *method.cast::<*mut u8>();
            let constant = *method.add(self.constant).cast::<*const u8>();
            if i32::from(*constant.add(self.max_locals).cast::<u16>()) != locals {
                return false;
            }
            method.add(self.intrinsic).cast::<u16>().write_volatile(0);
        }
        true
    }
}
