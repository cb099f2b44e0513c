//! The frames that are active when a profile is taken: each has executed its last block in part only.

use crate::arena::Arena;
use crate::classes::EntryId;
use crate::contexts::{Contexts, Word};
use crate::jni::Jni;
use crate::jvmti::{Capability, FrameInfo, Jvmti, MethodId};
use crate::muted::Muted;
use crate::{Agent, contained, faults, lock};
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::{WovenMethod, abi};
use cprof_profile::recording::{Frame, Log, Memory, Stack};
use jni_sys::{_jobject, jclass, jobject};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// A class of virtual threads.
struct Kind {
    signature: &'static str,
    /// Of its instances; no loader and no class has it (`crate::classes`).
    tag: i64,
    /// Each is bound to a thread of the system's: where the VM has no continuations (`-XX:-VMContinuations`). GetAllThreads does
    /// not list these either (JDK 25).
    bound: bool,
}

const KINDS: [Kind; 2] = [
    Kind { signature: "Ljava/lang/VirtualThread;", tag: i64::MAX, bound: false },
    Kind { signature: "Ljava/lang/ThreadBuilders$BoundVirtualThread;", tag: i64::MAX - 1, bound: true },
];

/// Threads that are stopped amid injected code may run on this often in all, and each this often, for a moment that gets longer
/// with every time. (Where there are more threads than cores, many moments pass in which it has no turn.)
const MOMENTS: u32 = 1000;
const MOMENTS_EACH: u32 = 200;
const SHORTEST_MOMENT: Duration = Duration::from_micros(50);
const LONGEST_MOMENT: Duration = Duration::from_millis(1);

/// How often, and in what distance, the VM is asked to let threads go on.
const RESUME_ATTEMPTS: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(10);

/// Threads that are stopped while the arena is read, so that stacks and counters belong together. They go on when it is dropped.
pub struct Stopped {
    jvmti: Jvmti,
    /// The agent may stop threads; otherwise another agent keeps that to itself.
    pub may_stop: bool,
    suspended: Vec<jobject>,
    /// Virtual threads are stopped too, but for these.
    virtual_but: Option<Vec<jobject>>,
    /// All threads whose stacks are wanted, the current one included.
    threads: Vec<jobject>,
    /// All threads are there, and all of them were stopped that the VM would stop.
    pub whole: bool,
    /// All threads are there, whether they were stopped or not.
    pub listed: bool,
    /// Two that stop all threads would stop each other. Given back when the threads run again.
    _alone: MutexGuard<'static, ()>,
}

static STOPPING: Mutex<()> = Mutex::new(());

impl Stopped {
    /// Stops all threads but the current one. `virtuals`: this JVM has virtual threads; `wanted`, asked when all stand still:
    /// some of them have stacks that are wanted.
    pub fn all(jvmti: Jvmti, jni: Jni, virtuals: bool, wanted: impl FnOnce() -> bool) -> Stopped {
        faults::pass("stop threads");
        let alone = lock(&STOPPING);
        // What is asked for while threads stand still may wait for them: the class must be known before.
        let virtual_classes = if virtuals { virtual_classes(jvmti, jni) } else { Some(Vec::new()) };
        let current = jvmti.current_thread();
        // From here on dropping it has the threads run again. HotSpot gives this capability to one agent at a time
        // (jvmtiManageCapabilities.cpp), and a debugger that does not get it ends the JVM.
        let may_stop = jvmti.add_capabilities(&[Capability::Suspend]).is_ok();
        let mut stopped = Stopped {
            jvmti,
            may_stop,
            suspended: Vec::new(),
            virtual_but: None,
            threads: Vec::new(),
            whole: may_stop && current.is_ok(),
            listed: true,
            _alone: alone,
        };
        let current = current.unwrap_or(std::ptr::null_mut());
        if virtuals && may_stop {
            let except = if is_virtual(jvmti, jni, current) { vec![current] } else { Vec::new() };
            match jvmti.suspend_virtual(&except) {
                Ok(()) => stopped.virtual_but = Some(except),
                Err(_) => stopped.whole = false,
            }
        }
        // A thread that has not been stopped yet may start another that is not in the list: so until there is none that still
        // runs.
        while stopped.platform(jni, current) {}
        if virtual_classes.as_ref().is_none_or(|classes| !classes.is_empty()) && wanted() {
            stopped.listed &= virtual_classes.is_some();
            for (kind, class) in virtual_classes.into_iter().flatten() {
                match jvmti.instances(class, kind.tag) {
                    // Those that have not been started have no stack, says the VM.
                    Ok(bound) if kind.bound => stopped.threads.extend(bound),
                    Ok(virtuals) => stopped.threads.extend(started(jni, class, virtuals)),
                    Err(_) => stopped.listed = false,
                }
            }
        }
        stopped.whole &= stopped.listed;
        stopped
    }

    /// Stops the platform threads that there are now. Answers whether some of them were still running.
    fn platform(&mut self, jni: Jni, current: jobject) -> bool {
        let listed = self.jvmti.threads();
        self.listed &= listed.is_ok();
        let listed = listed.unwrap_or_default();
        let others: Vec<jobject> = listed.iter().copied().filter(|&t| !jni.same(t, current)).collect();
        let done = self.jvmti.suspend(&others);
        self.whole &= done.is_ok();
        // One that could not be suspended has ended or stands still already.
        let new: Vec<jobject> =
            others.into_iter().zip(done.unwrap_or_default()).filter_map(|(t, done)| done.then_some(t)).collect();
        self.suspended.extend(&new);
        if self.threads.is_empty() {
            self.threads = listed;
        } else {
            self.threads.extend(&new);
        }
        !new.is_empty()
    }

    /// All threads, the current one included.
    pub fn threads(&self) -> &[jobject] {
        &self.threads
    }

    /// Lets a stopped thread run for a moment. Answers false if it is not ours to resume.
    fn run_on(&mut self, jni: Jni, thread: jobject, moment: Duration) -> bool {
        let ours = self.suspended.contains(&thread)
            || self.virtual_but.as_ref().is_some_and(|but| is_virtual(self.jvmti, jni, thread) && !but.contains(&thread));
        if !ours || self.jvmti.resume(&[thread]).is_err() {
            return false;
        }
        std::thread::sleep(moment);
        match self.jvmti.suspend(&[thread]) {
            // One that does not stand still any more has ended.
            Ok(_) => true,
            Err(_) => {
                self.whole = false;
                false
            }
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // Only threads that have ended meanwhile can fail for good, and those need no resuming. But a thread that is left here
        // stands still for ever: a VM that has no memory now may have some in a moment.
        let again = |resume: &dyn Fn() -> Result<(), crate::jvmti::Error>| {
            for _ in 0..RESUME_ATTEMPTS {
                if contained(|| resume().map_err(|e| e.to_string())).is_ok() {
                    return;
                }
                std::thread::sleep(BETWEEN);
            }
        };
        if !self.suspended.is_empty() {
            again(&|| self.jvmti.resume(&self.suspended));
        }
        if let Some(except) = &self.virtual_but {
            again(&|| self.jvmti.resume_virtual(except));
        }
        if self.may_stop {
            // An error: nobody else can have it.
            let _ = self.jvmti.relinquish(&[Capability::Suspend]);
        }
    }
}

/// Those classes of virtual threads that are initialised, for of others there are none; `None`: that cannot be told. JNI's
/// FindClass would initialise them, which makes a thread, and ask the application's class loader.
fn virtual_classes(jvmti: Jvmti, jni: Jni) -> Option<Vec<(&'static Kind, jclass)>> {
    static CLASSES: [AtomicPtr<_jobject>; KINDS.len()] = [const { AtomicPtr::new(std::ptr::null_mut()) }; KINDS.len()];
    // HotSpot loads both when it starts (JDK 21 and 25, vmClassMacros.hpp).
    if CLASSES.iter().any(|class| class.load(Ordering::Acquire).is_null()) {
        for class in jvmti.loaded_classes().ok()? {
            let signature = jvmti.class_signature(class).unwrap_or_default();
            if let Some(at) = KINDS.iter().position(|kind| kind.signature == signature) {
                CLASSES[at].store(jni.keep(class)?, Ordering::Release);
            }
            jni.forget(class);
        }
    }
    let classes = KINDS.iter().zip(CLASSES.iter().map(|class| class.load(Ordering::Acquire)));
    Some(classes.filter(|&(_, class)| !class.is_null() && jvmti.is_initialised(class)).collect())
}

/// Those of some virtual threads that have been started. A walk of the heap also finds one that another thread is in the middle
/// of constructing; asked for its stack, HotSpot follows its continuation, which is null (JDK 25, jvmtiEnvBase.cpp,
/// `is_vthread_alive`).
fn started(jni: Jni, class: jclass, mut threads: Vec<jobject>) -> Vec<jobject> {
    // VirtualThread.NEW, what the field is before any constructor has run.
    const NEW: i32 = 0;
    // HotSpot relies on the field, too (javaClasses.cpp).
    let state = jni.field(class, c"state", c"I");
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
    // The VM says no more who is who when it has ended, and GetObjectClass takes no null.
    if thread.is_null() {
        return false;
    }
    let class = jni.class_of(thread);
    let signature = jvmti.class_signature(class).unwrap_or_default();
    jni.forget(class);
    KINDS.iter().any(|kind| kind.signature == signature)
}

/// The address of the node below which a thread's next call counts, given its context's words; `None` where that is nowhere.
fn current(node: u64, root: u64, arena: &Arena) -> Option<u64> {
    let base = arena.base();
    let outside = !(base..base + arena.len()).contains(&node);
    // As the runtime's slow path has it: CProfTree.miss.
    match node {
        _ if outside || node == base + abi::header::EARLY => Some(root),
        _ if node == base + abi::JUNK => None,
        _ => Some(node),
    }
}

/// Where a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At an instruction of the program's.
    At(Frame),
    /// In a method that is not woven, or not yet counted, or counted to its end.
    Nowhere,
    /// Amid injected code, or another agent has moved the code; behind this instruction.
    Between(Option<Frame>),
}

impl Place {
    fn frame(self) -> Option<Frame> {
        match self {
            Place::At(frame) => Some(frame),
            Place::Between(frame) => frame,
            Place::Nowhere => None,
        }
    }
}

/// How long threads may still take to come out of injected code.
struct Patience {
    /// Moments that are left.
    moments: u32,
    /// Methods that another agent has changed, as no thread gets out of what seems to be injected.
    foreign: HashSet<MethodId>,
    /// A thread ran on since all threads were stopped.
    ran_on: bool,
}

/// Translates frames of the VM to frames of the profile.
pub struct Frames<'a> {
    agent: &'a Agent,
    log: &'a Log<'a>,
    methods: HashMap<MethodId, Option<(EntryId, u32)>>,
    /// Threads stand still meanwhile: a class is read once, however many of its methods are on stacks.
    classes: HashMap<EntryId, Option<ClassFile<'a>>>,
    /// Per class: where bytecodes went, by method id.
    woven: HashMap<EntryId, HashMap<u32, WovenMethod>>,
}

impl<'a> Frames<'a> {
    /// For the classes in a log.
    pub fn new(agent: &'a Agent, log: &'a Log<'a>) -> Frames<'a> {
        Frames { agent, log, methods: HashMap::new(), classes: HashMap::new(), woven: HashMap::new() }
    }

    /// The stacks of the threads that have leased a tree.
    ///
    /// What a counter says of a frame is only certain between the program's own instructions: threads that were stopped amid
    /// injected code run on until they are out of it. (Only interpreted code stops there: HotSpot's compilers poll for safepoints
    /// at jumps, returns and calls of the program.)
    pub fn stacks(
        &mut self,
        jni: Jni,
        stopped: &mut Stopped,
        muted: Option<&Muted<'_>>,
        contexts: Contexts,
        arena: &Arena,
    ) -> Vec<Stack> {
        let mut stacks = Vec::new();
        let mut patience = Patience { moments: MOMENTS, foreign: HashSet::new(), ran_on: false };
        let mut next = 0;
        loop {
            let Some(&thread) = stopped.threads.get(next) else {
                // A thread that ran on may have started another.
                let current = self.agent.jvmti.current_thread().unwrap_or(std::ptr::null_mut());
                patience.ran_on = patience.ran_on && stopped.platform(jni, current);
                if patience.ran_on {
                    continue;
                }
                return stacks;
            };
            next += 1;
            let root = || contexts.get(jni, thread, Word::Tree).filter(|&root| root != 0);
            // Threads without a tree have executed nothing; threads that have ended have no stack.
            if root().is_none() {
                continue;
            }
            let Some(frames) = self.settled(jni, stopped, thread, &mut patience) else { continue };
            // It may have given its tree back meanwhile.
            let Some(root) = root() else { continue };
            let muted = muted.and_then(|muted| muted.node_of(thread));
            let node = muted.or_else(|| contexts.get(jni, thread, Word::Node));
            let current = node.and_then(|node| current(node, root, arena));
            let reference = |address: u64| (address.wrapping_sub(arena.base()) / abi::UNIT) as u32;
            stacks.push(Stack { tree: reference(root), current: current.map(reference), frames });
        }
    }

    /// The frames of a thread that is not amid injected code, or cannot be brought out of it. None: it has no stack.
    fn settled(&mut self, jni: Jni, stopped: &mut Stopped, thread: jobject, patience: &mut Patience) -> Option<Vec<Frame>> {
        let mut moment = SHORTEST_MOMENT;
        let mut left = MOMENTS_EACH;
        loop {
            let frames = self.agent.jvmti.stack(thread).ok()?;
            faults::pass("frames");
            let places: Vec<Place> = frames.iter().map(|frame| self.place(frame)).collect();
            // Injected code calls none that is woven.
            let innermost = places.iter().zip(&frames).find(|(place, _)| **place != Place::Nowhere);
            if let Some((Place::Between(_), FrameInfo { method, .. })) = innermost {
                if left == 0 {
                    patience.foreign.insert(*method);
                }
                if patience.moments > 0 && !patience.foreign.contains(method) && stopped.run_on(jni, thread, moment) {
                    patience.moments -= 1;
                    patience.ran_on = true;
                    left -= 1;
                    moment = LONGEST_MOMENT.min(2 * moment);
                    continue;
                }
            }
            return Some(places.into_iter().rev().filter_map(Place::frame).collect());
        }
    }

    /// Where a frame is in the program.
    fn place(&mut self, frame: &FrameInfo) -> Place {
        let Some((entry, id)) = self.known(frame.method) else { return Place::Nowhere };
        let (agent, log) = (self.agent, self.log);
        let methods = self.woven.entry(entry).or_insert_with(|| {
            let woven = log.classes.get(entry as usize).and_then(|class| agent.classes.maps(entry, class));
            woven.into_iter().flat_map(|w| w.methods).map(|m| (m.id, m)).collect()
        });
        let (Some(woven), Ok(position)) = (methods.get(&id), u32::try_from(frame.location)) else { return Place::Nowhere };
        let at = |bci| Frame { method: id, bci };
        match woven.instruction_at(position) {
            Some(instruction) => instruction.counted.map_or(Place::Nowhere, |bci| Place::At(at(bci))),
            // Before its first instruction: waiting for the monitor of a synchronized method, for instance.
            None if position == 0 => Place::Nowhere,
            None => {
                let arrived = woven.map.partition_point(|i| i.arrival <= position).checked_sub(1);
                Place::Between(arrived.map(|i| at(woven.map[i].bci)))
            }
        }
    }

    fn known(&mut self, method: MethodId) -> Option<(EntryId, u32)> {
        if let Some(known) = self.methods.get(&method) {
            return *known;
        }
        let resolved = self.resolve(method);
        self.methods.insert(method, resolved);
        resolved
    }

    fn resolve(&mut self, method: MethodId) -> Option<(EntryId, u32)> {
        // Entered before its class was woven.
        if self.agent.jvmti.is_obsolete(method) {
            return None;
        }
        let class = self.agent.jvmti.declaring_class(method).ok()?;
        let entry = self.agent.classes.entry_of(class)?;
        let (name, descriptor) = self.agent.jvmti.method_name(method).ok()?;
        let logged = self.log.classes.get(entry as usize)?;
        let parsed = self.classes.entry(entry).or_insert_with(|| ClassFile::parse(logged.bytes).ok()).as_ref()?;
        let found = parsed.methods.iter().find(|m| m.name_str() == name && m.descriptor_str() == descriptor)?;
        let &(_, id, _) = logged.methods.iter().find(|&&(index, ..)| index == found.index)?;
        Some((entry, id))
    }
}
