//! Names of methods.

use crate::model::Profile;
use crate::names::{Pattern, dotted, stable};
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

/// All methods of a profile by name; several of its methods may share one.
#[derive(Debug, Clone, Default)]
pub struct Symbols {
    /// Each once.
    pub list: Vec<Symbol>,
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
        Symbols { list, of_method, of_native }
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
