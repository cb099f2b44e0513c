//! Names of methods.

use crate::model::Profile;
use crate::names::{Pattern, dotted, signature, stable};
use rustc_hash::FxHashMap;

/// A method as reports name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    /// Dotted, without running numbers.
    pub class: String,
    /// Simple name.
    pub method: String,
    /// Descriptor.
    pub descriptor: String,
    /// It has no bytecode.
    pub native: bool,
}

impl Symbol {
    /// A method for people: `com.acme.Main.run(int, String[])`. `twin`: as of [`twins`]; then with its result, `…: Object`.
    pub fn readable(&self, twin: bool) -> String {
        let Symbol { class, method, descriptor, native } = self;
        let native = if *native { " (native)" } else { "" };
        format!("{class}.{method}{}{native}", signature(descriptor, twin))
    }
}

/// For each method, whether another one is read as it is but for the result: as the bridge that a compiler makes where a class
/// overrides a method with a narrower result (JLS §15.12.4.5).
pub fn twins<'s>(symbols: impl Iterator<Item = &'s Symbol> + Clone) -> Vec<bool> {
    let parameters = |s: &'s Symbol| s.descriptor.rsplit_once(')').map_or(&*s.descriptor, |(parameters, _)| parameters);
    let read = |s: &'s Symbol| (&*s.class, &*s.method, parameters(s), s.native);
    let mut many: FxHashMap<_, u32> = FxHashMap::default();
    symbols.clone().for_each(|s| *many.entry(read(s)).or_default() += 1);
    symbols.map(|s| many[&read(s)] > 1).collect()
}

/// All methods of a profile by name; several of its methods may share one.
#[derive(Debug, Clone, Default)]
pub struct Symbols {
    /// Each once.
    pub list: Vec<Symbol>,
    twins: Vec<bool>,
    pub(super) of_method: Vec<u32>,
    pub(super) of_native: Vec<u32>,
}

impl Symbols {
    /// For each, whether it is one of the methods that a pattern names: asked once, as there may be millions of contexts.
    pub fn fitting(&self, pattern: &Pattern) -> Vec<bool> {
        self.list.iter().map(|s| pattern.matches_method(&s.class, &s.method, &s.descriptor)).collect()
    }

    /// Names of a profile's methods and natives.
    pub fn new(profile: &Profile) -> Symbols {
        let mut numbers: FxHashMap<Symbol, u32> = FxHashMap::default();
        let mut list = Vec::new();
        let mut number = |symbol: Symbol| {
            *numbers.entry(symbol).or_insert_with_key(|symbol| {
                list.push(symbol.clone());
                list.len() as u32 - 1
            })
        };
        let classes: Vec<String> = profile.classes.iter().map(|c| stable(&c.name, c.hidden)).collect();
        let methods = profile.methods.iter().map(|m| Symbol {
            class: classes[m.class as usize].clone(),
            method: m.name.clone(),
            descriptor: m.descriptor.clone(),
            native: false,
        });
        let of_method = methods.map(&mut number).collect();
        let natives = profile.natives.iter().map(|n| Symbol {
            class: dotted(&n.class),
            method: n.name.clone(),
            descriptor: n.descriptor.clone(),
            native: true,
        });
        let of_native = natives.map(&mut number).collect();
        let twins = twins(list.iter());
        Symbols { list, twins, of_method, of_native }
    }

    /// A method for people, by its index in [`Symbols::list`]; two are read as one only where the types of their parameters or results
    /// have one name, in two packages.
    pub fn readable(&self, symbol: u32) -> String {
        self.list[symbol as usize].readable(self.twins[symbol as usize])
    }

    /// Index in [`Symbols::list`] of a method of the profile's.
    pub fn of_method(&self, method: u32) -> u32 {
        self.of_method[method as usize]
    }

    /// Index in [`Symbols::list`] of a native method of the profile's.
    pub fn of_native(&self, native: u32) -> u32 {
        self.of_native[native as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_and_its_bridge_are_read_apart() {
        let symbol = |class: &str, descriptor: &str| Symbol {
            class: class.to_owned(),
            method: "get".to_owned(),
            descriptor: descriptor.to_owned(),
            native: false,
        };
        let list = [
            symbol("A", "(I)Ljava/lang/Object;"),
            symbol("A", "(I)Ljava/lang/String;"),
            symbol("A", "(J)Ljava/lang/String;"),
            symbol("B", "(I)Ljava/lang/String;"),
        ];
        let read: Vec<String> = list.iter().zip(twins(list.iter())).map(|(symbol, twin)| symbol.readable(twin)).collect();
        assert_eq!(read, ["A.get(int): Object", "A.get(int): String", "A.get(long)", "B.get(int)"]);
    }
}
