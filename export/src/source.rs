//! What all formats are written from.

use crate::names;
use crate::places::Places;
use cprof_profile::code::CodeError;
use cprof_profile::metrics::Sheet;
use cprof_profile::tree::{Context, What};

/// A sheet whose tree has threads apart ([`cprof_profile::tree::Tree::by_thread`]), with what formats say about its methods.
pub struct Source<'a> {
    pub(crate) sheet: Sheet<'a>,
    pub(crate) places: Places,
    pub(crate) progress: &'a dyn Fn(f64),
    /// Per symbol, its position in order of name.
    order: Vec<u32>,
    /// Per context that stands for a thread, beside the tree's threads: its position in order of label.
    threads: Vec<u32>,
}

/// What a context is, as a number: methods by symbol, then the contexts folded together, then the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Frame(pub(crate) u32);

impl<'a> Source<'a> {
    /// Reads from the classes where the sheet's methods are. While a format is written, `progress` hears how much of it is done,
    /// 0 to 1.
    pub fn new(sheet: Sheet<'a>, progress: &'a dyn Fn(f64)) -> Result<Source<'a>, CodeError> {
        let places = Places::read(&sheet)?;
        let symbols = &sheet.symbols.list;
        let order = positions(symbols.len(), |a, b| symbols[a].cmp(&symbols[b]));
        let labels = &sheet.tree.threads;
        let threads = positions(labels.len(), |a, b| labels[a].1.cmp(&labels[b].1));
        Ok(Source { sheet, places, progress, order, threads })
    }

    pub(crate) fn context(&self, context: u32) -> Context {
        self.sheet.tree.context(context)
    }

    /// The position in the tree's threads of the thread that a context stands for.
    pub(crate) fn thread(&self, context: u32) -> Option<usize> {
        let threads = &self.sheet.tree.threads;
        match self.sheet.tree.what(context) {
            What::Root => threads.binary_search_by_key(&context, |t| t.0).ok(),
            _ => None,
        }
    }

    /// What a context is.
    pub(crate) fn frame(&self, context: u32) -> Frame {
        let folded = self.sheet.symbols.list.len() as u32;
        match self.sheet.tree.what(context) {
            What::Method(symbol) => Frame(symbol),
            What::Folded => Frame(folded),
            What::Root => Frame(folded + 1 + self.thread(context).unwrap_or(0) as u32),
        }
    }

    /// How many frames there are.
    pub(crate) fn frames(&self) -> usize {
        self.sheet.symbols.list.len() + 1 + self.sheet.tree.threads.len()
    }

    /// The name of a frame.
    pub(crate) fn name(&self, frame: Frame) -> String {
        let (at, symbols) = (frame.0 as usize, &self.sheet.symbols.list);
        match at.checked_sub(symbols.len()) {
            None => names::method(&symbols[at]),
            Some(0) => names::FOLDED.to_owned(),
            Some(thread) => names::thread(&self.sheet.tree.threads[thread - 1].1),
        }
    }

    /// What callees are ordered by, so that the same counts give the same file.
    pub(crate) fn key(&self, context: u32) -> (u32, u32) {
        let c = self.context(context);
        match c.what {
            What::Method(symbol) => (self.order[symbol as usize], c.site),
            What::Folded => (u32::MAX, c.site),
            What::Root => (self.thread(context).map_or(0, |t| self.threads[t]), 0),
        }
    }

    /// The name of what ran, for titles.
    pub(crate) fn title(&self) -> &str {
        let run = &self.sheet.profile.run;
        if run.main_class.is_empty() { "(unknown main class)" } else { &run.main_class }
    }
}

/// Per thing, its position when things are in order.
fn positions(count: usize, order: impl Fn(usize, usize) -> std::cmp::Ordering) -> Vec<u32> {
    let mut sorted: Vec<usize> = (0..count).collect();
    sorted.sort_by(|&a, &b| order(a, b));
    let mut positions = vec![0; count];
    for (at, &thing) in sorted.iter().enumerate() {
        positions[thing] = at as u32;
    }
    positions
}
