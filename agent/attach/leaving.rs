//! Leaving a running JVM.

use super::request::Reply;
use super::retransform::Watched;
use super::session::{BREAKPOINTS, refusal, switch};
use super::{frames, leftovers, retired, retransform};
use crate::jni::Jni;
use crate::jvmti::MethodId;
use crate::{Agent, contained, faults, hooks, memory, message};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Counts no more and undoes what was done to the JVM, as far as it can: what fails is said, and the rest is done. `still`: how long
/// threads stood still for the profile.
pub(super) fn leave(agent: Arc<Agent>, jni: Jni, still: Duration, reply: &mut Reply) -> Result<(), String> {
    let jvmti = agent.jvmti;
    let attached = agent.attached.as_ref().ok_or("cprof was started with this JVM")?;
    let off = || contained(|| switch(&agent, jni, false));
    // A VM that has no memory now may have some in a moment.
    let switched = off().or_else(|_| off());
    attached.leaving.store(true, Ordering::SeqCst);
    let unbound = contained(|| {
        let runtime = agent.runtime.load(Ordering::Acquire);
        jni.ask_static(runtime, c"detach", c"()V", std::ptr::null_mut()).ok_or_else(String::new)
    });
    if unbound.is_err() {
        message(
            "native methods of the JDK stay bound to cprof: threads that the program starts may have larger stacks, and nothing else changes there",
        );
    }
    attached.switched.restore();
    // A class that a hook is weaving now is not known as woven yet.
    if !settled(agent.classes.in_hook()) {
        message("a class that is being loaded stays woven, without effect, until cprof is attached and detached again");
    }
    let restored = contained(|| restore(&agent, jni, reply));
    let remains = contained(|| Ok(frames::remains(&agent, jni, &crate::lock(&attached.before))));
    // What could not be taken away, or is not known, goes on calling the runtime.
    let all_restored = restored.as_ref().is_ok_and(|restored| restored.all);
    let mut quiet = switched.is_ok() && all_restored && remains.as_ref().is_ok_and(|remains| !remains.runtime);
    let looked = remains.as_ref().map_or(Duration::ZERO, |remains| remains.longest);
    let restoring = restored.map_or(Duration::ZERO, |restored| restored.longest);
    reply.put_pause(still.max(restoring).max(looked));
    if let Ok(remains) = &remains {
        match contained(|| Ok(agent.classes.entering(&remains.entering))) {
            Ok(entering) => leftovers::keep_entering(entering),
            Err(error) => {
                message(&format!("which methods are still to be entered is not known ({error}): cprof cannot be attached again"));
                leftovers::lose();
            }
        }
    }
    // The initialiser of a hidden class may run as long as it likes.
    let defined = settled(agent.classes.defining());
    let stay = keep_those_that_stay(&agent, jni, defined, reply);
    quiet &= stay.is_some();
    let mut writers = stay.unwrap_or_default();
    // No event is wanted any more; an error here only means that the environment is invalid already.
    let _ = contained(|| hooks::enable_late(jvmti, false));
    Agent::set(None);
    // HotSpot frees a disposed environment at the next collection of garbage (`JvmtiEnvBase::check_for_periodic_clean_up`), and
    // whoever defines a class has yet to name it there, and who asks for a profile to look at stacks.
    if defined && settled(&agent.asked) {
        let _ = contained(|| jvmti.dispose().map_err(|e| e.to_string()));
    }
    let debugged = remains.as_ref().is_ok_and(|remains| remains.debugged);
    match remains {
        Ok(remains) if quiet => {
            // SAFETY: counting is off, and these were the frames of all threads while they were stopped. Those that were entered
            // since know no recording but this one.
            unsafe { retired::release(&remains.all) };
            writers.extend(remains.woven);
            retired::keep(&agent.arena, writers);
        }
        _ => {
            // A thread may still read the tree: better its memory is never freed.
            std::mem::forget(agent.arena.clone());
            agent.arena.unlock();
            message("code of cprof's is still active or could not be taken away: the memory of the tree stays in use");
        }
    }
    if debugged {
        message(BREAKPOINTS);
    }
    switched
}

/// Keeps classes that stay woven for the next attach. Answers their methods; `None`: what they are is not known. `defined`: no hidden
/// class is being defined.
fn keep_those_that_stay(agent: &Agent, jni: Jni, defined: bool, reply: &mut Reply) -> Option<HashSet<MethodId>> {
    let left = contained(|| {
        if !defined {
            return Err("one is being defined".to_owned());
        }
        agent.classes.leave(jni).ok_or_else(|| "the class log cannot be read".to_owned())
    });
    match left {
        Ok(left) => {
            reply.put("hidden_classes_left", left.iter().filter(|left| left.hidden).count());
            let methods: Option<Vec<_>> = left.iter().map(|left| left.method_ids(agent.jvmti, jni)).collect();
            leftovers::keep(left);
            Some(methods?.into_iter().flatten().collect())
        }
        Err(error) => {
            message(&format!("what is left of hidden classes is not known ({error}): cprof cannot be attached again"));
            leftovers::lose();
            None
        }
    }
}

/// Waits until none of these is under way, but not forever.
fn settled(under_way: &AtomicUsize) -> bool {
    let settled = || under_way.load(Ordering::SeqCst) == 0;
    frames::patiently(settled(), settled)
}

/// What came of giving classes their original bytes back.
struct Restored {
    /// All have them whose code may run: what was never linked runs none, and counts into the junk node of this recording, which
    /// stays, if it is linked one day.
    all: bool,
    /// No stop was longer.
    longest: Duration,
}

/// Gives woven classes their original bytes back.
fn restore(agent: &Agent, jni: Jni, reply: &mut Reply) -> Result<Restored, String> {
    faults::pass("restore");
    let jvmti = agent.jvmti;
    let mut woven = Watched::new(jni);
    let mut quiet = true;
    jni.in_frame(|| -> Result<(), String> {
        for class in jvmti.loaded_classes().or_else(|_| jvmti.loaded_classes()).map_err(|e| e.to_string())? {
            if (agent.classes.may_be_woven(class) || agent.classes.is_api(class))
                && jvmti.is_modifiable(class)
                && !woven.add(class)
            {
                let name = jvmti.class_name(class).unwrap_or_default();
                reply.put("not_restored", format!("{name}: {}", memory::NONE));
                quiet = false;
            }
        }
        Ok(())
    })?;
    let outcome = retransform::all(jvmti, &woven, |class, error| {
        let name = jvmti.class_name(class).unwrap_or_default();
        reply.put("not_restored", format!("{name}: {}", refusal(jvmti, class, error)));
        quiet &= !jvmti.is_linked(class);
    });
    reply.put("restored_classes", woven.len() - outcome.refused);
    for name in agent.classes.stay_woven() {
        reply.put("not_restored", format!("{name}: another agent gave changed code with cprof's in it"));
    }
    // What is known to stay woven counts into the junk node like what was never linked.
    let all = quiet && !outcome.no_memory && agent.classes.strange().is_empty();
    Ok(Restored { all, longest: outcome.longest })
}
