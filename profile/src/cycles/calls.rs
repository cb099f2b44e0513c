//! By which instruction a context was called.
//!
//! A call selects a method of the name and descriptor that its call site names (JVMS §5.4.6), so a context whose caller has no
//! such call site (for a constructor: in its own class) was called by the JVM or from native code. Where a caller has several
//! such sites of different kinds, `static` decides for some, and the recorded call site (`sites=on`) for all.
//!
//! Method handles and `invokedynamic` call without naming the method. They are taken to have called a context
//! that no other site explains, if it belongs to the library that implements them, or if the caller does.

use crate::code::{CodeError, for_each_method, text};
use crate::model::Profile;
use crate::target::InvokeKind;
use cprof_instrument::classfile::access;
use cprof_instrument::classfile::instructions::Instructions;
use rustc_hash::FxHashMap;

/// How one method's contexts were called from another's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The sites that may have called, (bytecode index, kind), in order; none: it was the VM.
    pub sites: Vec<(u32, InvokeKind)>,
    /// The kind of instruction, or the VM; none where the sites are of several kinds, and counts cannot be told apart by callee.
    pub kind: Option<InvokeKind>,
}

impl Caller {
    fn by(sites: Vec<(u32, InvokeKind)>) -> Caller {
        let kind = match sites.first() {
            None => Some(InvokeKind::Vm),
            Some(&(_, kind)) => sites.iter().all(|s| s.1 == kind).then_some(kind),
        };
        Caller { sites, kind }
    }
}

/// A call site.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Site {
    /// Bytecode index.
    bci: u32,
    /// Kind of instruction.
    kind: InvokeKind,
    /// The class in which the method is looked for, internal name.
    class: String,
    names: Names,
}

/// The call sites of a method. There may be thousands, and as many methods called from each.
#[derive(Debug, Clone, Default)]
struct Sites {
    /// In the order of their bytecode indices.
    all: Vec<Site>,
    /// Places of those that name their callee, by [`key`].
    named: FxHashMap<String, Vec<u32>>,
    /// Places of those whose callees are not named.
    unnamed: Vec<u32>,
}

/// Name and descriptor in one: no name has a `;` in it (JVMS §4.2.2).
fn key(name: &str, descriptor: &str) -> String {
    [name, ";", descriptor].concat()
}

impl Sites {
    /// The next. `callee`: the method's [`key`].
    fn push(&mut self, site: Site, callee: String) {
        let place = self.all.len() as u32;
        match site.names {
            Names::Callee => self.named.entry(callee).or_default().push(place),
            Names::Adapter | Names::Anything => self.unnamed.push(place),
            Names::Native => {}
        }
        self.all.push(site);
    }
}

/// Whether a site names the method it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Callee,
    /// `invokedynamic`, and method handles called from Java code: their adapters run first.
    Adapter,
    /// The last call within an adapter: any method at all.
    Anything,
    /// A native method, whatever the receiver: no context is below.
    Native,
}

/// The call sites of all methods.
pub struct CallSites {
    by_method: Vec<Sites>,
    known: FxHashMap<(u32, u32, u32), Caller>,
}

impl CallSites {
    /// Reads them out of the profile's classes.
    pub fn read(profile: &Profile) -> Result<CallSites, CodeError> {
        let mut by_method = vec![Sites::default(); profile.methods.len()];
        for_each_method(profile, |m, class, method| {
            let fail = |e: cprof_instrument::Error| CodeError { class: class.name_str().into_owned(), reason: e.to_string() };
            let Some(code) = class.code(method).map_err(fail)? else { return Ok(()) };
            // As their sites, in the order of bytecode indices.
            let mut natives = profile.native_sites_of(m as u32).iter().filter(|site| !site.dynamic).peekable();
            for instruction in Instructions::new(code.bytes, code.at) {
                let instruction = instruction.map_err(fail)?;
                let Some(kind) = InvokeKind::of_opcode(instruction.opcode) else { continue };
                let mut site = Site { bci: instruction.bci, kind, class: String::new(), names: Names::Adapter };
                let mut callee = String::new();
                if kind != InvokeKind::Dynamic {
                    let member = class.pool.member(instruction.u2()).map_err(fail)?;
                    callee = key(&text(member.name), &text(member.descriptor));
                    site.class = text(member.class);
                    while natives.next_if(|native| native.bci < instruction.bci).is_some() {}
                    let is_native = natives.peek().is_some_and(|native| native.bci == instruction.bci);
                    site.names = if is_native { Names::Native } else { names(member.class, member.name) };
                }
                by_method[m].push(site, callee);
            }
            Ok(())
        })?;
        Ok(CallSites { by_method, known: FxHashMap::default() })
    }

    /// The kind of a method's call at a bytecode index.
    pub fn kind_at(&self, method: u32, bci: u32) -> Option<InvokeKind> {
        let sites = &self.by_method[method as usize].all;
        sites.binary_search_by_key(&bci, |s| s.bci).ok().map(|at| sites[at].kind)
    }

    /// How contexts of `callee` below `caller` were called; `site`: bci + 1, 0 when sites were not distinguished.
    pub fn caller(&mut self, profile: &Profile, caller: u32, callee: u32, site: u32) -> &Caller {
        let sites = self.by_method.get(caller as usize);
        let classified = || sites.map_or_else(|| Caller::by(Vec::new()), |sites| classify(profile, caller, callee, site, sites));
        self.known.entry((caller, callee, site)).or_insert_with(classified)
    }
}

/// Signature-polymorphic methods (JVMS §2.9.3) and the linkers that adapters end with.
fn names(class: &[u8], name: &[u8]) -> Names {
    match class {
        b"java/lang/invoke/MethodHandle" if name == b"invokeBasic" || name.starts_with(b"linkTo") => Names::Anything,
        b"java/lang/invoke/MethodHandle" if name == b"invoke" || name == b"invokeExact" => Names::Adapter,
        b"java/lang/invoke/VarHandle" => Names::Adapter,
        _ => Names::Callee,
    }
}

fn classify(profile: &Profile, caller: u32, callee: u32, site: u32, sites: &Sites) -> Caller {
    let callee = &profile.methods[callee as usize];
    let class = &profile.classes[callee.class as usize];
    let is_static = callee.access & access::STATIC != 0;
    let at_site = |s: &&Site| site == 0 || s.bci + 1 == site;
    // A constructor is that of the class named (JVMS §6.5, invokespecial); the JVM calls others itself, those of exceptions. No
    // class but itself can name a hidden class, and its own code gives it another name than it has.
    let within = profile.methods[caller as usize].class == callee.class;
    let constructs = |s: &&Site| callee.name != "<init>" || if class.hidden { within } else { s.class == class.name };
    let fits = |s: &&Site| constructs(s) && (s.kind == InvokeKind::Static) == is_static;
    // The library that implements method handles; the JVM calls the linker of call sites itself.
    let adapter = class.name.starts_with("java/lang/invoke/") && class.name != "java/lang/invoke/MethodHandleNatives";
    let in_library = profile.classes[profile.methods[caller as usize].class as usize].name.starts_with("java/lang/invoke/");
    let unnamed = |s: &&Site| match s.names {
        Names::Callee | Names::Native => false,
        _ if callee.name == "<clinit>" => false,
        Names::Adapter => adapter,
        Names::Anything => in_library,
    };
    let at = |place: &u32| &sites.all[*place as usize];
    let named = sites.named.get(&key(&callee.name, &callee.descriptor)).map_or(&[][..], Vec::as_slice);
    let mut found: Vec<&Site> = named.iter().map(at).filter(at_site).filter(fits).collect();
    if found.is_empty() {
        found = sites.unnamed.iter().map(at).filter(at_site).filter(unnamed).collect();
    }
    Caller::by(found.iter().map(|s| (s.bci, s.kind)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Class, Level, Method};

    fn class(name: &str, hidden: bool) -> Class {
        Class { name: name.into(), loader: String::new(), hidden, source_file: String::new(), bytes: Vec::new() }
    }

    fn method(class: u32, name: &str, access: u16) -> Method {
        Method {
            class,
            index: 0,
            name: name.into(),
            descriptor: "()V".into(),
            access,
            level: Level::Precise,
            flow: Default::default(),
        }
    }

    /// Of a lambda, below a method that creates something else, and below its own factory.
    #[test]
    fn hidden_classes_are_constructed_by_themselves_or_the_jvm() {
        let profile = Profile {
            classes: vec![class("demo/Main", false), class("demo/Main$$Lambda/0x1", true)],
            methods: vec![method(0, "run", 0), method(1, "get", access::STATIC), method(1, "<init>", 0)],
            ..Profile::default()
        };
        let kind = |caller, named: &str| {
            let site = Site { bci: 4, kind: InvokeKind::Special, class: named.into(), names: Names::Callee };
            let mut sites = Sites::default();
            sites.push(site, key("<init>", "()V"));
            classify(&profile, caller, 2, 0, &sites).kind
        };
        assert_eq!(kind(0, "java/lang/Object"), Some(InvokeKind::Vm));
        assert_eq!(kind(1, "demo/Main$$Lambda"), Some(InvokeKind::Special));
    }

    /// Of `java.lang.invoke.SwitchPoint`, below a method that has made one, and has called a method handle.
    #[test]
    fn no_instruction_calls_a_class_initialiser() {
        let profile = Profile {
            classes: vec![class("demo/Main", false), class("java/lang/invoke/SwitchPoint", false)],
            methods: vec![method(0, "run", 0), method(1, "<clinit>", access::STATIC), method(1, "guard", 0)],
            ..Profile::default()
        };
        let handle =
            Site { bci: 4, kind: InvokeKind::Virtual, class: "java/lang/invoke/MethodHandle".into(), names: Names::Adapter };
        let mut sites = Sites::default();
        sites.push(handle, key("invokeExact", "()V"));
        let kind = |callee| classify(&profile, 0, callee, 0, &sites).kind;
        assert_eq!((kind(1), kind(2)), (Some(InvokeKind::Vm), Some(InvokeKind::Virtual)));
    }
}
