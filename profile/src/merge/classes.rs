//! Classes, methods and native methods of several profiles, each once.

use crate::code::CodeError;
use crate::measure::Rule;
use crate::model::{Class, Method, Native, NativeSite, Nodes, Profile};
use crate::names::stable;
use crate::target::Bytecodes;
use cprof_instrument::classfile::ClassFile;
use rustc_hash::{FxHashMap, FxHasher};
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
    /// Every run that has the calling method knows it.
    everywhere: bool,
}

/// What makes classes the same. The JVM's running number in a hidden class's name is another in every run.
fn identity(class: &Class) -> (std::borrow::Cow<'_, str>, &str, bool, &[u8]) {
    let name = if class.hidden { stable(&class.name, true).into() } else { class.name.as_str().into() };
    (name, &class.loader, class.hidden, &class.bytes)
}

impl Classes {
    /// Takes over a profile's, whose class files it takes away; answers each of its methods' number in the merged profile.
    ///
    /// # Errors
    /// A class that is new and of which no report could be made.
    pub(super) fn add(&mut self, profile: &mut Profile) -> Result<Vec<u32>, CodeError> {
        let natives: Vec<u32> = profile.natives.iter().map(|native| self.native(native)).collect();
        let classes: Vec<u32> = profile.classes.iter_mut().map(|class| self.class(class)).collect();
        let mut numbers = vec![0; profile.methods.len()];
        let mut order: Vec<usize> = (0..profile.methods.len()).collect();
        order.sort_by_key(|&m| profile.methods[m].class);
        for same in order.chunk_by(|&a, &b| profile.methods[a].class == profile.methods[b].class) {
            let class = classes[profile.methods[same[0]].class as usize];
            let mut new = Vec::new();
            for &m in same {
                let first = profile.native_sites.partition_point(|s| (s.method as usize) < m);
                let sites = &profile.native_sites[first..];
                let sites = &sites[..sites.partition_point(|s| s.method as usize == m)];
                let (number, is_new) = self.method(class, &profile.methods[m], sites, &natives);
                numbers[m] = number;
                if is_new {
                    new.push(number);
                }
            }
            self.check(class, &new)?;
        }
        Ok(numbers)
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

    /// The number of a method of a class, and whether it is new.
    fn method(&mut self, class: u32, method: &Method, sites: &[NativeSite], natives: &[u32]) -> (u32, bool) {
        let site = |s: &NativeSite| (s.bci, (natives[s.native as usize], s.dynamic));
        let candidates = self.by_place.entry((class, method.index)).or_default();
        // A run that did not load a native method's class does not know the call site, and one that did not load a class that
        // overrides it does not know that. Where two runs contradict each other, the methods stay apart.
        let agrees = |known: u32| {
            let mut sites = sites.iter().map(site);
            sites.all(|(bci, called)| self.native_sites.get(&(known, bci)).is_none_or(|other| other.native == called.0))
        };
        let same = candidates.iter().copied().find(|&known| {
            let other = &self.methods[known as usize];
            (&other.name, &other.descriptor, other.access, other.level, &other.flow)
                == (&method.name, &method.descriptor, method.access, method.level, &method.flow)
                && agrees(known)
        });
        let number = same.unwrap_or(self.methods.len() as u32);
        if same.is_none() {
            candidates.push(number);
            self.methods.push(Method { class, ..method.clone() });
        }
        for (&(_, bci), known) in self.native_sites.range_mut((number, 0)..=(number, u32::MAX)) {
            known.everywhere &= sites.iter().any(|s| s.bci == bci);
        }
        for (bci, (native, dynamic)) in sites.iter().map(site) {
            let new = Site { native, dynamic, everywhere: same.is_none() };
            self.native_sites.entry((number, bci)).or_insert(new).dynamic |= dynamic;
        }
        (number, same.is_none())
    }

    /// The call sites of native methods in contexts of all runs. A method that is native on one JDK may be Java on another: a run
    /// that did not know such a site, and has calls of a Java method so named in that class below the caller, has called that.
    pub(super) fn native_sites(&self, nodes: &Nodes) -> Vec<NativeSite> {
        let mut sites: Vec<NativeSite> = Vec::with_capacity(self.native_sites.len());
        let mut doubtful: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (&(method, bci), &Site { native, dynamic, everywhere }) in &self.native_sites {
            if !everywhere && !dynamic {
                doubtful.entry(method).or_default().push(sites.len());
            }
            sites.push(NativeSite { method, bci, native, dynamic });
        }
        for (&method, &parent) in nodes.method.iter().zip(&nodes.parent) {
            let Some(of_caller) = doubtful.get(&nodes.method[parent as usize]) else { continue };
            let Some(called) = self.methods.get(method as usize) else { continue };
            for &at in of_caller {
                let native = &self.natives[sites[at].native as usize];
                let class = &self.classes[called.class as usize].name;
                sites[at].dynamic |=
                    (&native.name, &native.descriptor, &native.class) == (&called.name, &called.descriptor, class);
            }
        }
        sites
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
            Rule::new(&method.flow, code.bytes, code.at, &Bytecodes).map_err(|e| fail(format!("{}: {e}", method.name)))?;
        }
        Ok(())
    }
}
