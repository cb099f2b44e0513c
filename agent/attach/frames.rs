//! What is on the threads' stacks when the agent comes and goes.

use crate::Agent;
use crate::jni::Jni;
use crate::jvmti::{FrameInfo, MethodId};
use crate::runtime;
use crate::stopped::{Find, Stopped};
use cprof_instrument::ENTRY_LENGTH;
use cprof_profile::names::dotted;
use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

/// As many methods are named.
const NAMED: usize = 20;
/// How often it is looked whether threads have gone on, at most, and how often however long it takes.
const ATTEMPTS: u32 = 500;
const FEWEST_ATTEMPTS: u32 = 5;
const BETWEEN: Duration = Duration::from_millis(2);
/// To look may take long: to find virtual threads the VM walks through the heap.
const PATIENCE: Duration = Duration::from_secs(5);

fn name(agent: &Agent, method: MethodId) -> Option<String> {
    let (name, _) = agent.jvmti.method_name(method).ok()?;
    let class = agent.jvmti.class_name(agent.jvmti.declaring_class(method).ok()?)?;
    Some(format!("{}.{name}", dotted(&class)))
}

/// What was active when the first class was woven.
pub struct Before {
    /// The methods of all frames that are older than their class is now, and run their old code until they return.
    pub obsolete: HashSet<MethodId>,
    /// How many frames of classes that count now there were.
    pub frames: usize,
    /// Some of their methods.
    pub names: Vec<String>,
    /// For no longer than this threads stood still to find out.
    pub longest: Duration,
    /// Another agent keeps it to itself to stop threads, as debuggers do.
    pub debugged: bool,
}

/// Whether a method's class counts.
fn counts(agent: &Agent, jni: Jni, method: MethodId) -> bool {
    agent.jvmti.declaring_class(method).is_ok_and(|class| {
        let counts = agent.classes.is_woven(class);
        jni.forget(class);
        counts
    })
}

/// Looks at all stacks.
pub fn before(agent: &Agent, jni: Jni) -> Before {
    let begin = Instant::now();
    // Obsolete ones, and whether their class counts now: those that an earlier recording has left may be of others.
    let mut old: HashMap<MethodId, Option<bool>> = HashMap::new();
    let (mut frames, mut first) = (0, Vec::new());
    let stopped = Stopped::all(agent.jvmti, jni, agent.jvm.virtual_threads.then_some(Find::All));
    for frame in agent.jvmti.stacks(jni, stopped.threads()).flat_map(Result::unwrap_or_default) {
        let counts = *old.entry(frame.method).or_insert_with(|| {
            let counts = agent.jvmti.is_obsolete(frame.method).then(|| counts(agent, jni, frame.method));
            if counts == Some(true) && first.len() < NAMED {
                first.push(frame.method);
            }
            counts
        });
        frames += usize::from(counts == Some(true));
    }
    let debugged = !stopped.may_stop;
    drop(stopped);
    let longest = begin.elapsed();
    let obsolete = old.into_iter().filter_map(|(method, counts)| counts.map(|_| method)).collect();
    let mut names: Vec<String> = Vec::new();
    for name in first.into_iter().filter_map(|method| name(agent, method)) {
        // Overloads have one.
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Before { obsolete, frames, names, longest, debugged }
}

/// What is still active when counting is off and every class is as it was.
pub struct Remains {
    /// A thread is in the middle of the runtime's code, and goes on to read the tree; or where a woven method is entered, between
    /// two calls of the runtime, and would have the first one's answer from this recording and the second one's from the next.
    pub runtime: bool,
    /// Woven methods with active frames, which may write to their nodes when counting is on again, but read nothing there that
    /// they rely on, once they have been entered.
    pub woven: HashSet<MethodId>,
    /// Those of them that a thread is still to enter, as it waits for the monitor of a synchronized method: it goes on to do so, with
    /// the method's id of this recording, whenever that is.
    pub entering: HashSet<MethodId>,
    /// All methods with active frames.
    pub all: HashSet<MethodId>,
    /// As of [`Before`].
    pub longest: Duration,
    /// As of [`Before`].
    pub debugged: bool,
}

/// Waits until no thread is in the runtime's code, but not forever. `before`: the obsolete methods that were active before the
/// first class was woven.
pub fn remains(agent: &Agent, jni: Jni, before: &HashSet<MethodId>) -> Remains {
    // A look has a reference for each thread and class that it sees, and there may be hundreds of looks.
    let look = || jni.in_frame(|| look(agent, jni, before));
    let mut remains = look();
    patiently(!remains.runtime, || {
        let longest = remains.longest;
        remains = look();
        remains.longest = remains.longest.max(longest);
        !remains.runtime
    });
    remains
}

/// Asks again and again whether something is done that was not, or was, at first; but not forever. Answers whether it is.
pub fn patiently(mut done: bool, mut ask: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    for attempt in 0..ATTEMPTS {
        if done || attempt >= FEWEST_ATTEMPTS && begin.elapsed() > PATIENCE {
            break;
        }
        thread::sleep(BETWEEN);
        done = ask();
    }
    done
}

fn look(agent: &Agent, jni: Jni, before: &HashSet<MethodId>) -> Remains {
    let jvmti = agent.jvmti;
    let begin = Instant::now();
    let stopped = Stopped::all(jvmti, jni, agent.jvm.virtual_threads.then_some(Find::All));
    // What cannot be looked at may be anywhere. That all threads stand still (a debugger may keep that to itself) is not needed:
    // counting is off, and what a thread was seen outside of it does not come to again.
    let mut remains = Remains {
        runtime: !stopped.listed,
        woven: HashSet::new(),
        entering: HashSet::new(),
        all: HashSet::new(),
        longest: Duration::ZERO,
        debugged: !stopped.may_stop,
    };
    let (mut before_entry, mut amid_entry) = (HashSet::new(), HashSet::new());
    for stack in jvmti.stacks(jni, stopped.threads()) {
        match stack {
            Ok(stack) => {
                let at_entry = |frame: &&FrameInfo| (1..=ENTRY_LENGTH as i64).contains(&frame.location);
                amid_entry.extend(stack.first().filter(at_entry).map(|frame| frame.method));
                before_entry.extend(stack.iter().filter(|frame| frame.location == 0).map(|frame| frame.method));
                remains.all.extend(stack.iter().map(|frame| frame.method));
            }
            Err(error) => remains.runtime |= !error.is_thread_ended(),
        }
    }
    for &method in &remains.all {
        // An error means that nothing is known of it.
        let class = jvmti.declaring_class(method).ok();
        if class.and_then(|class| jvmti.class_name(class)).is_some_and(|name| runtime::is_own(&name)) {
            remains.runtime = true;
        } else if class.is_none_or(|class| agent.classes.is_woven_hidden(class))
            || jvmti.is_obsolete(method) && !before.contains(&method)
        {
            remains.runtime |= amid_entry.contains(&method);
            if before_entry.contains(&method) {
                remains.entering.insert(method);
            }
            remains.woven.insert(method);
        }
    }
    drop(stopped);
    remains.longest = begin.elapsed();
    remains
}
