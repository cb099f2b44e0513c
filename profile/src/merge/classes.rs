//! Classes, methods and native methods of several profiles, each once.

use super::contexts::Contexts;
use super::executed::{Executed, Sums};
use crate::code::CodeError;
use crate::measure::Rule;
use crate::model::{Class, Method, Native, NativeSite, Profile};
use crate::names::stable;
use cprof_instrument::classfile::ClassFile;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// The merged profile's, and where to find them.
#[derive(Debug, Default)]
pub(super) struct Classes {
    pub(super) classes: Vec<Class>,
    pub(super) methods: Vec<Method>,
    pub(super) natives: Vec<Native>,
    /// By method and bytecode index.
    native_sites: BTreeMap<(u32, u32), Site>,
    /// Classes by hash.
    by_hash: FxHashMap<u64, Vec<u32>>,
    /// Methods by class and position in it: several where classes were counted in different ways.
    by_place: FxHashMap<(u32, u16), Vec<u32>>,
    natives_known: FxHashMap<(String, String, String), u32>,
}

/// A call site of a native method.
#[derive(Debug, Clone, Copy)]
struct Site {
    native: u32,
    /// A Java method may be selected instead.
    dynamic: bool,
}

/// What makes classes the same. The JVM's running number in a hidden class's name is another in every run.
fn identity(class: &Class) -> (std::borrow::Cow<'_, str>, &str, bool, &[u8]) {
    let name = if class.hidden { stable(&class.name, true).into() } else { class.name.as_str().into() };
    (name, &class.loader, class.hidden, &class.bytes)
}

impl Classes {
    /// Takes over a profile's, whose class files it takes away; answers each of its methods' number in the merged profile. `contexts`:
    /// those of the profiles before.
    ///
    /// # Errors
    /// A class that is new and of which no report could be made.
    pub(super) fn add(&mut self, profile: &mut Profile, contexts: &Contexts) -> Result<Vec<u32>, CodeError> {
        let natives: Vec<u32> = profile.natives.iter().map(|native| self.native(native)).collect();
        let classes: Vec<u32> = profile.classes.iter_mut().map(|class| self.class(class)).collect();
        let class_of = |m: usize| classes[profile.methods[m].class as usize];
        let executed = self.executed_where_sites_differ(profile, contexts, &class_of);
        let mut numbers = vec![0; profile.methods.len()];
        let mut order: Vec<usize> = (0..profile.methods.len()).collect();
        order.sort_by_key(|&m| profile.methods[m].class);
        for same in order.chunk_by(|&a, &b| profile.methods[a].class == profile.methods[b].class) {
            let class = class_of(same[0]);
            let mut new = Vec::new();
            for &m in same {
                let (number, is_new) = self.method(class, profile, m as u32, &natives, &executed);
                numbers[m] = number;
                if is_new {
                    new.push(number);
                }
            }
            self.check(class, &new)?;
        }
        Ok(numbers)
    }

    /// What the profile, and the profiles before, have executed in methods that are the same but for call sites of native methods.
    fn executed_where_sites_differ(&self, profile: &Profile, contexts: &Contexts, class_of: &dyn Fn(usize) -> u32) -> Executed {
        let (mut here, mut before) = (FxHashSet::default(), FxHashSet::default());
        for (m, method) in profile.methods.iter().enumerate() {
            for known in self.alike(class_of(m), method) {
                let sites = profile.native_sites_of(m as u32).iter().map(|s| s.bci);
                if !sites.eq(self.sites_of(known).map(|(bci, _)| bci)) {
                    here.insert(m as u32);
                    before.insert(known);
                }
            }
        }
        if here.is_empty() {
            Executed::default()
        } else {
            Executed { here: Sums::of(profile, &here), before: contexts.sums(&before) }
        }
    }

    /// The methods that are the same as one, but for what they call.
    fn alike(&self, class: u32, method: &Method) -> impl Iterator<Item = u32> {
        let same = |known: &u32| {
            let other = &self.methods[*known as usize];
            (&other.name, &other.descriptor, other.access, other.level, &other.flow)
                == (&method.name, &method.descriptor, method.access, method.level, &method.flow)
        };
        self.by_place.get(&(class, method.index)).into_iter().flatten().copied().filter(same)
    }

    /// Bytecode indices of a method's call sites of native methods, rising.
    fn sites_of(&self, method: u32) -> impl Iterator<Item = (u32, Site)> {
        self.native_sites.range((method, 0)..=(method, u32::MAX)).map(|(&(_, bci), &site)| (bci, site))
    }

    fn native(&mut self, native: &Native) -> u32 {
        let key = (native.class.clone(), native.name.clone(), native.descriptor.clone());
        *self.natives_known.entry(key).or_insert_with(|| {
            self.natives.push(native.clone());
            self.natives.len() as u32 - 1
        })
    }

    fn class(&mut self, class: &mut Class) -> u32 {
        let mut hasher = FxHasher::default();
        identity(class).hash(&mut hasher);
        let same_hash = self.by_hash.entry(hasher.finish()).or_default();
        if let Some(&known) = same_hash.iter().find(|&&known| identity(&self.classes[known as usize]) == identity(class)) {
            return known;
        }
        let taken = Class {
            name: class.name.clone(),
            loader: class.loader.clone(),
            hidden: class.hidden,
            source_file: std::mem::take(&mut class.source_file),
            bytes: std::mem::take(&mut class.bytes),
        };
        self.classes.push(taken);
        let number = self.classes.len() as u32 - 1;
        same_hash.push(number);
        number
    }

    /// The number of a profile's method in a class, and whether it is new.
    ///
    /// A run that did not load a native method's class does not know the call site, and one that did not load a class that overrides
    /// it does not know that. But one that executed the site without knowing it has called a Java method there, on another JDK
    /// say: then the methods stay apart, as do those whose sites call different ones.
    fn method(&mut self, class: u32, profile: &Profile, m: u32, natives: &[u32], executed: &Executed) -> (u32, bool) {
        let method = &profile.methods[m as usize];
        let sites = profile.native_sites_of(m);
        let agrees = |&known: &u32| {
            let known_here = |bci: u32| sites.iter().find(|s| s.bci == bci);
            let theirs = self.sites_of(known).all(|(bci, site)| match known_here(bci) {
                Some(ours) => natives[ours.native as usize] == site.native,
                None => !executed.here.has(m, method, bci),
            });
            let known_there = |bci: u32| self.native_sites.contains_key(&(known, bci));
            theirs && sites.iter().all(|ours| known_there(ours.bci) || !executed.before.has(known, method, ours.bci))
        };
        let same = self.alike(class, method).find(agrees);
        let number = same.unwrap_or(self.methods.len() as u32);
        if same.is_none() {
            self.by_place.entry((class, method.index)).or_default().push(number);
            self.methods.push(Method { class, ..method.clone() });
        }
        for &NativeSite { bci, native, dynamic, .. } in sites {
            let new = Site { native: natives[native as usize], dynamic };
            self.native_sites.entry((number, bci)).or_insert(new).dynamic |= dynamic;
        }
        (number, same.is_none())
    }

    /// The call sites of native methods in contexts of all runs.
    pub(super) fn native_sites(&self) -> Vec<NativeSite> {
        let sites = self.native_sites.iter();
        sites.map(|(&(method, bci), &Site { native, dynamic })| NativeSite { method, bci, native, dynamic }).collect()
    }

    /// Whether reports can be made of methods of a class.
    fn check(&self, class: u32, methods: &[u32]) -> Result<(), CodeError> {
        if methods.is_empty() {
            return Ok(());
        }
        let class = &self.classes[class as usize];
        let fail = |reason: String| CodeError { class: class.name.clone(), reason };
        let parsed = ClassFile::parse(&class.bytes).map_err(|e| fail(e.to_string()))?;
        for &m in methods {
            let method = &self.methods[m as usize];
            let original = parsed.methods.get(method.index as usize);
            let original = original.ok_or_else(|| fail(format!("it has no method {}", method.index)))?;
            let code = parsed.code(original).map_err(|e| fail(e.to_string()))?;
            let code = code.ok_or_else(|| fail(format!("{} has no code", method.name)))?;
            Rule::new(&method.flow, code.bytes, code.at).map_err(|e| fail(format!("{}: {e}", method.name)))?;
        }
        Ok(())
    }
}
