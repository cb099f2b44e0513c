//! The frames that are active when a profile is taken: each has executed its last block in part only.

use crate::Agent;
use crate::arena::Arena;
use crate::classes::EntryId;
use crate::contexts::{Contexts, Word};
use crate::jni::Jni;
use crate::jvmti::{FrameInfo, Jvmti, MethodId};
use cprof_instrument::abi;
use cprof_instrument::classfile::ClassFile;
use cprof_profile::recording::{Frame, Log, Stack};
use jni_sys::{jclass, jobject};
use std::collections::HashMap;

/// The tag of virtual threads; no loader and no class has it (`crate::classes`).
const VIRTUAL_THREAD_TAG: i64 = i64::MAX;

/// Threads that are stopped while the arena is read, so that stacks and counters belong together. They go on when it is dropped.
pub struct Stopped {
    jvmti: Jvmti,
    suspended: Vec<jobject>,
    /// Virtual threads are stopped too, but for these.
    virtual_but: Option<Vec<jobject>>,
    /// All threads whose stacks are wanted, the current one included.
    threads: Vec<jobject>,
}

impl Stopped {
    /// Stops all threads but the current one. `with_virtual`: some virtual threads have trees.
    pub fn all(jvmti: Jvmti, jni: Jni, with_virtual: bool) -> Stopped {
        let mut threads = jvmti.threads().unwrap_or_default();
        let current = jvmti.current_thread().unwrap_or(std::ptr::null_mut());
        let others: Vec<jobject> = threads.iter().copied().filter(|&t| !jni.same(t, current)).collect();
        let mut virtual_but = None;
        if with_virtual {
            let except = if is_virtual(jvmti, jni, current) { vec![current] } else { Vec::new() };
            if jvmti.suspend_virtual(&except).is_ok() {
                virtual_but = Some(except);
            }
        }
        // A thread that could not be suspended has ended or counts on; its numbers may then be off by what it does meanwhile.
        let done = jvmti.suspend(&others).unwrap_or_default();
        let suspended = others.into_iter().zip(done).filter_map(|(thread, done)| done.then_some(thread)).collect();
        if with_virtual && let Some(class) = jni.find_class(c"java/lang/VirtualThread") {
            let virtuals = jvmti.instances(class, VIRTUAL_THREAD_TAG).unwrap_or_default();
            threads.extend(started(jni, class, virtuals));
        }
        Stopped { jvmti, suspended, virtual_but, threads }
    }

    /// All threads, the current one included.
    pub fn threads(&self) -> &[jobject] {
        &self.threads
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // Only threads that have ended meanwhile can fail, and those need no resuming.
        if !self.suspended.is_empty() {
            let _ = self.jvmti.resume(&self.suspended);
        }
        if let Some(except) = &self.virtual_but {
            let _ = self.jvmti.resume_virtual(except);
        }
    }
}

/// Those of some virtual threads that have been started. A walk of the heap also finds one that another thread is in the middle of
/// constructing; asked for its stack, HotSpot follows its continuation, which is null (JDK 25, jvmtiEnvBase.cpp, `is_vthread_alive`).
fn started(jni: Jni, class: jclass, mut threads: Vec<jobject>) -> Vec<jobject> {
    // VirtualThread.NEW, what the field is before any constructor has run.
    const NEW: i32 = 0;
    // Where there are none, asking for the field would initialise the class while all threads are stopped. HotSpot relies on the
    // field, too (javaClasses.cpp).
    let state = threads.first().and_then(|_| jni.field(class, c"state", c"I"));
    threads.retain(|&thread| {
        let started = state.is_some_and(|state| jni.int_field(thread, state) != NEW);
        if !started {
            jni.forget(thread);
        }
        started
    });
    threads
}

/// Whether a thread is virtual. (That GetAllThreads does not list it says nothing: nor does it list some of the VM's own.)
fn is_virtual(jvmti: Jvmti, jni: Jni, thread: jobject) -> bool {
    let class = jni.class_of(thread);
    let signature = jvmti.class_signature(class).unwrap_or_default();
    jni.forget(class);
    signature == "Ljava/lang/VirtualThread;"
}

/// Translates frames of the VM to frames of the profile.
pub struct Frames<'a> {
    agent: &'a Agent,
    log: &'a Log<'a>,
    methods: HashMap<MethodId, Option<(EntryId, u32)>>,
    /// Per class: where bytecodes went, by method id.
    maps: HashMap<EntryId, HashMap<u32, Vec<(u32, u32)>>>,
}

impl<'a> Frames<'a> {
    /// For the classes in a log.
    pub fn new(agent: &'a Agent, log: &'a Log<'a>) -> Frames<'a> {
        Frames { agent, log, methods: HashMap::new(), maps: HashMap::new() }
    }

    /// The stacks of the threads that have leased a tree.
    pub fn stacks(&mut self, jni: Jni, stopped: &Stopped, contexts: Contexts, arena: &Arena) -> Vec<Stack> {
        let mut stacks = Vec::new();
        for &thread in &stopped.threads {
            let root = contexts.get(jni, thread, Word::Tree).unwrap_or(0);
            // Threads without a tree have executed nothing; threads that have ended have no stack.
            if root == 0 {
                continue;
            }
            let Ok(frames) = self.agent.jvmti.stack(thread) else { continue };
            let frames = frames.iter().rev().filter_map(|frame| self.frame(frame)).collect();
            stacks.push(Stack { tree: (root.wrapping_sub(arena.base()) / abi::UNIT) as u32, frames });
        }
        stacks
    }

    /// `None`: not woven, or not yet counted.
    fn frame(&mut self, frame: &FrameInfo) -> Option<Frame> {
        let position = u32::try_from(frame.location).ok()?;
        let resolved = match self.methods.get(&frame.method) {
            Some(known) => *known,
            None => {
                let resolved = self.resolve(frame.method);
                self.methods.insert(frame.method, resolved);
                resolved
            }
        };
        let (entry, id) = resolved?;
        let (agent, log) = (self.agent, self.log);
        let maps = self.maps.entry(entry).or_insert_with(|| {
            let woven = log.classes.get(entry as usize).and_then(|class| agent.classes.maps(class));
            woven.into_iter().flat_map(|w| w.methods).map(|m| (m.id, m.map)).collect()
        });
        let map = maps.get(&id)?;
        let after = map.partition_point(|&(new, _)| new <= position);
        let (_, bci) = *map.get(after.checked_sub(1)?)?;
        Some(Frame { method: id, bci })
    }

    fn resolve(&self, method: MethodId) -> Option<(EntryId, u32)> {
        // Entered before its class was woven.
        if self.agent.jvmti.is_obsolete(method) {
            return None;
        }
        let class = self.agent.jvmti.declaring_class(method).ok()?;
        let entry = self.agent.classes.entry_of(class)?;
        let (name, descriptor) = self.agent.jvmti.method_name(method).ok()?;
        let logged = self.log.classes.get(entry as usize)?;
        let parsed = ClassFile::parse(logged.bytes).ok()?;
        let found = parsed.methods.iter().find(|m| m.name_str() == name && m.descriptor_str() == descriptor)?;
        let &(_, id, _) = logged.methods.iter().find(|&&(index, ..)| index == found.index)?;
        Some((entry, id))
    }
}
