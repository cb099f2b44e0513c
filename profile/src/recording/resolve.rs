//! Which call sites name native methods: resolution (JVMS §5.4.3.3) among the classes of the log.

use super::log::Log;
use crate::code::text;
use crate::model::{Native, NativeSite};
use crate::names::{dotted, stable};
use cprof_instrument::classfile::instructions::Instructions;
use cprof_instrument::classfile::opcode::op;
use cprof_instrument::classfile::{ClassFile, Method, access};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;

/// No Java method that a call on an object may select instead of the one that it names (JVMS §5.4.6).
const NEVER_SELECTED: u16 = access::NATIVE | access::ABSTRACT | access::STATIC | access::PRIVATE;

/// The log's classes parsed, by name.
pub(super) struct Hierarchy<'a> {
    /// Beside [`Log::classes`]; none where a class could not be read.
    pub(super) parsed: Vec<Option<ClassFile<'a>>>,
    by_name: FxHashMap<&'a [u8], Vec<u32>>,
    /// Name and descriptor of every native method: most call sites are settled by a look here.
    native_names: FxHashSet<(&'a [u8], &'a [u8])>,
    /// Of these, those that a Java method has which a call may select; and whether each such method was counted.
    java_names: FxHashMap<(&'a [u8], &'a [u8]), bool>,
    /// The classes of these.
    java_owners: FxHashMap<(&'a [u8], &'a [u8]), Vec<u32>>,
    /// There are classes of which nothing is known.
    unknown: bool,
    /// The names of these and of all classes above them, as far as they were asked for; none: it may be any.
    overridden: RefCell<Overridden<'a>>,
    loaders: Vec<&'a str>,
    natives: FxHashMap<(u32, u16), u32>,
    /// Natives that call sites named, in order of discovery.
    pub(super) found: Vec<Native>,
}

/// Names of classes by name and descriptor of a method.
type Overridden<'a> = FxHashMap<(&'a [u8], &'a [u8]), Option<FxHashSet<&'a [u8]>>>;

impl<'a> Hierarchy<'a> {
    pub(super) fn new(log: &Log<'a>) -> Hierarchy<'a> {
        let mut hierarchy = Hierarchy {
            parsed: Vec::with_capacity(log.classes.len()),
            by_name: FxHashMap::default(),
            native_names: FxHashSet::default(),
            java_names: FxHashMap::default(),
            java_owners: FxHashMap::default(),
            unknown: false,
            overridden: RefCell::default(),
            loaders: log.classes.iter().map(|c| c.loader).collect(),
            natives: FxHashMap::default(),
            found: Vec::new(),
        };
        for (i, class) in log.classes.iter().enumerate() {
            let parsed = ClassFile::parse(class.bytes).ok();
            if let Some(parsed) = &parsed {
                hierarchy.by_name.entry(parsed.name()).or_default().push(i as u32);
                // Their native methods take any descriptor and are no calls of native code (JVMS §2.9.3).
                let polymorphic = matches!(parsed.name(), b"java/lang/invoke/MethodHandle" | b"java/lang/invoke/VarHandle");
                let natives = parsed.methods.iter().filter(|m| !polymorphic && m.access & access::NATIVE != 0);
                hierarchy.native_names.extend(natives.map(|m| (m.name, m.descriptor)));
            }
            hierarchy.parsed.push(parsed);
        }
        hierarchy.note_java_names(log);
        hierarchy
    }

    /// Looks which Java methods may be selected where a call names a native one. Classes that `include=` and `exclude=` left out
    /// are in the log, too, with no methods counted.
    fn note_java_names(&mut self, log: &Log<'_>) {
        let not_covered: FxHashSet<&str> = log.not_covered.iter().map(|&(name, _)| name).collect();
        for (at, (class, parsed)) in log.classes.iter().zip(&self.parsed).enumerate() {
            for method in parsed.iter().flat_map(|parsed| &parsed.methods) {
                let name = (method.name, method.descriptor);
                if method.access & NEVER_SELECTED != 0 || !self.native_names.contains(&name) {
                    continue;
                }
                let woven = class.methods.iter().any(|&(index, ..)| index == method.index);
                *self.java_names.entry(name).or_insert(true) &= woven && !not_covered.contains(class.name);
                self.java_owners.entry(name).or_default().push(at as u32);
            }
        }
        // A class of which nothing is known may have any of them. Not so the hidden ones that were there before cprof came:
        // lambdas and method handles' adapters have no such methods.
        let is_unknown = |name: &str| !self.by_name.contains_key(name.as_bytes()) && stable(name, false) == dotted(name);
        self.unknown = not_covered.iter().any(|name| is_unknown(name));
        if self.unknown {
            self.java_names.values_mut().for_each(|counted| *counted = false);
        }
    }

    /// Whether a Java method of a native one's name and descriptor was not counted, so that its calls cannot be told from the
    /// native one's.
    pub(super) fn is_uncounted(&self, native: &Native) -> bool {
        self.java_names
            .iter()
            .any(|(&(name, descriptor), counted)| !counted && text(name) == native.name && text(descriptor) == native.descriptor)
    }

    /// The class of a name as seen from a class of the given loader: the same loader's, the boot loader's, any.
    fn class(&self, name: &[u8], loader: &str) -> Option<u32> {
        let same = self.by_name.get(name)?;
        let of = |wanted: &str| same.iter().copied().find(|&c| self.loaders[c as usize] == wanted);
        of(loader).or_else(|| of("")).or(same.first().copied())
    }

    /// Whether a call on objects of a class may select a Java method instead of a native one: the class or a subclass has one.
    fn is_overridden(&self, class: &[u8], name: &'a [u8], descriptor: &'a [u8]) -> bool {
        // No class overrides what arrays have, and some methods are overridden by none (`Runtime.maxMemory`).
        let Some(owners) = self.java_owners.get(&(name, descriptor)).filter(|_| class.first() != Some(&b'[')) else {
            return false;
        };
        let mut overridden = self.overridden.borrow_mut();
        let classes = overridden.entry((name, descriptor)).or_insert_with(|| self.at_and_above(owners));
        classes.as_ref().is_none_or(|classes| classes.contains(class))
    }

    /// The names of classes and of all above them, of whatever loader; none where some are not known: it may be any.
    fn at_and_above(&self, classes: &[u32]) -> Option<FxHashSet<&'a [u8]>> {
        if self.unknown {
            return None;
        }
        let (mut names, mut seen) = (FxHashSet::default(), FxHashSet::default());
        let mut open = classes.to_vec();
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            let class = self.parsed[at as usize].as_ref()?;
            names.insert(class.name());
            if let Some(above) = class.super_name() {
                open.extend(self.by_name.get(above)?);
            }
        }
        Some(names)
    }

    /// Finds a method in a class or its superclasses: the class's position and the method's.
    fn resolve(&self, class: &[u8], name: &[u8], descriptor: &[u8], loader: &str) -> Option<(u32, u16)> {
        // Arrays have Object's methods (JVMS §5.4.3.3; `clone` above all).
        let class = if class.first() == Some(&b'[') { b"java/lang/Object" } else { class };
        let mut at = self.class(class, loader)?;
        // No chain of superclasses is longer than there are classes; a circle ends here.
        for _ in 0..self.parsed.len() {
            let parsed = self.parsed[at as usize].as_ref()?;
            if let Some(found) = parsed.methods.iter().find(|m| m.name == name && m.descriptor == descriptor) {
                return Some((at, found.index));
            }
            at = self.class(parsed.super_name()?, loader)?;
        }
        None
    }

    /// Adds the native call sites of a method of class `at` of the log, which is the profile's method `number`. `apart`: the call
    /// sites of contexts are known.
    pub(super) fn sites(
        &mut self,
        log: &Log<'_>,
        at: usize,
        method: &Method<'a>,
        number: u32,
        apart: bool,
        out: &mut Vec<NativeSite>,
    ) {
        let loader = self.loaders[at];
        let mut calls: Vec<Call> = Vec::new();
        {
            let Some(class) = &self.parsed[at] else { return };
            let Ok(Some(code)) = class.code(method) else { return };
            for instruction in Instructions::new(code.bytes, code.at) {
                let Ok(instruction) = instruction else { return };
                if !instruction.is_invoke() || instruction.opcode == op::INVOKEDYNAMIC {
                    continue;
                }
                let Ok(member) = class.pool.member(instruction.u2()) else { continue };
                if !self.native_names.contains(&(member.name, member.descriptor)) {
                    continue;
                }
                let mut native = None;
                // Who implements an interface is not looked for.
                let of_interface = instruction.opcode == op::INVOKEINTERFACE;
                let mut open = of_interface || instruction.opcode == op::INVOKEVIRTUAL;
                open &= self.java_names.contains_key(&(member.name, member.descriptor));
                let mut dynamic = open && (of_interface || self.is_overridden(member.class, member.name, member.descriptor));
                if instruction.opcode != op::INVOKEINTERFACE
                    && let Some((owner, index)) = self.resolve(member.class, member.name, member.descriptor, loader)
                    && let Some(declaring) = &self.parsed[owner as usize]
                {
                    let resolved = &declaring.methods[index as usize];
                    open &= resolved.access & (access::FINAL | access::PRIVATE) == 0 && declaring.access & access::FINAL == 0;
                    dynamic &= open;
                    if resolved.access & access::NATIVE != 0 {
                        let found = &mut self.found;
                        let number = *self.natives.entry((owner, index)).or_insert_with(|| {
                            let (name, descriptor) = (text(resolved.name), text(resolved.descriptor));
                            found.push(Native { class: text(declaring.name()), name, descriptor });
                            found.len() as u32 - 1
                        });
                        native = Some(number);
                    } else {
                        // Also of a call that no class can turn elsewhere (`super.m()`, of a final class's) the Java calls are
                        // among those that are recorded.
                        dynamic |= log.classes[owner as usize].methods.iter().any(|&(recorded, ..)| recorded == index);
                    }
                }
                if native.is_some() || dynamic {
                    let (name, descriptor) = (member.name, member.descriptor);
                    calls.push(Call { bci: instruction.bci, native, dynamic, open, of_interface, name, descriptor });
                }
            }
        }
        let alike = |a: &Call, b: &Call| (a.name, a.descriptor) == (b.name, b.descriptor);
        // What an interface's method turns out to be may be the native one beside it.
        let of_interfaces: Vec<Call> = calls.iter().filter(|call| call.of_interface).copied().collect();
        for call in &mut calls {
            call.dynamic |= call.open && of_interfaces.iter().any(|other| alike(other, call));
        }
        // Recorded Java calls tell name and descriptor, and not the site unless sites are kept apart: so beside a dynamic native
        // site, every dynamic site of the same name counts, and what the Java methods did not take went to the native one.
        for call in &calls {
            let native = if call.dynamic && !(apart && call.native.is_some()) {
                calls.iter().filter(|c| c.dynamic && alike(c, call)).find_map(|c| c.native)
            } else {
                call.native
            };
            if let Some(native) = native {
                out.push(NativeSite { method: number, bci: call.bci, native, dynamic: call.dynamic });
            }
        }
    }
}

/// A call whose name and descriptor some native method has.
#[derive(Clone, Copy)]
struct Call<'a> {
    bci: u32,
    /// The native method it resolves to, if it does.
    native: Option<u32>,
    /// It may select a Java method as well.
    dynamic: bool,
    /// It could, were there one in a subclass.
    open: bool,
    of_interface: bool,
    name: &'a [u8],
    descriptor: &'a [u8],
}
