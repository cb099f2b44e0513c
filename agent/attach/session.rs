//! Coming into a running JVM, and what ends it.

use super::leaving::leave;
use super::method_ids::Methods;
use super::request::Reply;
use super::retransform::Watched;
use super::{frames, leftovers, notices, retransform, runtime_classes, written};
use crate::arena::at_first;
use crate::blackholes;
use crate::cgroup::Limits;
use crate::classes::Classes;
use crate::contexts::{Contexts, Slots};
use crate::flags::{Flags, Switched};
use crate::jni::Jni;
use crate::jvmti::{Error, Jvmti, MethodId};
use crate::policy::{Came, Policy};
use crate::vm::Vm;
use crate::{Agent, contained, facts, faults, feature, hooks, memory, message, recording, refusals, runtime};
use cprof_profile::model::now_ms;
use cprof_profile::names::{counted, dotted, thousands};
use cprof_profile::options::{self, Options};
use cprof_profile::recording::Log;
use cprof_profile::recording::log::Entry;
use jni_sys::jclass;
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// What an agent that came late changed in the JVM, and changes back.
pub struct Attached {
    pub(super) switched: Switched,
    methods: Option<Methods>,
    /// All is woven, and counting was switched on.
    counts: AtomicBool,
    /// Classes pass the hook unchanged: the agent leaves.
    pub(super) leaving: AtomicBool,
    /// The obsolete methods that were active before counting began.
    pub(super) before: Mutex<HashSet<MethodId>>,
}

// SAFETY: a jmethodID may be used from any thread.
unsafe impl Send for Attached {}
// SAFETY: as above.
unsafe impl Sync for Attached {}

impl Attached {
    /// Makes a class's intrinsic methods run as bytecode.
    pub fn clear_intrinsics(&self, agent: &Agent, class: jclass) {
        if let Some(methods) = &self.methods {
            // None: it has none.
            let _ = methods.clear(agent, class);
        }
    }

    /// Whether counting has begun.
    pub fn counts(&self) -> bool {
        self.counts.load(Ordering::SeqCst)
    }

    /// Whether classes are to pass unchanged.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }
}

/// The table of contexts, one for all runs: that of a run that has ended is not needed any more.
fn slots() -> Result<&'static Slots, String> {
    static SLOTS: OnceLock<Slots> = OnceLock::new();
    match SLOTS.get() {
        Some(slots) => Ok(slots),
        None => {
            let slots = Slots::new().map_err(|e| format!("no address space for the threads' contexts: {e}"))?;
            Ok(SLOTS.get_or_init(|| slots))
        }
    }
}

const NO_MEMORY: &str = "the JVM has no memory for the woven classes: its metaspace (-XX:MaxMetaspaceSize=) or its heap (-Xmx) is full; give it more, or have \
                         fewer classes woven with include=";

/// HotSpot drops the breakpoints in a class that is retransformed, whoever set them (`VM_RedefineClasses::redefine_single_class`,
/// 17 to 25), and tells nobody. A debugger keeps what it has asked of a method, and HotSpot takes a breakpoint anywhere in its code
/// (`JvmtiEnv::SetBreakpoint` looks at the code's length only): in the middle of an instruction, the JVM crashes there.
pub(super) const BREAKPOINTS: &str = "the debugger's breakpoints in classes that are loaded are gone, as the JVM drops them where code \
                                      changes; connect it anew before you set any, as by what it knows of the code before, the JVM \
                                      would put them into the midst of instructions, and crash";

/// Weaves what is loaded, and counts from then on.
pub fn begin(vm: Vm, jni: Jni, text: &str, reply: &mut Reply) -> Result<(), String> {
    let begin = Instant::now();
    if let Some(agent) = Agent::get() {
        let (how, way) = match agent.is_attached() {
            true => ("attached to", "detach it first"),
            false => ("in", "it was started with it"),
        };
        return Err(format!("cprof is {how} this JVM already, with options {:?}; {way}", agent.options.text));
    }
    let options = Options::parse(text).map_err(|wrong| wrong.to_string())?;
    refusals::begin();
    if leftovers::are_lost() {
        return Err(
            "an earlier detach failed, and hidden classes that it left would count as others; start this JVM anew to count again"
                .to_owned(),
        );
    }
    if memory::is_short() {
        return Err(memory::NONE.to_owned());
    }
    let jvmti = Jvmti::new(vm).map_err(|e| e.to_string())?;
    let agent = match contained(|| prepare(vm, jvmti, jni, options)) {
        Ok(agent) => agent,
        Err(error) => {
            // There is nothing more to be done with it.
            let _ = jvmti.dispose();
            return Err(error);
        }
    };
    Agent::set(Some(agent.clone()));
    let started = contained(|| {
        leftovers::hand_over(|left| agent.classes.adopt(jni, left))?;
        if !agent.classes.keep_ids(&leftovers::entering_ids()) {
            return Err(
                "the method table has no room for methods of an earlier recording that are still to be entered".to_owned()
            );
        }
        hooks::enable_late(jvmti, true)?;
        weave(&agent, jni, reply)?;
        if memory::is_short() { Err(memory::NONE.to_owned()) } else { Ok(()) }
    });
    if let Err(error) = started {
        if agent.has_finished() {
            // Nothing needs to be undone for the moment that is left of this JVM.
            return Err(error);
        }
        if let Some(directory) = &agent.directory {
            directory.remove();
        }
        // As if it had never come; nothing was counted.
        let undone = leave(agent, jni, Duration::ZERO, &mut Reply::default());
        return Err(undone.err().map_or(error.clone(), |second| format!("{error}; {second}")));
    }
    if let Err(error) = contained(|| describe_coverage(&agent, reply)) {
        message(&error);
    }
    reply.put("total_ms", begin.elapsed().as_millis());
    Ok(())
}

/// Everything that must be there before the first class is woven. Counting is off.
fn prepare(vm: Vm, jvmti: Jvmti, jni: Jni, options: Options) -> Result<Arc<Agent>, String> {
    let feature = feature(jvmti)?;
    let flags = Flags::of(vm)?;
    flags.refuse_archiving()?;
    let limits = Limits::of(flags.heap());
    let came = Came::Later { lacks_recorder: !jvmti.has_boot_package(c"jdk/jfr/internal") };
    let policy = Policy::new(&options, feature, came, blackholes::of(&flags));
    has_room(jvmti, jni, &limits, &policy, &options)?;
    hooks::add_capabilities_late(jvmti, feature)?;
    let (pid, started) = (std::process::id(), now_ms());
    let slots = slots()?;
    let (arena, log, directory) = recording(&options, &limits, pid, started)?;
    let prepared = contained(|| {
        faults::pass("prepare");
        log.append(&Entry::Origin(&facts::origin(jvmti, &options, pid, started).to_json()));
        let contexts = Contexts::Slots(slots);
        arena.prepare();
        arena.expose();
        slots.begin(arena.base());
        let jvm = crate::jvm(&flags, feature);
        let classes = crate::runtime_classes(&arena, contexts, &options, jvm).ok_or(crate::FOREIGN)?;
        let library = own_path().ok_or("the path of libcprof.so cannot be found out")?;
        stay_loaded(&library);
        let runtime = runtime_classes::install(jvmti, jni, &classes)?;
        let library = jni.new_string(&library).ok_or("no memory for a string in this JVM")?;
        jni.ask_static(runtime, c"attach", c"(Ljava/lang/String;)V", library).ok_or(
            "cprof's runtime cannot be set up in this JVM: it must be able to load libcprof.so once more, by the same path, which a \
             security manager may refuse, and have some heap left",
        )?;
        let methods = Methods::find(vm, feature);
        if methods.is_none() {
            log.append(&Entry::Warning(
                "this JVM does not say where its intrinsic methods are: compiled code may not count them",
            ));
        }
        if let Some(what) = flags.other_compiler() {
            log.append(&Entry::Warning(&what));
            message(&what);
        }
        let sight = super::sight::Sight::new(runtime, contexts, arena.clone());
        let classes = Classes::new(jvmti, arena.clone(), log.clone(), &options, policy, Some(sight));
        // When nothing can fail any more: nobody would switch them back.
        let switched = flags.switch(feature);
        let attached = Attached {
            switched,
            methods,
            counts: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            before: Mutex::default(),
        };
        let places = (arena, log, directory.clone());
        Ok(Arc::new(Agent {
            attached: Some(attached),
            runtime: AtomicPtr::new(runtime),
            ..Agent::new(jvmti, options, places, contexts, classes, jvm, (pid, started))
        }))
    });
    if let (Err(_), Some(directory)) = (&prepared, &directory) {
        directory.remove();
    }
    prepared
}

/// Refuses where the process' group may have too little memory for what attaching takes: the kernel might end the process.
fn has_room(jvmti: Jvmti, jni: Jni, limits: &Limits, policy: &Policy, options: &Options) -> Result<(), String> {
    // Measured: 49 MB more with 700 classes on JDK 17, 53 with 1,250 on JDK 25, and 24 and 27 if they were only looked at, 8 of
    // them the arena; of each class the metaspace (`cli/src/live/attach/target.rs`), its code in the class log, and what is compiled
    // anew. And a margin.
    const WOVEN: u64 = 32 << 10;
    const SEEN: u64 = 8 << 10;
    const BESIDES: u64 = 24 << 20;
    let Some(left) = limits.left() else { return Ok(()) };
    let classes =
        jni.in_frame(|| jvmti.loaded_classes().map(|all| all.iter().map(|&class| jvmti.class_name(class)).collect::<Vec<_>>()));
    let classes = classes.map_err(|e| e.to_string())?;
    let woven = classes.iter().flatten().filter(|name| policy.selects(name)).count() as u64;
    let needed = BESIDES + at_first(options, limits) + woven * WOVEN + (classes.len() as u64 - woven) * SEEN;
    if left.bytes >= needed {
        return Ok(());
    }
    Err(format!(
        "{left}, and to weave {} takes some {} MB: the kernel might end the JVM. Raise that limit, or have fewer classes woven with include=",
        counted(woven, "class", "classes"),
        thousands(needed >> 20)
    ))
}

/// HotSpot unloads an agent whose attaching has failed. What is in the JVM by then, and what this library knows of it, stays for the
/// next attempt. Where the library is not found by that path, an attempt fails anyway: Java code loads it so.
fn stay_loaded(library: &CStr) {
    // SAFETY: it is loaded, so that none of its code runs; the handle stays open.
    unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
}

/// Where this library is.
fn own_path() -> Option<CString> {
    // SAFETY: dladdr only looks up an address, of a function of this library; the name it answers lives as long as the library.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(own_path as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        let path = Path::new(CStr::from_ptr(info.dli_fname).to_str().ok()?).canonicalize().ok()?;
        CString::new(path.to_str()?).ok()
    }
}

/// Weaves the loaded classes and switches counting on.
fn weave(agent: &Agent, jni: Jni, reply: &mut Reply) -> Result<(), String> {
    faults::pass("weave loaded");
    let jvmti = agent.jvmti;
    let [mut classes, mut seen] = [Watched::new(jni), Watched::new(jni)];
    let chosen = jni.in_frame(|| choose(agent, jni, &mut classes, &mut seen));
    let woven = chosen.and_then(|()| {
        seen.each(|class| {
            if let Err(error) = retransform::look_at(jvmti, class) {
                agent.classes.refused(class, &refusal(jvmti, class, error));
            }
        });
        let refused = |class, error| agent.classes.refused(class, &refusal(jvmti, class, error));
        let outcome = retransform::all(jvmti, &classes, refused);
        if outcome.no_memory { Err(NO_MEMORY.to_owned()) } else { Ok(outcome.longest) }
    });
    [&classes, &seen].into_iter().for_each(|all| all.each(|class| agent.classes.came(class)));
    let mut longest = woven?;
    if let Some(class) = agent.classes.strange().first() {
        return Err(format!(
            "class {} has code in it that cprof made for an earlier recording, and that another agent kept and put back: it would be counted for other \
             methods. Have that agent give the class its own code, or start this JVM anew to count again",
            dotted(class)
        ));
    }
    if let Some(attached) = &agent.attached {
        let mut before = frames::before(agent, jni);
        leftovers::still_entering(&mut before.obsolete);
        *crate::lock(&attached.before) = before.obsolete;
        longest = longest.max(before.longest);
        if before.debugged {
            message(BREAKPOINTS);
        }
        if before.frames > 0 {
            let below = match agent.options.roots.is_empty() {
                true => "and what they call has no caller",
                false => "nor what they call, until one of the roots is called anew",
            };
            agent.log.append(&Entry::Warning(&format!(
                "{} active when cprof came: not counted, {below}; among them {}",
                counted(before.frames as u64, "frame was", "frames were"),
                before.names.join(", ")
            )));
        }
        reply.put("active_frames", before.frames);
        classes.each(|class| attached.clear_intrinsics(agent, class));
    }
    let since = now_ms();
    agent.since.store(since, Ordering::SeqCst);
    switch(agent, jni, true)?;
    faults::pass("switched on");
    if let Some(attached) = &agent.attached {
        let finished = crate::lock(&agent.finished);
        // What ended meanwhile found that nothing was counted, and wrote nothing.
        if *finished {
            return Err("this JVM is about to end, and nothing was counted".to_owned());
        }
        attached.counts.store(true, Ordering::SeqCst);
        agent.log.append(&Entry::Origin(&facts::origin(jvmti, &agent.options, agent.pid, since).to_json()));
    }
    reply.put_pause(longest);
    Ok(())
}

/// Finds the loaded classes that are to be woven, and those that are only to be seen: others inherit from them, and
/// their native methods are called.
fn choose<'j>(agent: &Agent, jni: Jni<'j>, classes: &mut Watched<'j>, seen: &mut Watched<'j>) -> Result<(), String> {
    let jvmti = agent.jvmti;
    // Those that are not linked come last: some cannot be, which the VM says for all of a batch, and the others would be woven
    // again.
    let (linked, others): (Vec<_>, Vec<_>) =
        jvmti.loaded_classes().map_err(|e| e.to_string())?.into_iter().partition(|&class| jvmti.is_linked(class));
    for class in linked.into_iter().chain(others) {
        let Some(name) = jvmti.class_name(class) else { continue };
        let modifiable = jvmti.is_modifiable(class);
        // It may have its own code again.
        let left = modifiable && agent.classes.is_tagged(class);
        if !left {
            if runtime::is_own(&name) || agent.classes.entry_of(class).is_some() {
                continue;
            }
            if !modifiable {
                // The VM puts a point into the name of each hidden class, and no other has one (JVMTI, GetClassSignature).
                let hidden = name.contains('.');
                let why =
                    if hidden { "a hidden class that was defined before cprof came" } else { "the JVM lets no agent change it" };
                agent.classes.not_covered(&name, why);
                continue;
            }
            if let Some(why) = agent.classes.must_stay(&name) {
                agent.classes.not_covered(&name, why);
                continue;
            }
            let loader = jvmti.class_loader(class).map_err(|e| e.to_string())?;
            if !loader.is_null()
                && let Err(why) = agent.classes.asks(jni, loader)
            {
                agent.classes.not_covered(&name, why);
                continue;
            }
            if !agent.classes.await_it(class) {
                // A thread that has just linked it is about to have it woven.
                continue;
            }
        }
        let is_woven = left || agent.classes.weaves(&name);
        let place = if is_woven { &mut *classes } else { &mut *seen };
        if !place.add(class) {
            return Err(memory::NONE.to_owned());
        }
    }
    Ok(())
}

/// Switches counting on or off. What was compiled with the old value in it is thrown away by the VM, as the runtime's classes
/// are redefined.
pub(super) fn switch(agent: &Agent, jni: Jni, on: bool) -> Result<(), String> {
    jni.set_static_boolean(agent.runtime.load(Ordering::Acquire), c"on", on).ok_or("cprof's runtime has no switch")?;
    let classes = agent.runtime_classes().ok_or(crate::FOREIGN)?;
    runtime_classes::install(agent.jvmti, jni, &classes).map(|_| ())
}

fn describe_coverage(agent: &Agent, reply: &mut Reply) -> Result<(), String> {
    faults::pass("describe");
    let (classes, methods) = agent.classes.covered();
    reply.put("covered_classes", classes).put("covered_methods", methods);
    let records = agent.log.records();
    let left_out: usize = Log::read(&records).classes.iter().map(|class| class.skipped.len()).sum();
    reply.put("methods_not_covered", left_out);
    reply.put("classes_not_covered", agent.classes.gaps().len());
    reply.put("started_ms", agent.started);
    if let Some(directory) = &agent.directory {
        reply.put("recording", directory.path().display());
    }
    Ok(())
}

/// Writes the profile and leaves.
pub fn end(agent: Arc<Agent>, jni: Jni, out: Option<&Path>, reply: &mut Reply) -> Result<(), String> {
    let begin = Instant::now();
    if !agent.is_attached() {
        return Err("cprof was started with this JVM and stays until it ends; cprof snapshot writes a profile".to_owned());
    }
    let usual = || options::out_path(&agent.options.out, agent.pid, agent.started / 1000);
    let mut finished = crate::lock(&agent.finished);
    if std::mem::replace(&mut *finished, true) {
        let usual = usual().display().to_string();
        return Err(format!("this JVM is about to end, and has written {usual}; if not, its standard error says why"));
    }
    for notice in notices::tell(&agent) {
        reply.put("notice", notice);
    }
    let path = out.map_or_else(usual, PathBuf::from);
    let (result, still) = contained(|| Ok(agent.write_profile(jni, &path))).unwrap_or_else(|error| (Err(error), Duration::ZERO));
    if let Err(error) = &result
        && agent.is_private()
    {
        *finished = false;
        return Err(format!(
            "no profile was written: {error}; cprof stays attached and counts on, as its counts are in this JVM's memory only and would be lost. Detach \
             again with another file: cprof detach {} -o FILE",
            agent.pid
        ));
    }
    drop(finished);
    let keep = match &result {
        Ok(summary) => {
            written(reply, &summary.path, summary.bytes);
            None
        }
        Err(_) => agent.directory.as_ref().map(|directory| directory.path().to_owned()),
    };
    if keep.is_none()
        && let Some(directory) = &agent.directory
    {
        directory.remove();
    }
    let left = leave(agent, jni, still, reply);
    reply.put("total_ms", begin.elapsed().as_millis());
    match (result, keep) {
        (Ok(_), _) => left,
        (Err(error), Some(path)) => Err(format!(
            "no profile was written: {error}; the recording stays in {0}; write it with: cprof recover {0}",
            path.display()
        )),
        (Err(error), None) => Err(format!("no profile was written: {error}")),
    }
}

/// Why the VM does not take other code for a class, in words that fit several. It links each before.
pub(super) fn refusal(jvmti: Jvmti, class: jclass, error: Error) -> String {
    if jvmti.has_failed(class) {
        "an initialiser that has failed, after which the JVM changes a class no more".to_owned()
    } else if jvmti.is_linked(class) {
        error.to_string()
    } else {
        "cannot be linked, and what is not linked cannot run; a class that is needed may be missing".to_owned()
    }
}
