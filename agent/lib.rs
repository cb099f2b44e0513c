//! The cprof agent: `java -agentpath:libcprof.so=OPTIONS`.
//!
//! This file holds what the VM calls by name. The rooms: [`vm`], [`jvmti`] and [`jni`], the unsafe edges; [`hooks`], the events,
//! and [`turn`], when among other agents' that of classes comes; [`policy`], [`blackholes`], [`intrinsics`], [`flags`] and
//! [`vm_structs`], what is known about HotSpot; [`classes`], [`colours`], [`ahead`] and [`image`], [`hidden`], [`thread_fields`]
//! and [`seeds`], the way of a class into the VM; [`attach`], the same for a JVM that runs already; [`stack_sizes`], what else is
//! changed for the program; [`heap`] and [`cgroup`], where memory is from and how much there is; [`threads`], the agent's own;
//! [`memory`], [`refusals`], [`copies`] and [`faults`], what is done when something fails; [`runtime`], the Java classes that
//! woven code calls, and [`natives`], what they call; [`contexts`] and [`muted`], what it keeps per thread; [`arena`], [`room`],
//! [`directory`] and [`class_log`], where a recording lives; [`caches`], the simulation of method caches; [`facts`], [`stopped`],
//! [`stacks`] and [`dump`], how it becomes a profile.

mod ahead;
mod arena;
mod attach;
mod blackholes;
mod caches;
mod cgroup;
mod class_log;
mod classes;
mod colours;
mod contexts;
mod copies;
mod directory;
mod dump;
mod facts;
mod faults;
mod flags;
mod heap;
mod hidden;
mod hooks;
mod image;
mod intrinsics;
mod jni;
mod jvmti;
mod memory;
mod muted;
mod natives;
mod policy;
mod refusals;
mod room;
mod runtime;
mod seeds;
mod stack_sizes;
mod stacks;
mod stopped;
mod thread_fields;
mod threads;
mod turn;
mod vm;
mod vm_structs;

use arena::Arena;
use attach::Attached;
use caches::Caches;
use cgroup::Limits;
use class_log::ClassLog;
use classes::Classes;
use contexts::Contexts;
use cprof_instrument::abi::OLDEST_JDK;
use cprof_profile::model::now_ms;
use cprof_profile::options::Options;
use cprof_profile::recording::log::Entry;
use directory::Directory;
use dump::Pauses;
use flags::Flags;
use image::Image;
use jni_sys::{_jobject, JNI_ERR, JNI_OK, JavaVM, jint};
use jvmti::Jvmti;
use policy::{Came, Policy};
use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use turn::Turn;
use vm::Vm;

/// First release with virtual threads for good.
const VIRTUAL_THREADS: u32 = 21;
const FOREIGN: &str = "the runtime classes in this agent do not belong to it; build cprof again";

/// Everything about this run.
pub(crate) struct Agent {
    jvmti: Jvmti,
    options: Options,
    arena: Arc<Arena>,
    log: Arc<ClassLog>,
    contexts: Contexts,
    /// `None`: the JVM was started with the agent.
    attached: Option<Attached>,
    /// Method caches that are simulated from logs.
    caches: Option<Caches>,
    directory: Option<Directory>,
    classes: Classes,
    turn: Turn,
    pauses: Pauses,
    /// The last profile is being written, or is.
    finished: Mutex<bool>,
    /// How many threads of the program ask it for something now.
    asked: AtomicUsize,
    /// The runtime class that woven code calls, a global reference; null until the VM has it.
    runtime: AtomicPtr<_jobject>,
    pid: u32,
    /// When it came, in milliseconds since 1970.
    started: u64,
    /// When it began to count.
    since: AtomicU64,
    jvm: runtime::Jvm,
}

static AGENT: RwLock<Option<Arc<Agent>>> = RwLock::new(None);

impl Agent {
    /// An agent that came with the JVM, and has not begun to count.
    fn new(
        jvmti: Jvmti,
        options: Options,
        (arena, log, directory): Places,
        contexts: Contexts,
        classes: Classes,
        jvm: runtime::Jvm,
        (pid, started): (u32, u64),
    ) -> Agent {
        Agent {
            caches: Caches::new(arena.clone(), &options.caches),
            contexts,
            attached: None,
            turn: Turn::default(),
            pauses: Pauses::default(),
            finished: Mutex::default(),
            asked: AtomicUsize::default(),
            runtime: AtomicPtr::default(),
            jvmti,
            options,
            arena,
            log,
            directory,
            classes,
            pid,
            started,
            since: AtomicU64::new(started),
            jvm,
        }
    }

    /// The agent, while it is in the JVM.
    fn get() -> Option<Arc<Agent>> {
        AGENT.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes an agent known to the VM's callbacks; `None`: there is none any more. Answers the one before.
    fn set(agent: Option<Arc<Agent>>) -> Option<Arc<Agent>> {
        std::mem::replace(&mut *AGENT.write().unwrap_or_else(PoisonError::into_inner), agent)
    }

    /// Whether some of what was counted is in this process's memory only.
    pub fn is_private(&self) -> bool {
        self.directory.is_none() || self.arena.is_private() || self.log.is_private()
    }

    /// Whether the agent came into a running JVM.
    fn is_attached(&self) -> bool {
        self.attached.is_some()
    }

    /// Whether the agent is about to leave the JVM.
    fn is_leaving(&self) -> bool {
        self.attached.as_ref().is_some_and(Attached::is_leaving)
    }

    /// The classes of the runtime for this run; `None` when they do not belong to this agent.
    fn runtime_classes(&self) -> Option<Vec<(&'static str, Vec<u8>)>> {
        runtime_classes(&self.arena, self.contexts, &self.options, self.jvm)
    }
}

/// A JVM of this feature release.
fn jvm(flags: &Flags, feature: u32) -> runtime::Jvm {
    runtime::Jvm { virtual_threads: feature >= VIRTUAL_THREADS, interprets: flags.interprets() }
}

fn runtime_classes(
    arena: &Arena,
    contexts: Contexts,
    options: &Options,
    jvm: runtime::Jvm,
) -> Option<Vec<(&'static str, Vec<u8>)>> {
    let slots = match contexts {
        Contexts::Fields { .. } => None,
        Contexts::Slots(slots) => Some(slots.base()),
    };
    let place = runtime::Place { arena: (arena.base(), arena.end()), origin: contexts.origin(), slots };
    runtime::classes(place, options, jvm)
}

/// Tells the user something, in one line: on stderr, or in the answer to whoever attached the agent.
pub(crate) fn message(text: &str) {
    if !attach::notices::keep(text) {
        say(text);
    }
}

/// Tells the user something on stderr.
pub(crate) fn say(text: &str) {
    // Nothing can be done when stderr is closed.
    let _ = writeln!(std::io::stderr(), "cprof: {text}");
}

/// Locks; a panic of another holder has left whole values behind, as every critical section here writes its result last.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a callback's body. A panic must not cross into the VM: it is reported and the callback does nothing.
pub(crate) fn guard<T>(body: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(None)
}

/// Runs a part of a longer work, of which the other parts are to be done whatever happens: a panic is an error like others.
pub(crate) fn contained<T>(body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(format!("internal error of cprof: {}; please report it", what_panicked(&*panic))))
}

fn what_panicked(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied()).unwrap_or("unknown")
}

/// The way out for who gives the agent twice.
const GIVE_ONCE: &str = "give it once: by cprof run, by -agentpath, or in JAVA_TOOL_OPTIONS or JDK_JAVA_OPTIONS";

/// Called by the VM when it loads the agent at launch.
///
/// # Safety
/// Called by the VM, as the JVM Tool Interface specification says ("Agent Start-Up").
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnLoad(vm: *mut JavaVM, options: *const c_char, _reserved: *mut c_void) -> jint {
    set_panic_hook();
    faults::arm();
    // SAFETY: the VM passes null or a terminated string.
    let text = unsafe { text(options) };
    let unprofiled = |why| message(&format!("{why}. The application runs on without being profiled"));
    let options = match contained(|| Ok(text.and_then(|text| Options::parse(&text).map_err(|wrong| wrong.to_string())))) {
        Ok(Ok(options)) => options,
        Ok(Err(wrong)) => {
            message(&wrong);
            return JNI_ERR;
        }
        Err(why) => {
            unprofiled(why);
            return JNI_OK;
        }
    };
    if Agent::get().is_some() {
        message(&format!("the agent is given twice; {GIVE_ONCE}"));
        return JNI_ERR;
    }
    if let Some(other) = copies::other() {
        message(&format!("the agent is given twice: another copy of it, {other}, is in this JVM; {GIVE_ONCE}"));
        return JNI_ERR;
    }
    // SAFETY: the VM passed it.
    let vm = unsafe { Vm::new(vm) };
    if let Err(why) = contained(|| load(vm, options)) {
        unprofiled(why);
    }
    JNI_OK
}

/// Called by the VM when it loads the agent into a running JVM, and each time a command is sent to the agent there.
///
/// # Safety
/// Called by the VM, as the JVM Tool Interface specification says ("Agent Start-Up (Live phase)").
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnAttach(vm: *mut JavaVM, options: *const c_char, _reserved: *mut c_void) -> jint {
    set_panic_hook();
    faults::arm();
    // SAFETY: the VM passes null or a terminated string.
    let text = match unsafe { text(options) } {
        Ok(text) => text,
        Err(wrong) => {
            message(&wrong);
            return JNI_ERR;
        }
    };
    // SAFETY: the VM passed it.
    let vm = unsafe { Vm::new(vm) };
    // SAFETY: this is the thread that the VM calls its agents on.
    match catch_unwind(AssertUnwindSafe(|| unsafe { attach::command(vm, &text) })) {
        Ok(true) => JNI_OK,
        _ => JNI_ERR,
    }
}

fn set_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let (what, place) =
            (what_panicked(info.payload()), info.location().map_or_else(String::new, |place| format!(" at {place}")));
        message(&format!("internal error{place}: {what}; the application runs on"));
    }));
}

/// The options as text.
///
/// # Errors
/// They are not UTF-8: a profile would be written under another name than the one given.
///
/// # Safety
/// `options` is null or a terminated string.
unsafe fn text(options: *const c_char) -> Result<String, String> {
    if options.is_null() {
        return Ok(String::new());
    }
    // SAFETY: the caller's promise.
    let options = unsafe { CStr::from_ptr(options) };
    let not_text = |_| format!("the agent's options are not UTF-8: {}; give files names that are", options.to_string_lossy());
    options.to_str().map(str::to_owned).map_err(not_text)
}

/// Sets everything up; nothing has been changed in the VM when it fails, but for capabilities that were asked for.
fn load(vm: Vm, options: Options) -> Result<(), String> {
    faults::pass("load");
    memory::set_aside().map_err(|e| format!("no memory: {e}"))?;
    let jvmti = Jvmti::new(vm).map_err(|e| e.to_string())?;
    let feature = feature(jvmti)?;
    let flags = Flags::of(vm)?;
    flags.refuse_archiving()?;
    let (pid, started) = (std::process::id(), now_ms());
    let (arena, log, directory) = recording(&options, &Limits::of(flags.heap()), pid, started)?;
    let left = directory.clone();
    let loaded = contained(|| begin(&flags, jvmti, feature, options, (pid, started), (arena, log, directory)));
    if loaded.is_err() {
        // Events that are enabled already do nothing then.
        Agent::set(None);
        // There is nothing more to be done with it.
        let _ = jvmti.dispose();
        left.iter().for_each(Directory::remove);
    }
    loaded
}

/// A recording's arena and class log, and the directory of both, if they are files.
type Places = (Arc<Arena>, Arc<ClassLog>, Option<Directory>);

/// Counts from the first class on, in this recording.
fn begin(
    flags: &Flags,
    jvmti: Jvmti,
    feature: u32,
    options: Options,
    (pid, started): (u32, u64),
    (arena, log, directory): Places,
) -> Result<(), String> {
    let contexts = Contexts::Fields { origin: arena.base() };
    let jvm = jvm(flags, feature);
    if runtime_classes(&arena, contexts, &options, jvm).is_none() {
        return Err(FOREIGN.to_owned());
    }
    log.append(&Entry::Origin(&facts::origin(jvmti, &options, pid, started).to_json()));
    hooks::add_capabilities(jvmti, feature)?;
    let policy = Policy::new(&options, feature, Came::AtLaunch, blackholes::of(flags));
    let classes = Classes::new(jvmti, arena.clone(), log.clone(), &options, policy, None);
    if memory::is_short() {
        return Err(memory::NONE.to_owned());
    }
    arena.expose();
    let agent = Arc::new(Agent::new(jvmti, options, (arena, log, directory), contexts, classes, jvm, (pid, started)));
    Agent::set(Some(agent.clone()));
    hooks::enable(jvmti)?;
    if let Some(what) = flags.other_compiler() {
        agent.log.append(&Entry::Warning(&what));
    }
    // When nothing can fail any more: nobody would set them back.
    for what in flags.set(feature, !agent.options.caches.is_empty()) {
        agent.log.append(&Entry::Warning(&what));
    }
    room::begin(&agent.arena, &agent.log);
    weave_ahead(jvmti, feature);
    Ok(())
}

/// Has the classes woven that every JVM loads, while this one goes on to prepare itself. Not if runs are to be the same: which
/// methods get which ids is then a race, and so is, once `max-nodes=` is reached, which contexts are folded.
fn weave_ahead(jvmti: Jvmti, feature: u32) {
    let image = jvmti.system_property("java.home").and_then(|home| Image::open(&home, feature));
    if let (Some(image), Some(agent)) = (image, Agent::get().filter(|agent| !agent.options.deterministic)) {
        let ahead = agent.classes.ahead().clone();
        ahead.begin(feature, move |name| image.class(name), move |bytes| agent.classes.weave_ahead(bytes));
    }
}

/// The feature release of the JVM, if it is one that the agent knows.
fn feature(jvmti: Jvmti) -> Result<u32, String> {
    let version = jvmti.system_property("java.vm.specification.version");
    let version = version.ok_or("this JVM does not say of which version it is (JVMTI GetSystemProperty failed)")?;
    match version.parse() {
        Ok(feature) if feature >= OLDEST_JDK => Ok(feature),
        _ => Err(format!("this JVM is of version {version:?}; use JDK 17, 21 or 25")),
    }
}

/// The memory of the recording: in files if possible.
fn recording(options: &Options, limits: &Limits, pid: u32, started: u64) -> Result<Places, String> {
    let in_files = Directory::create(pid, started).map_err(|e| e.to_string()).and_then(|directory| {
        let files = || {
            let arena = Arc::new(Arena::new(Some(directory.arena()?), options, limits.clone())?);
            let log = ClassLog::new(Some(directory.log()?), arena.clone());
            Ok::<_, io::Error>((arena, Arc::new(log)))
        };
        match contained(|| files().map_err(|e| e.to_string())) {
            Ok((arena, log)) => Ok((arena, log, Some(directory))),
            Err(error) => {
                directory.remove();
                Err(error)
            }
        }
    });
    in_files.or_else(|error| {
        message(&format!(
            "shared memory in /dev/shm cannot be used ({error}); counting in private memory, so that a killed JVM leaves nothing"
        ));
        let arena = Arena::new(None, options, limits.clone())
            .map_err(|e| format!("no memory for the calling context tree: {e}; max-memory= says how much it may take"))?;
        let arena = Arc::new(arena);
        Ok((arena.clone(), Arc::new(ClassLog::new(None, arena)), None))
    })
}
