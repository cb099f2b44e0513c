//! From the arena to the profile: at the end, on request, and what is left out between pause and resume.

use crate::attach::notices;
use crate::caches::Caches;
use crate::contexts::Word;
use crate::jni::Jni;
use crate::muted::Muted;
use crate::stacks::Frames;
use crate::stopped::{Find, Stopped};
use crate::{Agent, contained, facts, faults, lock, memory, message, refusals, say};
use cprof_instrument::abi;
use cprof_profile::measure::measure;
use cprof_profile::model::{RunFacts, now_ms};
use cprof_profile::names::{Pattern, argument, contexts, counted, size};
use cprof_profile::options;
use cprof_profile::recording::log::Entry;
use cprof_profile::recording::{self, Capture, Log, Memory, Summary};
use cprof_profile::tree::{Symbols, Tree};
use jni_sys::jobject;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// So long the stacks are taken anew when classes were loaded meanwhile. Threads that cannot be stopped may load more for ever.
const LONGEST: Duration = Duration::from_secs(2);

/// In a profile for which not all threads stood still.
const NOT_STOPPED: &str = "not all threads could be stopped when this was written (a debugger keeps that to itself): what they executed meanwhile may be missing, or \
                           there in part";

/// In a profile for which not all threads were known.
const NOT_LISTED: &str = "some threads are not known to the agent, for want of room to list them: what they were executing when this was \
                          written is counted to the end of the block";

/// What was counted while the program had paused counting. It changes only while the other threads are stopped, or by what leaves
/// its sum as it is.
#[derive(Default)]
pub struct Pauses(Mutex<Stretches>);

#[derive(Default, Clone)]
struct Stretches {
    /// Taken at a pause that has not ended.
    since: Option<Arc<Capture>>,
    /// The beginnings and the ends of pauses that were not added up yet.
    ended: Vec<(Arc<Capture>, Arc<Capture>)>,
    /// All pauses before.
    before: Option<Arc<Capture>>,
}

impl Stretches {
    /// What is left of a capture that was taken with these.
    fn counted(&self, capture: Capture) -> Capture {
        let mut counted = self.since.as_ref().map_or(capture, |since| Capture::clone(since));
        let ended = self.ended.iter().flat_map(|(from, to)| [(&**to, false), (&**from, true)]);
        let before = self.before.iter().map(|before| (&**before, false));
        counted.combine(&ended.chain(before).collect::<Vec<_>>());
        counted
    }

    /// Makes one capture of the pauses that have ended, so that a program may pause as often as it likes.
    fn add_up(&mut self) {
        for (from, to) in std::mem::take(&mut self.ended) {
            let mut sum = Arc::unwrap_or_clone(to);
            let before = self.before.take();
            sum.combine(&before.iter().map(|before| (&**before, true)).chain([(&*from, false)]).collect::<Vec<_>>());
            self.before = Some(Arc::new(sum));
        }
    }
}

impl Agent {
    /// Takes part in everything's end: writes the profile, wherever it can be written.
    pub fn finish(&self, jni: Jni) {
        let mut finished = lock(&self.finished);
        if std::mem::replace(&mut *finished, true) {
            return;
        }
        // A JVM that ends while cprof comes has counted nothing; what an earlier run wrote stays.
        let never_counted = self.attached.as_ref().is_some_and(|attached| !attached.counts());
        if never_counted || self.classes.gave_up() {
            if let Some(directory) = &self.directory {
                directory.remove();
            }
            return;
        }
        let name = options::out_path(&self.options.out, self.pid, self.started / 1000);
        // Nobody asks any more.
        notices::tell(self);
        match contained(|| self.write_anywhere(jni, &name)) {
            Ok(summary) => {
                if !self.options.quiet && !self.is_attached() {
                    message(&line(&summary));
                }
                if let Some(directory) = &self.directory {
                    directory.remove();
                }
            }
            Err(error) => {
                let left = match &self.directory {
                    Some(directory) => {
                        let lost =
                            if self.is_private() { ", but for what was in this JVM's memory only, which is lost" } else { "" };
                        let path = directory.path().display();
                        format!("the recording stays in {path}{lost}; write it with: cprof recover {path}")
                    }
                    None => "the recording is lost".to_owned(),
                };
                // To standard error, though it is not ours where cprof was attached.
                say(&format!("no profile was written: {error}; {left}"));
            }
        }
        for late in refusals::late() {
            message(&late);
        }
        // What came meanwhile is in no profile.
        notices::take().iter().for_each(|notice| say(notice));
    }

    /// Whether the JVM is about to end, and all that it has counted is written.
    pub fn has_finished(&self) -> bool {
        *lock(&self.finished)
    }

    /// Where the user wants it, or [elsewhere](options::elsewhere) if that cannot be.
    fn write_anywhere(&self, jni: Jni, wanted: &Path) -> Result<Summary, String> {
        let first = match self.write_profile(jni, wanted) {
            (Ok(summary), _) => return Ok(summary),
            (Err(error), _) => error,
        };
        let name = wanted.file_name().map(PathBuf::from).unwrap_or_else(|| PathBuf::from(format!("cprof-{}.cprof", self.pid)));
        for other in options::elsewhere(&name) {
            if other != wanted
                && !other.exists()
                && let (Ok(summary), _) = self.write_profile(jni, &other)
            {
                say(&format!("{first}; it was written to {} instead", summary.path.display()));
                return Ok(summary);
            }
        }
        Err(first)
    }

    /// Writes a profile of what was counted so far. Answers how long threads stood still for it, too.
    pub fn write_profile(&self, jni: Jni, out: &Path) -> (Result<Summary, String>, Duration) {
        if let Err(error) = faults::io("profile write") {
            return (Err(format!("cannot write {}: {error}", out.display())), Duration::ZERO);
        }
        // While the agent leaves, classes lose their woven code.
        if !self.is_leaving()
            && let Err(why) = contained(|| self.classes.list_replaced(jni))
        {
            let warning = format!("whether another agent has replaced the code of classes is not known ({why})");
            self.log.append(&Entry::Warning(&warning));
        }
        let written = self.counted(jni, |capture, log| {
            let run = RunFacts {
                ended_ms: now_ms(),
                ..facts::run(self.jvmti, &self.options, self.pid, self.since.load(Ordering::SeqCst))
            };
            recording::write(out, capture, log, run).map_err(|e| e.to_string())
        });
        written.unwrap_or_else(|error| (Err(error), Duration::ZERO))
    }

    /// The bytecodes that calls of a method have executed so far, with everything these called.
    pub fn bytecodes_of(&self, jni: Jni, method: &str) -> Result<u64, String> {
        let (profile, _) = self.counted(jni, |capture, log| recording::assemble(capture, log, RunFacts::default()))?;
        // What it called may be counted elsewhere.
        let run = &profile.run;
        if run.bounded || run.folded || run.lost_calls > 0 {
            let why = if run.bounded {
                "contexts are folded by depth= or recursion=fold"
            } else {
                "there was no room for all contexts; give more with max-nodes= or max-memory="
            };
            return Err(format!("what calls of {method} have executed cannot be told, as {why}"));
        }
        let measures = measure(&profile).map_err(|e| e.to_string())?;
        let symbols = Symbols::new(&profile);
        let named = symbols.fitting(&Pattern::new(method));
        // Natives have no bytecodes.
        let tree = Tree::new(&profile, &symbols, &measures, &[], |_| true).at_and_below(|s| named[s as usize]);
        Ok(tree.context(0).total)
    }

    /// Passes on what was counted and not left out by pauses; answers as [`Agent::capture`] does.
    fn counted<T>(&self, jni: Jni, then: impl FnOnce(Capture, &Log) -> T) -> Result<(T, Duration), String> {
        if self.classes.gave_up() {
            return Err("counting never began".to_owned());
        }
        let stretches = |pauses: &Mutex<Stretches>, capture| (capture, lock(pauses).clone());
        self.capture(jni, stretches, |(capture, stretches), log| {
            let mut counted = stretches.counted(capture);
            counted.warnings.extend(refusals::warnings());
            if memory::is_short() {
                counted.warnings.push(format!("{} when this was written", memory::NONE));
            }
            then(counted, log)
        })
    }

    /// Passes on what was counted, and the classes that it was counted in; the threads run again then. Answers what came of it, and how
    /// long they stood still. `at_stop`: what is done meanwhile, with the pauses, which none of them can begin or end then.
    fn capture<S, T>(
        &self,
        jni: Jni,
        at_stop: impl FnOnce(&Mutex<Stretches>, Capture) -> S,
        then: impl FnOnce(S, &Log) -> T,
    ) -> Result<(T, Duration), String> {
        // A reference for each thread, twice.
        jni.in_frame(|| self.capture_in_frame(jni, at_stop, then))
    }

    fn capture_in_frame<S, T>(
        &self,
        jni: Jni,
        at_stop: impl FnOnce(&Mutex<Stretches>, Capture) -> S,
        then: impl FnOnce(S, &Log) -> T,
    ) -> Result<(T, Duration), String> {
        // What is copied is not larger than what it is copied from.
        if !memory::has((self.arena.len() + self.log.len()) as usize) {
            return Err(format!("{}, and the profile takes some", memory::NONE));
        }
        self.arena.has_room_for_profile(self.log.len())?;
        faults::pass("capture");
        let current = self.jvmti.current_thread().map_err(|e| e.to_string())?;
        let muted = Muted::thread(jni, current, self.contexts, &self.arena);
        let lessees = || self.lessees(jni);
        let still = Instant::now();
        let mut stopped = Stopped::all(self.jvmti, jni, self.jvm.virtual_threads.then_some(Find::By(&lessees)));
        let begin = Instant::now();
        loop {
            // Not before: a class that is loaded meanwhile may run.
            let records = self.log.records();
            let log = Log::read(&records);
            let stacks = Frames::new(self, &log).stacks(jni, &mut stopped, muted.as_ref());
            // Threads that ran on, to come out of injected code, may have loaded classes and be in them now.
            let more = self.log.len() != records.len() as u64;
            if more && begin.elapsed() <= LONGEST {
                continue;
            }
            let simulated = self.caches.as_ref().map(|caches| {
                // What a thread that runs on logs meanwhile is left out.
                self.drain(jni, &stopped, caches);
                caches.stop()
            });
            let mut capture = recording::capture(&*self.arena, &stacks).map_err(|e| e.to_string())?;
            capture.warnings.extend((!stopped.whole).then(|| NOT_STOPPED.to_owned()));
            capture.warnings.extend((!stopped.listed).then(|| NOT_LISTED.to_owned()));
            // A thread that is stopped holds the lock for no longer than it takes, as it calls nothing of the VM's with it.
            let result = at_stop(&self.pauses.0, capture);
            drop((simulated, stopped, muted));
            let still = still.elapsed();
            // As late as may be: what is in the capture and not in the log has no name.
            let all = more.then(|| self.log.records());
            return Ok((then(result, &all.as_ref().map_or(log, |records| Log::read(records))), still));
        }
    }

    /// The virtual threads that have trees, and whether these are all.
    fn lessees(&self, jni: Jni) -> (Vec<jobject>, bool) {
        let (numbers, all) = self.arena.leased_to_virtual();
        if numbers.is_empty() {
            return (Vec::new(), all);
        }
        let Some(virtuals) = jni.static_array(self.runtime.load(Ordering::Acquire), abi::VIRTUALS) else {
            return (Vec::new(), false);
        };
        let mut lists = HashMap::new();
        // A platform thread may have a tree that a virtual one had before.
        let listed = numbers.into_iter().filter_map(|number| {
            let list = *lists.entry(number / abi::VIRTUALS_EACH).or_insert_with_key(|&list| jni.element(virtuals, list));
            jni.element(list?, number % abi::VIRTUALS_EACH)
        });
        (listed.collect(), all)
    }

    /// Simulates what threads have logged and not simulated themselves; also those that ended before they could call the agent.
    fn drain(&self, jni: Jni, stopped: &Stopped, caches: &Caches) {
        for &thread in stopped.threads() {
            let word = |word| self.contexts.get(jni, thread, word).unwrap_or(0);
            let root = word(Word::Tree);
            if root != 0 {
                // None: a thread whose tree had no room for a log.
                let _ = caches.drain(root, word(Word::Cache));
            }
        }
        for (root, end) in self.arena.returned_logs() {
            let _ = caches.drain(root, end);
        }
    }

    /// The current thread counts where it did before the runtime muted it, for the native method to be looked up.
    pub fn unmute(&self, jni: Jni, node: i64) {
        let Ok(thread) = self.jvmti.current_thread() else { return };
        // Without it the thread's frames are looked for from the root.
        let _ = self.contexts.set(jni, thread, Word::Node, self.contexts.origin().wrapping_add(node as u64));
    }

    /// Says why a program does not get what it has asked for, unless that is because it has ended meanwhile.
    pub fn refuse(&self, what: &str, why: &str) {
        if !self.jvmti.is_over() {
            message(&format!("{what}: {why}"));
        }
    }

    /// Begins a stretch that is left out.
    pub fn pause(&self, jni: Jni) -> Option<()> {
        let begin = |pauses: &Mutex<Stretches>, capture| {
            let mut pauses = lock(pauses);
            let first = pauses.since.is_none() && pauses.ended.is_empty() && pauses.before.is_none();
            pauses.since.get_or_insert_with(|| Arc::new(capture));
            first
        };
        let (first, _) = self.capture(jni, begin, |first, _| first).map_err(|e| self.refuse("no pause", &e)).ok()?;
        if first {
            self.log.append(&Entry::Unattended(
                "the program paused counting (cprof.CProf.pause): what ran in pauses is in these numbers",
            ));
        }
        Some(())
    }

    /// Ends it.
    pub fn resume(&self, jni: Jni) -> Option<()> {
        let end = |pauses: &Mutex<Stretches>, capture| {
            let mut pauses = lock(pauses);
            if let Some(since) = pauses.since.take() {
                pauses.ended.push((since, Arc::new(capture)));
            }
        };
        self.capture(jni, end, |(), _| ()).map_err(|e| self.refuse("still paused", &e)).ok()?;
        lock(&self.pauses.0).add_up();
        Some(())
    }
}

/// The line at the end.
fn line(summary: &Summary) -> String {
    let path = summary.path.display();
    let size = size(summary.bytes);
    let gaps = match (summary.methods_not_covered, summary.classes_not_covered) {
        (0, 0) => "all code covered".to_owned(),
        (methods, 0) => format!("{} not covered", counted(methods as u64, "method", "methods")),
        (methods, classes) => format!(
            "{} and {} not covered",
            counted(methods as u64, "method", "methods"),
            counted(classes as u64, "class", "classes")
        ),
    };
    let methods = counted(summary.methods as u64, "method", "methods");
    let contexts = contexts(summary.contexts as u64, summary.threads);
    format!("wrote {path} ({size}, {methods} in {contexts}, {gaps}); show it with: cprof report {}", argument(&path.to_string()))
}
