//! Threads that stand still while their stacks are looked at, and go on afterwards, whatever happens.

use crate::jni::Jni;
use crate::jvmti::{Capability, Jvmti};
use crate::{contained, faults, lock};
use jni_sys::{_jobject, jclass, jobject};
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

/// How virtual threads are found, which no function of the VM's lists.
pub enum Find<'a> {
    /// All of them, by a walk of the heap.
    All,
    /// Those that this answers when all threads stand still; and whether these are all that are wanted.
    By(&'a dyn Fn() -> (Vec<jobject>, bool)),
}

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
    /// All threads were stopped that the VM would stop.
    pub whole: bool,
    /// All threads are there, whether they were stopped or not.
    pub listed: bool,
    /// Two that stop all threads would stop each other. Given back when the threads run again.
    _alone: MutexGuard<'static, ()>,
}

static STOPPING: Mutex<()> = Mutex::new(());

impl Stopped {
    /// Stops all threads but the current one. `virtuals`: how those are found that are virtual, in a JVM that has such.
    pub fn all(jvmti: Jvmti, jni: Jni, virtuals: Option<Find<'_>>) -> Stopped {
        faults::pass("stop threads");
        let alone = lock(&STOPPING);
        // What is asked for while threads stand still may wait for them: the class must be known before.
        let walked = matches!(virtuals, Some(Find::All)).then(|| virtual_classes(jvmti, jni));
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
            listed: current.is_ok(),
            _alone: alone,
        };
        // Who does not know himself would stop himself, too.
        let Ok(current) = current else { return stopped };
        if virtuals.is_some() && may_stop {
            let except = if is_virtual(jvmti, jni, current) { vec![current] } else { Vec::new() };
            match jvmti.suspend_virtual(&except) {
                Ok(()) => stopped.virtual_but = Some(except),
                Err(_) => stopped.whole = false,
            }
        }
        // A thread that has not been stopped yet may start another that is not in the list: so until there is none that still
        // runs.
        while stopped.platform(jni, current) {}
        if let Some(Find::By(find)) = virtuals {
            let (found, all) = find();
            stopped.listed &= all;
            stopped.threads.extend(found);
        }
        if let Some(classes) = walked {
            stopped.listed &= classes.is_some();
            for (kind, class) in classes.into_iter().flatten() {
                match jvmti.instances(class, kind.tag) {
                    // Those that have not been started have no stack, says the VM.
                    Ok(bound) if kind.bound => stopped.threads.extend(bound),
                    Ok(virtuals) => match started(jni, class, virtuals) {
                        Some(started) => stopped.threads.extend(started),
                        None => stopped.listed = false,
                    },
                    Err(_) => stopped.listed = false,
                }
            }
        }
        stopped
    }

    /// Stops the platform threads that there are now. Answers whether some of them were still running.
    pub fn platform(&mut self, jni: Jni, current: jobject) -> bool {
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
    pub fn run_on(&mut self, jni: Jni, thread: jobject, moment: Duration) -> bool {
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

/// Those of some virtual threads that have been started; `None`: that cannot be told. A walk of the heap also finds one that another thread is in the middle
/// of constructing; asked for its stack, HotSpot follows its continuation, which is null (JDK 25, jvmtiEnvBase.cpp,
/// `is_vthread_alive`).
fn started(jni: Jni, class: jclass, mut threads: Vec<jobject>) -> Option<Vec<jobject>> {
    // VirtualThread.NEW, what the field is before any constructor has run.
    const NEW: i32 = 0;
    // HotSpot relies on the field, too (javaClasses.cpp).
    let state = jni.field(class, c"state", c"I")?;
    threads.retain(|&thread| {
        let started = jni.int_field(thread, state) != NEW;
        if !started {
            jni.forget(thread);
        }
        started
    });
    Some(threads)
}

/// Whether a thread is virtual. (That GetAllThreads does not list it says nothing: nor does it list some of the VM's own.)
fn is_virtual(jvmti: Jvmti, jni: Jni, thread: jobject) -> bool {
    let class = jni.class_of(thread);
    let signature = jvmti.class_signature(class).unwrap_or_default();
    jni.forget(class);
    KINDS.iter().any(|kind| kind.signature == signature)
}
