//! Every class on its way into the VM: woven, numbered, and entered in the class log.

mod claims;
mod gaps;
mod kept;
mod known;
mod leave;
mod loaders;
mod prepare;
mod replaced;

use crate::ahead::Ahead;
use crate::arena::Arena;
use crate::attach::events::Events;
use crate::attach::leftovers::{Lasting, Lastings, WovenFor};
use crate::attach::sight::Sight;
use crate::class_log::ClassLog;
use crate::colours::Colours;
use crate::jni::Jni;
use crate::jvmti::Jvmti;
use crate::policy::Policy;
use crate::{runtime, seeds};
use cprof_instrument::Level;
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::weave::{self, Woven};
use cprof_profile::options::Options;
use jni_sys::{jclass, jobject};
use kept::{Comes, Kept};
use known::{Entered, Known, Made};
use loaders::{APP_LOADER, Loaders, PLATFORM_LOADER};
use prepare::{Prepared, changed};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Tags of class objects begin here, of hidden classes and those that an earlier recording left woven; smaller ones are loaders'.
const FIRST_CLASS_TAG: i64 = 1 << 32;

/// The number of a class in the class log.
pub type EntryId = u32;

/// The classes of a run.
pub struct Classes {
    jvmti: Jvmti,
    arena: Arc<Arena>,
    log: Arc<ClassLog>,
    policy: Policy,
    woven_for: WovenFor,
    deterministic: bool,
    /// In a running JVM: which loaders find the runtime class.
    sight: Option<Sight>,
    /// At launch: the JDK's own loaders find the runtime class.
    introduced: AtomicBool,
    colours: Mutex<Colours>,
    /// At launch: those that every JVM loads.
    ahead: Arc<Ahead<Prepared>>,
    known: Mutex<Known>,
    loaders: Loaders,
    /// In a running JVM: those that are woven after they are loaded.
    events: Events,
    /// The classes that are not covered, and why.
    gaps: Mutex<BTreeSet<(String, String)>>,
    /// In a running JVM: the classes that stay woven when the agent leaves.
    lasting: Mutex<Lastings>,
    /// Those of them that are of an earlier attach. Whoever holds the lock asks the VM for nothing: threads may be stopped.
    adopted: Mutex<FxHashMap<EntryId, WovenFor>>,
    /// Those to which another agent gave woven code.
    kept: Mutex<Kept>,
    /// See [`Classes::await_it`].
    claiming: Mutex<()>,
    defining: AtomicUsize,
    in_hook: AtomicUsize,
    /// No class is woven any more.
    gave_up: AtomicBool,
    /// It has been said that there is no memory for weaving.
    short: AtomicBool,
    /// It has been said that a class uses the JDK's continuations.
    continues: AtomicBool,
}

/// How a class comes to be woven.
#[derive(Debug, Clone, Copy)]
enum Coming {
    /// The VM loads it.
    Loaded,
    /// It is loaded, and its code is about to change.
    Changed(jclass),
    /// It is defined as a hidden class.
    Hidden,
}

impl Coming {
    /// The class that is loaded already, or null.
    fn changed(self) -> jclass {
        if let Coming::Changed(class) = self { class } else { std::ptr::null_mut() }
    }
}

/// As long as it lives, one more is under way.
pub struct Ongoing<'c>(&'c AtomicUsize);

impl<'c> Ongoing<'c> {
    /// Counts it.
    pub fn begin(count: &'c AtomicUsize) -> Ongoing<'c> {
        count.fetch_add(1, Ordering::SeqCst);
        Ongoing(count)
    }
}

impl Drop for Ongoing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Classes {
    /// No classes yet.
    pub fn new(
        jvmti: Jvmti,
        arena: Arc<Arena>,
        log: Arc<ClassLog>,
        options: &Options,
        policy: Policy,
        sight: Option<Sight>,
    ) -> Classes {
        let level = if options.block { Level::Block } else { Level::Precise };
        Classes {
            jvmti,
            arena,
            log,
            policy,
            woven_for: WovenFor {
                options: weave::Options {
                    level,
                    sites: options.sites,
                    caches: !options.caches.is_empty(),
                    inherited_calls: false,
                    maps: false,
                },
                patterns: Arc::new([options.roots.clone(), options.include.clone(), options.exclude.clone()]),
            },
            deterministic: options.deterministic,
            sight,
            introduced: AtomicBool::default(),
            colours: Mutex::default(),
            ahead: Arc::default(),
            known: Mutex::default(),
            loaders: Loaders::default(),
            events: Events::default(),
            gaps: Mutex::default(),
            lasting: Mutex::default(),
            adopted: Mutex::default(),
            kept: Mutex::default(),
            claiming: Mutex::default(),
            defining: AtomicUsize::default(),
            in_hook: AtomicUsize::default(),
            gave_up: AtomicBool::default(),
            short: AtomicBool::default(),
            continues: AtomicBool::default(),
        }
    }

    /// From here on the classes of the JDK's own loaders may name the runtime class (`CProfRuntime.introduce`).
    pub fn introduced(&self) {
        self.introduced.store(true, Ordering::Release);
    }

    /// Whether classes of a loader, given by the name it has in the log, call the runtime through `Object`. (Their code is of the
    /// same size either way.)
    fn inherited_calls(&self, loader: &str) -> bool {
        let may_name = match loader {
            "" => true,
            APP_LOADER | PLATFORM_LOADER => self.introduced.load(Ordering::Acquire),
            _ => false,
        };
        self.sight.is_none() && !may_name
    }

    /// A class with a class file load hook. Answers the bytes to use instead, if there are any.
    /// `changed`: it is loaded already, and to be changed; or null.
    pub fn weave_loaded(
        &self,
        jni: Option<Jni>,
        loader: jobject,
        name: Option<&str>,
        bytes: &[u8],
        changed: jclass,
    ) -> Option<Vec<u8>> {
        match name {
            Some(runtime::API_NAME) => return Some(runtime::API.to_vec()),
            Some(name) if runtime::is_own(name) => return None,
            _ => {}
        }
        if changed.is_null()
            && loader.is_null()
            && let Some(woven) = name.and_then(|name| self.load_ahead(name, bytes))
        {
            return woven;
        }
        self.weave(jni, loader, name, bytes, if changed.is_null() { Coming::Loaded } else { Coming::Changed(changed) }).0
    }

    /// A hidden class. Answers the bytes to use instead, and the entry to pass to [`Classes::defined_hidden`].
    pub fn weave_hidden(&self, jni: Jni, loader: jobject, bytes: &[u8]) -> (Option<Vec<u8>>, Option<EntryId>) {
        self.weave(Some(jni), loader, None, bytes, Coming::Hidden)
    }

    /// How many hidden classes are being defined now that may have been woven: who weaves one has said so before, and says so
    /// when it is defined.
    pub fn defining(&self) -> &AtomicUsize {
        &self.defining
    }

    /// How many class file load hooks are under way.
    pub fn in_hook(&self) -> &AtomicUsize {
        &self.in_hook
    }

    /// The VM has defined a hidden class: from here on its frames are recognised.
    pub fn defined_hidden(&self, jni: Jni, class: jclass, entry: EntryId) -> Option<()> {
        if self.sight.is_some() {
            let class = jni.watch(class);
            crate::lock(&self.lasting).push(jni, Lasting { class, entry });
        }
        self.jvmti.set_tag(class, FIRST_CLASS_TAG + i64::from(entry)).ok()
    }

    /// `called`: as the VM calls the class, which may not be told by bytes that are damaged.
    fn weave(
        &self,
        jni: Option<Jni>,
        loader: jobject,
        called: Option<&str>,
        bytes: &[u8],
        coming: Coming,
    ) -> (Option<Vec<u8>>, Option<EntryId>) {
        if self.gave_up() {
            return (None, None);
        }
        self.forget_loaders();
        let class = match ClassFile::parse(bytes) {
            Ok(class) => class,
            Err(error) => {
                // The VM reads it next and says what it thinks of it.
                self.not_covered(
                    called.unwrap_or("(a class without a name)"),
                    &format!("the class file cannot be read: {error}"),
                );
                return (None, None);
            }
        };
        let fixed = if self.deterministic { seeds::fix(&class) } else { None };
        let class = fixed.as_deref().and_then(|fixed| ClassFile::parse(fixed).ok()).unwrap_or(class);
        match self.comes(jni, &class, coming.changed()) {
            Comes::Clean => self.weave_program(jni, loader, class, fixed.as_deref(), coming),
            Comes::AsMade(original) => {
                let Ok(class) = ClassFile::parse(&original) else { return (None, None) };
                let (woven, entry) = self.weave_program(jni, loader, class, None, coming);
                // What is not woven is not to run what an earlier recording has woven either.
                (Some(woven.unwrap_or(original)), entry)
            }
            Comes::Changed => (None, None),
        }
    }

    /// As [`Classes::weave`], a class as the program has it. `fixed`: its bytes, if they are not the VM's.
    fn weave_program(
        &self,
        jni: Option<Jni>,
        loader: jobject,
        class: ClassFile<'_>,
        fixed: Option<&[u8]>,
        coming: Coming,
    ) -> (Option<Vec<u8>>, Option<EntryId>) {
        let name = class.name_str();
        if !self.may_weave(&name) {
            return (None, None);
        }
        let (object, (tag, loader)) = (loader, self.loaders.tag_and_name(self.jvmti, jni, loader));
        if let (Some(sight), Some(jni)) = (&self.sight, jni)
            && tag != 0
            && let Err(why) = sight.sees(self.jvmti, jni, object, tag)
        {
            self.not_covered(&name, why);
            return (None, None);
        }
        if self.sight.is_some() && self.events.is_to_wait(&class, matches!(coming, Coming::Loaded)) {
            return (None, None);
        }
        if loader == APP_LOADER {
            self.ahead.end();
        }
        if !loader.is_empty() {
            self.note_continuations(&class);
        }
        let hidden = matches!(coming, Coming::Hidden);
        let options = weave::Options { inherited_calls: self.inherited_calls(&loader), ..self.woven_for.options };
        let key = self.key(&class, hidden);
        let before = crate::lock(&self.known).entered(&key);
        let entered = match before {
            Some(before) => Err(before),
            None => self.enter(self.prepare(&class, key, &loader, hidden, &options)),
        };
        let (woven, entry) = match entered {
            Ok((woven, entry)) => (Ok(woven), entry),
            Err((entry, ids)) => (self.weave_again(&class, ids, &options), entry),
        };
        if !hidden {
            let mut known = crate::lock(&self.known);
            match woven {
                Ok(_) => known.name(tag, &name, entry),
                Err(_) => known.unname(tag, &name),
            }
        }
        let woven = woven.unwrap_or_else(|why| self.stays(&name, &why));
        if self.sight.is_some() && tag == 0 {
            self.note_intrinsic(&class, woven.as_ref());
        }
        // What has no seed any more is to have none where it is not woven either. (In a running JVM only what is woven is changed
        // back.)
        let changed = changed(woven, class.bytes.len());
        (changed.or_else(|| fixed.filter(|_| self.sight.is_none()).map(<[u8]>::to_vec)), Some(entry))
    }

    /// What was woven ahead.
    pub fn ahead(&self) -> &Arc<Ahead<Prepared>> {
        &self.ahead
    }

    /// The boot loader loads a class that was woven ahead; `None`: it was not, or the class is another one.
    fn load_ahead(&self, name: &str, bytes: &[u8]) -> Option<Option<Vec<u8>>> {
        let prepared = self.ahead.take(name, bytes)?;
        if self.gave_up() || !self.may_weave(name) {
            return Some(None);
        }
        let (woven, entry) = self.enter(prepared).ok()?;
        crate::lock(&self.known).name(0, name, entry);
        Some(changed(woven, bytes.len()))
    }

    /// Enters a class in the log, unless another thread has entered the same since it was looked for: then that is answered, with
    /// whose ids it is to be woven again.
    fn enter(&self, prepared: Prepared) -> Result<(Option<Woven>, EntryId), Entered> {
        let Prepared { key, name, outcome, adds_methods, record } = prepared;
        let woven = outcome.as_ref().ok().and_then(Option::as_ref);
        let ids = woven.iter().flat_map(|w| &w.methods).map(|m| (m.index, m.id)).collect();
        let made = Made { ids, code_length: woven.map(|woven| woven.code_length) };
        let id = {
            // Under the lock, so that the number of an entry is its place in the log.
            let mut known = crate::lock(&self.known);
            if let Some(before) = known.entered(&key) {
                return Err(before);
            }
            self.log.append_record(&record);
            let id = known.entries.len() as EntryId;
            known.entries.push(made);
            known.same.insert(key, id);
            id
        };
        if let Some(reason) = adds_methods {
            self.not_covered(&name, reason);
        }
        Ok((outcome.unwrap_or_else(|why| self.stays(&name, &why)), id))
    }

    /// [`Policy::weaves`].
    pub fn weaves(&self, name: &str) -> bool {
        self.policy.weaves(name)
    }

    /// [`Policy::must_stay`].
    pub fn must_stay(&self, name: &str) -> Option<&'static str> {
        self.policy.must_stay(name)
    }
}
