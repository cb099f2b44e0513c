//! The contexts of two profiles, joined: contexts are the same when their callers are, their methods and their call sites.

use crate::methods::Methods;
use crate::prints::same_places;
use crate::renumbering::Side;
use cprof_instrument::classfile::instructions::{Instruction, Instructions};
use cprof_instrument::classfile::{ClassFile, mutf8};
use cprof_profile::amounts::Amounts;
use cprof_profile::metrics::Sheet;
use cprof_profile::model::Profile;
use cprof_profile::siblings::{Place, Siblings};
use cprof_profile::target::InvokeKind;
use cprof_profile::tree::{Symbol, Tree, What, with_callees};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A context of one or both profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Both {
    /// What runs; methods are positions in [`Methods::list`].
    pub what: What,
    /// Position of the caller's; the root's is its own, 0.
    pub parent: u32,
    /// Call site in the caller: bytecode index + 1 (in the second profile, where it is in both); 0 unknown or merged.
    pub site: u32,
    /// It occurs in the first profile.
    pub before: bool,
    /// It occurs in the second.
    pub after: bool,
}

/// All contexts of two profiles, callers before callees.
#[derive(Debug, Clone)]
pub struct Contexts {
    /// The first is the root.
    pub list: Vec<Both>,
    /// Per context of the first tree, the position in [`Contexts::list`].
    pub of_before: Vec<u32>,
    /// Per context of the second tree.
    pub of_after: Vec<u32>,
    /// How call sites were matched.
    pub sites: Sites,
}

/// How call sites were matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sites {
    /// Only one of the profiles distinguishes them, so that they are merged.
    pub only_one: bool,
    /// Pairs of caller and callee whose sites were matched by order, since the caller's code changed.
    pub by_order: usize,
    /// Pairs whose sites were merged: the caller's code changed and their number, too.
    pub merged: usize,
}

/// Site by (caller, callee, site) in the words of the joined contexts.
type SiteMap = FxHashMap<(u32, What, u32), u32>;

impl Contexts {
    /// Joins the trees of two sheets, whose methods were joined before.
    pub fn join(before: &Sheet<'_>, after: &Sheet<'_>, methods: &Methods) -> Contexts {
        let mut sites = Sites::default();
        let maps = match (before.profile.run.sites, after.profile.run.sites) {
            (true, true) => matched(before, after, methods, &mut sites),
            _ => {
                sites.only_one = before.profile.run.sites || after.profile.run.sites;
                [SiteMap::default(), SiteMap::default()]
            }
        };
        let root = Both { what: What::Root, parent: 0, site: 0, before: true, after: true };
        let mut siblings = Siblings::default();
        siblings.root();
        let mut joined = Contexts { list: vec![root], of_before: Vec::new(), of_after: Vec::new(), sites };
        joined.of_before = joined.add(before.tree, |w| w, &maps[0], &mut siblings, sites.only_one, |c| c.before = true);
        joined.of_after =
            joined.add(after.tree, |w| of_after(methods, w), &maps[1], &mut siblings, sites.only_one, |c| c.after = true);
        joined
    }

    fn add(
        &mut self,
        tree: &Tree,
        what: impl Fn(What) -> What,
        sites: &SiteMap,
        siblings: &mut Siblings<(What, u32)>,
        merge_sites: bool,
        mark: impl Fn(&mut Both),
    ) -> Vec<u32> {
        let mut places = vec![0; tree.len()];
        for (i, context) in tree.contexts().enumerate().skip(1) {
            let parent = places[context.parent as usize];
            let what = what(context.what);
            let site = match self.list[parent as usize].what {
                _ if merge_sites => 0,
                What::Method(caller) => sites.get(&(caller, what, context.site)).copied().unwrap_or(context.site),
                What::Root | What::Folded => context.site,
            };
            let of = |at: u32| (self.list[at as usize].what, self.list[at as usize].site);
            let at = match siblings.place(parent, (what, site), of) {
                Place::Known(at) => at,
                Place::New(at) => {
                    self.list.push(Both { what, parent, site, before: false, after: false });
                    at
                }
            };
            mark(&mut self.list[at as usize]);
            places[i] = at;
        }
        places
    }

    /// A metric of one of the trees, summed by joined context; `of` is its [`Contexts::of_before`] or [`Contexts::of_after`].
    pub fn column(&self, of: &[u32], own: &Amounts) -> Amounts {
        let mut sums = Amounts::zeros(self.list.len());
        for (&context, value) in of.iter().zip(own.iter()) {
            sums.add(context as usize, value);
        }
        sums
    }

    /// A column of own numbers with those of all contexts below added.
    pub fn totals(&self, own: &Amounts) -> Amounts {
        with_callees(own.clone(), |i| self.list[i].parent)
    }
}

fn of_after(methods: &Methods, what: What) -> What {
    match what {
        What::Method(symbol) => What::Method(methods.of_after[symbol as usize]),
        other => other,
    }
}

/// The call sites of callers whose code changed. Where both have as many calls of a callee's name and descriptor, the n-th is the
/// n-th; so it is among the sites that were seen where no instruction names the callee.
fn matched(before: &Sheet<'_>, after: &Sheet<'_>, methods: &Methods, notes: &mut Sites) -> [SiteMap; 2] {
    let mut seen: FxHashMap<(u32, What), [BTreeSet<u32>; 2]> = FxHashMap::default();
    for (side, tree) in [before.tree, after.tree].into_iter().enumerate() {
        let named = |what| if side == 0 { what } else { of_after(methods, what) };
        for context in tree.contexts().skip(1).filter(|c| c.site != 0) {
            if let What::Method(caller) = named(tree.what(context.parent)) {
                seen.entry((caller, named(context.what))).or_default()[side].insert(context.site);
            }
        }
    }
    let mut codes = [Codes::new(before), Codes::new(after)];
    let mut unchanged: FxHashMap<u32, bool> = FxHashMap::default();
    let mut maps = [SiteMap::default(), SiteMap::default()];
    for ((caller, callee), [old, new]) in seen {
        let joined = methods.list[caller as usize];
        let (Some(m), Some(n)) = (joined.before, joined.after) else { continue };
        if old.is_empty() || new.is_empty() || *unchanged.entry(caller).or_insert_with(|| same(&mut codes, m, n)) {
            continue;
        }
        let named = match callee {
            What::Method(callee) => methods.list[callee as usize].before.zip(methods.list[callee as usize].after),
            What::Root | What::Folded => None,
        };
        let calls = named.map(|(k, l)| {
            [codes[0].calls(m, &before.symbols.list[k as usize]), codes[1].calls(n, &after.symbols.list[l as usize])]
        });
        let calls = calls.filter(|[ours, theirs]| old.iter().all(|s| ours.contains(s)) && new.iter().all(|s| theirs.contains(s)));
        let [old_sites, new_sites] = calls.unwrap_or_else(|| [&old, &new].map(|seen| seen.iter().copied().collect()));
        if old_sites.len() == new_sites.len() {
            notes.by_order += 1;
            maps[0].extend(old_sites.into_iter().zip(new_sites).map(|(old, new)| ((caller, callee, old), new)));
        } else {
            notes.merged += 1;
            maps[0].extend(old.into_iter().map(|site| ((caller, callee, site), 0)));
            maps[1].extend(new.into_iter().map(|site| ((caller, callee, site), 0)));
        }
    }
    maps
}

fn same(codes: &mut [Codes<'_>; 2], m: u32, n: u32) -> bool {
    let [before, after] = codes;
    before.same(m, after, n)
}

/// The code of a profile's methods by symbol.
struct Codes<'a> {
    profile: &'a Profile,
    /// Those of each symbol: of hidden classes, or of loaders, there may be several.
    methods: FxHashMap<u32, Vec<u32>>,
    /// Classes that were asked for, none if they are damaged.
    classes: FxHashMap<u32, Option<ClassFile<'a>>>,
}

impl<'a> Codes<'a> {
    fn new(sheet: &Sheet<'a>) -> Codes<'a> {
        let side = Side { profile: sheet.profile, symbols: sheet.symbols };
        let mut methods: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        (0..side.profile.methods.len() as u32).for_each(|m| methods.entry(side.symbols.of_method(m)).or_default().push(m));
        Codes { profile: sheet.profile, methods, classes: FxHashMap::default() }
    }

    fn class(&mut self, m: u32) -> Option<&ClassFile<'a>> {
        let class = self.profile.methods[m as usize].class;
        let bytes = &self.profile.classes[class as usize].bytes;
        self.classes.entry(class).or_insert_with(|| ClassFile::parse(bytes).ok()).as_ref()
    }

    /// Whether the code of a symbol is that of another one's, in whatever order the classes came.
    fn same(&mut self, symbol: u32, other: &mut Codes<'_>, others: u32) -> bool {
        let (Some(ours), Some(theirs)) = (self.methods.get(&symbol), other.methods.get(&others)) else { return false };
        let (ours, theirs) = (ours.clone(), theirs.clone());
        ours.iter().all(|&m| theirs.iter().any(|&n| self.alike(m, other, n)))
            && theirs.iter().all(|&n| ours.iter().any(|&m| self.alike(m, other, n)))
    }

    fn alike(&mut self, m: u32, other: &mut Codes<'_>, n: u32) -> bool {
        let (ours, theirs) = (&self.profile.methods[m as usize], &other.profile.methods[n as usize]);
        if self.profile.classes[ours.class as usize].bytes == other.profile.classes[theirs.class as usize].bytes {
            return ours.index == theirs.index;
        }
        let (m_index, n_index) = (ours.index, theirs.index);
        let (Some(a), Some(b)) = (self.class(m), other.class(n)) else { return false };
        let (Some(m), Some(n)) = (a.methods.get(m_index as usize), b.methods.get(n_index as usize)) else { return false };
        same_places((a, m), (b, n))
    }

    /// The call sites in a symbol's code that name a method as another symbol is called, rising; none of code that is there in several
    /// versions.
    fn calls(&mut self, symbol: u32, callee: &Symbol) -> Vec<u32> {
        let Some(&[m]) = self.methods.get(&symbol).map(Vec::as_slice) else { return Vec::new() };
        let index = self.profile.methods[m as usize].index;
        let Some(class) = self.class(m) else { return Vec::new() };
        let code = class.methods.get(index as usize).map(|method| class.code(method));
        let Some(Ok(Some(code))) = code else { return Vec::new() };
        let calls = |i: &Instruction<'_>| {
            InvokeKind::of_opcode(i.opcode).is_some()
                && class.pool.member(i.u2()).is_ok_and(|named| {
                    mutf8::decode(named.name) == callee.method && mutf8::decode(named.descriptor) == callee.descriptor
                })
        };
        Instructions::new(code.bytes, code.at).map_while(Result::ok).filter(calls).map(|i| i.bci + 1).collect()
    }
}
