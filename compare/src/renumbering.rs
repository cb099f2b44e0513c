//! What the numbered classes and methods of one profile are called in another.

use crate::numbered::{self, Numbered};
use crate::pair::{By, Member, pair};
use crate::prints::{self, Methods, Print, Twins};
use cprof_instrument::classfile::ClassFile;
use cprof_profile::model::Profile;
use cprof_profile::names::{dotted, parameters, signature, stable};
use cprof_profile::tree::{Symbol, Symbols};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A profile with the names of its methods.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Its methods' names.
    pub symbols: &'a Symbols,
}

/// A class or method that has another number in the other profile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Renumbered {
    /// Its name in the first profile.
    pub before: String,
    /// Its name in the second.
    pub after: String,
    /// Why it is taken for the same.
    pub by: By,
}

/// Numbered names of which nothing says which is which; they count as gone and new.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unclear {
    /// In the first profile.
    pub before: Vec<String>,
    /// In the second.
    pub after: Vec<String>,
}

/// The names of the first profile in the words of the second. Names that are not in here are the same.
#[derive(Debug, Clone, Default)]
pub struct Renumbering {
    /// None: there is none that is surely the same.
    classes: FxHashMap<String, Option<String>>,
    /// Class, method and descriptor to method and descriptor.
    methods: FxHashMap<(String, String, String), Option<(String, String)>>,
    /// What has another number, in order of name.
    pub renumbered: Vec<Renumbered>,
    /// What could not be told.
    pub unclear: Vec<Unclear>,
}

/// A class or method with its code.
type Coded = Member<Vec<u8>>;

/// The members of a family in both profiles.
type Family = [Vec<(Numbered, Coded)>; 2];

impl Renumbering {
    /// Compares the classes of two profiles.
    pub fn find(before: Side<'_>, after: Side<'_>) -> Renumbering {
        let mut found = Renumbering::default();
        let sides = [before, after].map(|side| definitions(side.profile));
        let names = [before, after].map(|side| side.symbols.list.iter().map(|s| &*s.class).collect::<FxHashSet<&str>>());
        let ran = [before, after].map(|side| side.symbols.list.iter().map(|s| format!("{}.{}", s.class, s.method)).collect());
        found.find_classes(&sides, &names);
        let mut classes: Vec<(String, String)> = Vec::new();
        for &name in &names[0] {
            classes.extend(found.class(name).filter(|new| names[1].contains(new)).map(|new| (name.to_owned(), new.to_owned())));
        }
        let numbered = || classes.iter().filter(|(old, _)| numbered::class(old).is_some());
        let twins: [Twins; 2] = [numbered().cloned().collect(), numbered().map(|(_, new)| (new.clone(), new.clone())).collect()];
        for (old, new) in classes {
            // Several classes of one name, by several loaders, keep the names of their methods: nothing tells the classes apart.
            if let (Some([before]), Some([after])) =
                (sides[0].get(&old).map(Vec::as_slice), sides[1].get(&new).map(Vec::as_slice))
                && before != after
            {
                found.find_methods([&old, &new], [before, after], &twins, &ran);
            }
        }
        found.renumbered.sort();
        found.unclear.sort();
        found
    }

    /// A class of the first profile in the second.
    fn class<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.classes.get(name).map_or(Some(name), Option::as_deref)
    }

    /// A method of the first profile as it is called in the second; none when nothing says which that is.
    pub fn symbol(&self, symbol: &Symbol) -> Option<Symbol> {
        let class = self.class(&symbol.class)?.to_owned();
        let key = (symbol.class.clone(), symbol.method.clone(), symbol.descriptor.clone());
        let (method, descriptor) = match self.methods.get(&key).filter(|_| !symbol.native) {
            Some(renamed) => renamed.clone()?,
            None => (symbol.method.clone(), self.descriptor(&symbol.descriptor)),
        };
        Some(Symbol { class, method, descriptor, native: symbol.native })
    }

    /// A descriptor with the classes in it renamed.
    fn descriptor(&self, descriptor: &str) -> String {
        if self.classes.is_empty() || !descriptor.contains('$') {
            return descriptor.to_owned();
        }
        let mut out = String::with_capacity(descriptor.len());
        for part in descriptor.split_inclusive(';') {
            let renamed = part.strip_suffix(';').and_then(|whole| {
                // The class begins behind the first L: before it are brackets and primitive types only.
                let at = whole.find('L')? + 1;
                let new = self.classes.get(&dotted(&whole[at..]))?.as_ref()?;
                Some(format!("{}{};", &whole[..at], new.replace('.', "/")))
            });
            out.push_str(renamed.as_deref().unwrap_or(part));
        }
        out
    }

    /// From the outside in: what is within a numbered class is within that class's twin.
    fn find_classes(&mut self, sides: &[Definitions<'_>; 2], names: &[FxHashSet<&str>; 2]) {
        let mut levels: BTreeMap<usize, [Vec<(Numbered, &str)>; 2]> = BTreeMap::new();
        for (side, names) in names.iter().enumerate() {
            for &name in names {
                if let Some(numbered) = numbered::class(name) {
                    let level = std::iter::successors(numbered::outer(name), |outer| numbered::outer(outer)).count();
                    levels.entry(level).or_default()[side].push((numbered, name));
                }
            }
        }
        for level in levels.into_values() {
            self.find_classes_of_level(sides, level);
        }
    }

    fn find_classes_of_level(&mut self, sides: &[Definitions<'_>; 2], level: [Vec<(Numbered, &str)>; 2]) {
        /// By the outer class in the second profile, and the name without numbers.
        type Families<'n> = BTreeMap<(Option<String>, String), [Vec<(Numbered, &'n str)>; 2]>;
        let mut families: Families<'_> = BTreeMap::new();
        let mut outer_before: FxHashMap<String, &str> = FxHashMap::default();
        for (side, members) in level.into_iter().enumerate() {
            for (numbered, name) in members {
                let outer = match (numbered::outer(name), side) {
                    (Some(outer), 0) => match self.class(outer).map(str::to_owned) {
                        Some(twin) => {
                            outer_before.insert(twin.clone(), outer);
                            Some(twin)
                        }
                        // It went with its outer class.
                        None => {
                            self.classes.insert(name.to_owned(), None);
                            continue;
                        }
                    },
                    (outer, _) => outer.map(str::to_owned),
                };
                families.entry((outer, numbered.family.clone())).or_default()[side].push((numbered, name));
            }
        }
        for ((outer, _), mut family) in families {
            family.iter_mut().for_each(|members| members.sort_by(|a, b| a.0.order(&b.0).then(a.1.cmp(b.1))));
            let same = |(a, b): (&(Numbered, &str), &(Numbered, &str))| a.1 == b.1 && sides[0].get(a.1) == sides[1].get(b.1);
            if family[0].len() == family[1].len() && family[0].iter().zip(&family[1]).all(same) {
                continue;
            }
            let mut side = 0;
            let members = family.map(|members| {
                let of = &sides[side];
                side += 1;
                members.into_iter().map(|(numbered, name)| (numbered, class_member(name, of))).collect()
            });
            let outer = outer.as_deref().and_then(|twin| Some((*outer_before.get(twin)?, twin)));
            for (before, after) in self.pairs(["", ""], members, None, outer) {
                self.classes.insert(before.name, after.map(|after| after.name));
            }
        }
    }

    fn find_methods(&mut self, names: [&str; 2], bytes: [&[u8]; 2], twins: &[Twins; 2], ran: &[FxHashSet<String>; 2]) {
        let mut families: BTreeMap<String, Family> = BTreeMap::new();
        for (side, bytes) in bytes.into_iter().enumerate() {
            let Ok(class) = ClassFile::parse(bytes) else { return };
            let mut methods = Methods::new(&class, &twins[side]);
            for m in class.methods.iter().filter(|m| m.has_code()) {
                let name = m.name_str();
                let Some(numbered) = numbered::method(&name) else { continue };
                let Print { full, shape } = methods.print(m);
                let descriptor = m.descriptor_str().into_owned();
                let member = Member { name: name.into_owned(), descriptor, full, shape };
                families.entry(numbered.family.clone()).or_default()[side].push((numbered, member));
            }
        }
        for mut family in families.into_values() {
            family.iter_mut().for_each(|m| m.sort_by(|a, b| a.0.order(&b.0).then_with(|| a.1.descriptor.cmp(&b.1.descriptor))));
            for (before, after) in self.pairs(names, family, Some(ran), None) {
                let key = (names[0].to_owned(), before.name, before.descriptor);
                self.methods.insert(key, after.map(|after| (after.name, after.descriptor)));
            }
        }
    }

    /// Every member of the first profile with that of the second, and notes about those that are not plainly the same. `ran`: for
    /// methods, of which class files have all, those that are worth a note. `outer`: for classes within a numbered one, that; who follows
    /// it needs no note.
    fn pairs(
        &mut self,
        classes: [&str; 2],
        family: Family,
        ran: Option<&[FxHashSet<String>; 2]>,
        outer: Option<(&str, &str)>,
    ) -> Vec<(Coded, Option<Coded>)> {
        let [before, after] = family.map(|members| members.into_iter().map(|(_, member)| member).collect::<Vec<_>>());
        let pairs = pair(&before, &after, ran.is_some());
        let full = |side: usize, member: &Coded| match classes[side] {
            "" => member.name.clone(),
            class => format!("{class}.{}", member.name),
        };
        let runs = |side: usize, name: &String| ran.is_none_or(|ran| ran[side].contains(name));
        let mut found: Vec<Option<usize>> = vec![None; before.len()];
        for &(i, j, by) in &pairs.same {
            found[i] = Some(j);
            let (mut old, mut new) = (full(0, &before[i]), full(1, &after[j]));
            let follows = outer.is_some_and(|(before, after)| old.strip_prefix(before) == new.strip_prefix(after));
            if (by == By::Place || old != new && !follows) && (runs(0, &old) || runs(1, &new)) {
                if old == new {
                    let (was, is) = (&before[i].descriptor, &after[j].descriptor);
                    let results_alone = parameters(was) == parameters(is);
                    old.push_str(&signature(was, results_alone));
                    new.push_str(&signature(is, results_alone));
                }
                self.renumbered.push(Renumbered { before: old, after: new, by });
            }
        }
        for (left, right) in &pairs.unclear {
            let mut before: Vec<String> = left.iter().map(|&i| full(0, &before[i])).collect();
            let mut after: Vec<String> = right.iter().map(|&j| full(1, &after[j])).collect();
            before.retain(|name| runs(0, name));
            after.retain(|name| runs(1, name));
            // What ran in one of them only is gone or new, whichever it is.
            if left.is_empty() != before.is_empty() || right.is_empty() != after.is_empty() {
                continue;
            }
            self.unclear.push(Unclear { before, after });
        }
        let after = |j: Option<usize>| j.map(|j| after[j].clone());
        before.into_iter().zip(found).map(|(member, j)| (member, after(j))).collect()
    }
}

/// The class files of a profile's classes, by stable name; several of one name in order.
type Definitions<'p> = FxHashMap<String, Vec<&'p [u8]>>;

fn definitions(profile: &Profile) -> Definitions<'_> {
    let mut of_name: Definitions<'_> = FxHashMap::default();
    for class in &profile.classes {
        of_name.entry(stable(&class.name, class.hidden)).or_default().push(&class.bytes);
    }
    for several in of_name.values_mut() {
        several.sort_unstable();
        several.dedup();
    }
    of_name
}

fn class_member(name: &str, of: &Definitions<'_>) -> Coded {
    // A class of which only native methods are known has no code here: its name decides.
    let mut prints: Vec<Print> = of.get(name).into_iter().flatten().map(|bytes| prints::class(bytes)).collect();
    prints.sort();
    let (mut full, mut shape) = (Vec::new(), Vec::new());
    for print in prints {
        full.extend(print.full);
        shape.extend(print.shape);
    }
    if full.is_empty() {
        (full, shape) = (name.as_bytes().to_vec(), name.as_bytes().to_vec());
    }
    Member { name: name.to_owned(), descriptor: String::new(), full, shape }
}
