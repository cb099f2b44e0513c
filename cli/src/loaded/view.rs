//! A profile with the user's choice of threads and root, measured.

use super::choice::{choose_roots, choose_threads, loose};
use super::processor;
use crate::args::{Format, OnTarget, Part, Report, Sort};
use crate::output;
use crate::progress::Progress;
use crate::style::{Style, printable};
use crate::usage::Usage;
use anyhow::{Context, Result};
use cprof_profile::cache::CacheSpec;
use cprof_profile::cycles::Options;
use cprof_profile::measure::{Measures, measure};
use cprof_profile::model::{Nodes, Profile, special};
use cprof_profile::names::Pattern;
use cprof_profile::natives::{NativeCalls, native_calls};
use cprof_profile::projections::{Totals, totals, totals_of_nodes};
use cprof_profile::target::Model;
use cprof_profile::tree::{Context as Node, Symbol, Symbols, Tree, What};
use cprof_profile::{file, projections};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use std::{fs, io};

/// A profile with what was measured of its nodes.
pub struct Measured {
    profile: Profile,
    measures: Measures,
    natives: Vec<NativeCalls>,
    file: String,
}

/// The same, of whoever has it.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    /// The whole profile.
    pub profile: &'a Profile,
    /// Metrics of its nodes.
    pub measures: &'a Measures,
    /// Calls of native methods.
    pub natives: &'a [NativeCalls],
    /// Name of the file.
    pub file: &'a str,
}

impl Measured {
    /// Reads and measures.
    pub fn read(part: &Part) -> Result<Measured> {
        let _progress = Progress::start(format!("reading {}", part.file.display()));
        let file = part.file.display().to_string();
        let profile = file::read(&part.file)?;
        let damaged = || format!("{file} cannot be evaluated");
        let measures = measure(&profile).with_context(damaged)?;
        let natives = native_calls(&profile, &measures).with_context(damaged)?;
        Ok(Measured { profile, measures, natives, file })
    }

    /// To be evaluated.
    pub fn counted(&self) -> Counted<'_> {
        let Measured { profile, measures, natives, file } = self;
        Counted { profile, measures, natives, file }
    }
}

/// What there is of a view's contexts. Each of them takes some 30 bytes as a node of the profile, and as many in the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The tree, with threads of different labels `apart` in it or as one. The profile has no nodes any more: the tree is made in
    /// their place.
    Tree {
        /// Threads of different labels.
        apart: bool,
    },
    /// The tree, and the nodes beside it.
    Both {
        /// As for [`Shape::Tree`].
        apart: bool,
    },
    /// The nodes, and a tree without contexts: for sums, which need none.
    Nodes,
}

/// What all reports start from.
pub struct View {
    /// The whole profile; with its nodes if the [`Shape`] has them.
    pub profile: Profile,
    /// Metrics of its nodes, if they are there.
    pub measures: Measures,
    /// Calls of native methods.
    pub natives: Vec<NativeCalls>,
    /// Names.
    pub symbols: Symbols,
    /// The chosen contexts, if the shape has a tree.
    pub tree: Tree,
    /// Their sums.
    pub totals: Totals,
    /// Per symbol: a method that `--root` names.
    pub roots: Option<Vec<bool>>,
    /// Per thread: chosen by `--thread`.
    pub threads: Vec<bool>,
    /// Name of the file.
    pub file: String,
    /// The processor of `--target` or of the recording.
    pub processor: Option<Evaluated>,
    shape: Shape,
}

/// What the cycles in a view are of.
pub struct Evaluated {
    /// The processor.
    pub model: Model,
    /// Its name, with what the options change of it.
    pub name: String,
    /// Its method cache.
    pub cache: CacheSpec,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// `--no-upcalls`, `--no-exceptions` and the like.
    pub options: Options,
}

/// The report without any options.
pub fn defaults(path: &Path) -> Report {
    Report {
        part: Part { file: path.to_owned(), root: None, thread: None },
        tree: false,
        threads: false,
        coverage: false,
        format: Format::Text,
        filter: None,
        sort: None,
        top: None,
        min_share: None,
        max_depth: None,
        on: OnTarget::default(),
    }
}

/// The contexts at and below the roots, given by symbol, if there are any.
fn below(roots: Option<&[bool]>, tree: Tree) -> Tree {
    match roots {
        Some(roots) => tree.at_and_below(|s| roots[s as usize]),
        None => tree,
    }
}

impl View {
    /// Reads and measures; `on` none: on no processor.
    pub fn load(part: &Part, on: Option<&OnTarget>, shape: Shape) -> Result<View> {
        let mut measured = Measured::read(part)?;
        let Measured { profile, measures, natives, file } = &mut measured;
        let progress = Progress::start(format!("evaluating {file}"));
        // Wrong options are so whatever the file.
        let failed = |e: anyhow::Error| if e.is::<Usage>() { e } else { e.context(format!("{file} cannot be evaluated")) };
        let load = |on| processor::load(on, profile, measures, natives).map_err(failed);
        let processor = on.map(load).transpose()?.flatten();
        drop(progress);
        View::new(measured, part, processor, shape)
    }

    /// The part of what was measured, `processor`'s cycles included if there is one.
    pub fn new(measured: Measured, part: &Part, processor: Option<Evaluated>, shape: Shape) -> Result<View> {
        let Measured { mut profile, mut measures, natives, file } = measured;
        let symbols = Symbols::new(&profile);
        let threads: Vec<bool> = match &part.thread {
            Some(name) => choose_threads(name, &profile, &file)?,
            None => vec![true; profile.threads.len()],
        };
        let roots = part.root.as_ref().map(|root| choose_roots(root, &symbols, &file)).transpose()?;
        // From here on nothing is told.
        let _progress = Progress::start(format!("evaluating {file}"));
        let chosen = |t: usize| threads[t];
        let tree = match shape {
            Shape::Tree { apart } => Tree::in_place(&mut profile, &symbols, &mut measures, &natives, chosen, apart),
            Shape::Both { apart: true } => Tree::by_thread(&profile, &symbols, &measures, &natives, chosen),
            Shape::Both { apart: false } => Tree::new(&profile, &symbols, &measures, &natives, chosen),
            Shape::Nodes => Tree::new(&profile, &symbols, &measures, &natives, |_| false),
        };
        let tree = below(roots.as_deref(), tree);
        let mut view =
            View { profile, measures, natives, symbols, tree, totals: Totals::default(), roots, threads, file, processor, shape };
        view.totals = if shape == Shape::Nodes { view.sums() } else { totals(&view.tree, &view.symbols) };
        Ok(view)
    }

    /// The sums over the chosen nodes.
    fn sums(&self) -> Totals {
        let chosen = self.chosen_nodes();
        totals_of_nodes(&self.profile, &self.symbols, &self.measures, &chosen, self.chosen_natives(&chosen))
    }

    /// Calls of native methods in the view, whose nodes are `chosen`. A root may be a native method, which has none.
    pub fn chosen_natives<'a>(&'a self, chosen: &'a [bool]) -> impl Iterator<Item = &'a NativeCalls> + 'a {
        let is_root = move |native: u32| self.roots.as_ref().is_some_and(|roots| roots[self.symbols.of_native(native) as usize]);
        let in_threads =
            move |node: u32| self.threads[self.profile.threads.partition_point(|thread| thread.first_node <= node) - 1];
        self.natives.iter().filter(move |n| chosen[n.node as usize] || (is_root(n.native) && in_threads(n.node)))
    }

    /// Makes the tree in place of the nodes, in a view that has those only; threads of different labels are `apart` in it.
    pub fn into_tree(mut self, apart: bool) -> View {
        self.nodes();
        let View { profile, measures, natives, symbols, threads, .. } = &mut self;
        let tree = Tree::in_place(profile, symbols, measures, natives, |t| threads[t], apart);
        self.tree = below(self.roots.as_deref(), tree);
        self.shape = Shape::Tree { apart };
        self
    }

    /// To be evaluated.
    pub fn counted(&self) -> Counted<'_> {
        self.nodes();
        Counted { profile: &self.profile, measures: &self.measures, natives: &self.natives, file: &self.file }
    }

    /// The profile's nodes.
    fn nodes(&self) -> &Nodes {
        assert!(!matches!(self.shape, Shape::Tree { .. }), "a view of the tree alone");
        &self.profile.nodes
    }

    /// The contexts of some threads of the view, at and below its roots.
    pub fn tree_of(&self, threads: impl Fn(usize) -> bool) -> Tree {
        self.nodes();
        let chosen = |t: usize| self.threads[t] && threads(t);
        below(self.roots.as_deref(), Tree::new(&self.profile, &self.symbols, &self.measures, &self.natives, chosen))
    }

    /// The view's contexts, those of threads of different labels apart.
    pub fn tree_apart(&self) -> Tree {
        self.nodes();
        let chosen = |t: usize| self.threads[t];
        below(self.roots.as_deref(), Tree::by_thread(&self.profile, &self.symbols, &self.measures, &self.natives, chosen))
    }

    /// Gives the tree's memory back, which is half of a view's: from here on it is one without contexts.
    pub fn forget_tree(&mut self) {
        self.tree = Tree::new(&self.profile, &self.symbols, &self.measures, &self.natives, |_| false);
    }

    /// Per node of the profile: its context is in the view. For sums over nodes, which need no tree.
    pub fn chosen_nodes(&self) -> Vec<bool> {
        let nodes = self.nodes();
        let mut chosen = vec![false; nodes.len()];
        for t in (0..self.threads.len()).filter(|&t| self.threads[t]) {
            for node in self.profile.nodes_of_thread(t) {
                let method = nodes.method[node];
                chosen[node] = match &self.roots {
                    None => method != special::ROOT,
                    Some(roots) => {
                        chosen[nodes.parent[node] as usize]
                            || (method < special::FIRST && roots[self.symbols.of_method(method) as usize])
                    }
                };
            }
        }
        chosen
    }

    /// Per method of the profile: one of these nodes is its.
    pub fn ran(&self, nodes: &[bool]) -> Vec<bool> {
        let mut ran = vec![false; self.profile.methods.len()];
        let chosen = self.nodes().method.iter().zip(nodes).filter(|(method, chosen)| **chosen && **method < special::FIRST);
        chosen.for_each(|(method, _)| ran[*method as usize] = true);
        ran
    }

    /// Whether a file was changed after the profile was taken, or the first of those that it was merged from, as far as that is
    /// known: not where the JVM was killed.
    pub fn is_older_than(&self, file: &Path) -> bool {
        let Profile { run, runs, .. } = &self.profile;
        let ended = runs.iter().map(|run| run.facts.ended_ms).chain([run.ended_ms]).filter(|&ended| ended > 0).min();
        let changed = fs::metadata(file).and_then(|file| file.modified());
        let is_later = |ended| changed.is_ok_and(|changed| changed > UNIX_EPOCH + Duration::from_millis(ended));
        ended.is_some_and(is_later)
    }

    /// That there is nothing to show, and why: zeros and empty files do not explain themselves.
    pub fn nothing(&self) -> Option<String> {
        if self.totals.contexts > 0 || self.totals.native_calls > 0 {
            return None;
        }
        let roots = &self.profile.run.roots;
        Some(match self.roots.is_some() || self.threads.contains(&false) {
            true => format!("{}: nothing was counted in this part of it", self.file),
            false if roots.is_empty() => format!("{}: nothing was counted in it", self.file),
            false => format!("{}: nothing was counted in it: only calls of {} would have been", self.file, roots.join(", ")),
        })
    }

    /// Says on standard error that there is nothing to show, if so.
    pub fn tell_if_nothing(&self) {
        if let Some(nothing) = self.nothing() {
            output::tell(format_args!("{}", Style::of(&io::stderr()).warning(&nothing)));
        }
    }

    /// What costs are counted in.
    pub fn unit(&self) -> &str {
        self.processor.as_ref().map_or("bytecodes", |on| &on.model.unit)
    }

    /// A context's own cost and that with everything below.
    pub fn cost(&self, context: u32) -> (u64, u64) {
        let on = self.tree.on_processor(context);
        let counted = self.tree.context(context);
        match self.processor {
            Some(_) => (on.own.cycles, on.cycles_total),
            None => (counted.own, counted.total),
        }
    }

    /// A method's own cost and that with everything it called.
    pub fn cost_of_row(&self, row: &projections::MethodRow) -> (u64, u64) {
        match self.processor {
            Some(_) => (row.processor.cycles, row.cycles_total),
            None => (row.own, row.total),
        }
    }

    /// The cost of everything in the view.
    pub fn whole(&self) -> u64 {
        if self.processor.is_some() { self.totals.processor.cycles } else { self.totals.own }
    }

    /// The method of a context; none for contexts folded together.
    pub fn symbol(&self, context: &Node) -> Option<&Symbol> {
        match context.what {
            What::Method(symbol) => Some(&self.symbols.list[symbol as usize]),
            What::Root | What::Folded => None,
        }
    }

    /// A method for people, as a terminal can take it.
    pub fn readable(&self, symbol: u32) -> String {
        printable(&self.symbols.readable(symbol)).into_owned()
    }

    /// Rows by method, those that fit the filter, in the order asked for.
    pub fn rows(&self, args: &Report) -> Vec<projections::MethodRow> {
        let mut rows = projections::by_method(&self.tree, &self.symbols);
        if let Some(filter) = &args.filter {
            let pattern = loose(filter, Pattern::new);
            rows.retain(|r| fits(&pattern, &self.symbols.list[r.symbol as usize]));
        }
        rows.sort_by(|a, b| {
            let key = |r: &projections::MethodRow| {
                let (own, total) = self.cost_of_row(r);
                match args.sort.unwrap_or_default() {
                    Sort::Cost | Sort::Cycles => (own, total, r.calls),
                    Sort::Total | Sort::CyclesTotal => (total, own, r.calls),
                    Sort::Bytecodes => (r.own, r.total, r.calls),
                    Sort::BytecodesTotal => (r.total, r.own, r.calls),
                    Sort::Calls => (r.calls, own, total),
                    Sort::Exits => (r.exceptional_exits, r.calls, own),
                    Sort::Name => (0, 0, 0),
                }
            };
            let name = |r: &projections::MethodRow| &self.symbols.list[r.symbol as usize];
            key(b).cmp(&key(a)).then_with(|| name(a).cmp(name(b)))
        });
        rows
    }
}

/// Whether a method's `Class.method` fits.
pub fn fits(pattern: &Pattern, symbol: &Symbol) -> bool {
    pattern.matches_method(&symbol.class, &symbol.method, &symbol.descriptor)
}

/// A share in percent, one digit after the point.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1}%", part as f64 * 100.0 / whole as f64) }
}
