//! From one attach to the next: hidden classes, and those to which another agent gave woven code, stay woven when the agent
//! leaves, as nothing can change them back, and are taken over when it comes again.

use super::known::Made;
use super::{Classes, EntryId, FIRST_CLASS_TAG};
use crate::attach::leftovers::{Entering, Lasting, Leftover, WovenMethod};
use crate::jni::Jni;
use crate::jvmti::MethodId;
use crate::{faults, lock, memory};
use cprof_instrument::abi::MethodEntry;
use cprof_profile::names::dotted;
use cprof_profile::recording::Log;
use cprof_profile::recording::log::{ClassEntry, Entry};
use std::collections::HashSet;

impl Classes {
    /// The woven classes of this run that nothing can change back and that are still there. `None`: what they are is not known
    /// any more.
    pub fn leave(&self, jni: Jni) -> Option<Vec<Leftover>> {
        faults::pass("leftovers");
        let bytes = self.log.records();
        let log = Log::read(&bytes);
        let alive = lock(&self.lasting).take_alive(jni);
        let leftovers = alive.into_iter().map(|Lasting { class, entry }| {
            let logged = log.classes.get(entry as usize)?;
            let methods =
                logged.methods.iter().map(|&(index, id, level)| WovenMethod { index, id, level, entry: self.arena.method(id) });
            Some(Leftover {
                class,
                name: logged.name.to_owned(),
                loader: logged.loader.to_owned(),
                hidden: logged.hidden,
                bytes: logged.bytes.to_vec(),
                methods: methods.collect(),
                skipped: logged.skipped.clone(),
                woven_for: lock(&self.adopted).get(&entry).unwrap_or(&self.woven_for).clone(),
            })
        });
        leftovers.collect()
    }

    /// What ids methods have in their woven code, of which frames are still to be entered.
    pub fn entering(&self, methods: &HashSet<MethodId>) -> Vec<Entering> {
        let bytes = self.log.records();
        let log = Log::read(&bytes);
        let of = |&method: &MethodId| {
            let class = self.jvmti.declaring_class(method).ok().and_then(|class| self.jvmti.class_name(class));
            // Several, where it was redefined; all, where it is not known.
            let alike = log.classes.iter().filter(|c| class.as_deref().is_none_or(|name| name == c.name));
            let ids = alike.flat_map(|class| class.methods.iter().map(|&(_, id, _)| (id, self.arena.method(id))));
            Entering { method: method as usize, ids: ids.collect() }
        };
        methods.iter().map(of).collect()
    }

    /// Never gives these ids to others: frames of an earlier run are to be entered with them. False: the method table has no room.
    pub fn keep_ids(&self, ids: &[(u32, MethodEntry)]) -> bool {
        ids.iter().for_each(|&(id, _)| lock(&self.colours).reserve(id));
        ids.iter().all(|&(id, entry)| self.arena.add_method(id, entry))
    }

    /// Takes over a class of an earlier run: its methods keep their ids.
    pub fn adopt(&self, jni: Jni, left: &Leftover) -> Result<(), String> {
        faults::pass("adopt");
        let Some(class) = jni.local(left.class) else {
            if !jni.is_gone(left.class) {
                return Err(format!(
                    "class {} of an earlier recording cannot be taken over: {}",
                    dotted(&left.name),
                    memory::NONE
                ));
            }
            jni.unwatch(left.class);
            return Ok(());
        };
        let methods: Vec<_> = left.methods.iter().map(|m| (m.index, m.id, m.level)).collect();
        let entered = self.keep_ids(&left.methods.iter().map(|m| (m.id, m.entry)).collect::<Vec<_>>());
        let mut known = lock(&self.known);
        let entry = known.entries.len() as EntryId;
        let ids = methods.iter().map(|&(index, id, _)| (index, id)).collect();
        self.log.append(&Entry::Class(ClassEntry {
            name: &left.name,
            loader: &left.loader,
            hidden: left.hidden,
            bytes: &left.bytes,
            methods,
            skipped: left.skipped.clone(),
        }));
        known.entries.push(Made { ids, code_length: None });
        drop(known);
        lock(&self.adopted).insert(entry, left.woven_for.clone());
        if !entered {
            self.list(&left.name, "it is of an earlier attach, and the method table had no room for it");
        }
        if left.woven_for.differs(&self.woven_for) {
            let reason = "it stays woven for an earlier attach with other options: sites=, cache=, root=, include= and exclude= are for it as they \
                          were then";
            self.list(&left.name, reason);
        }
        // Without the tag its active frames count whole.
        let _ = self.jvmti.set_tag(class, FIRST_CLASS_TAG + i64::from(entry));
        lock(&self.lasting).push(jni, Lasting { class: left.class, entry });
        jni.forget(class);
        Ok(())
    }
}
