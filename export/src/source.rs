//! What all formats are written from.

use crate::names;
use crate::places::Places;
use cprof_profile::code::CodeError;
use cprof_profile::metrics::Sheet;
use cprof_profile::tree::{Context, Symbol, What};

/// A sheet whose tree has threads apart ([`cprof_profile::tree::Tree::by_thread`]), with what formats say about its methods.
pub struct Source<'a> {
    pub(crate) sheet: Sheet<'a>,
    pub(crate) places: Places,
    pub(crate) progress: &'a dyn Fn(f64),
    symbols: Order,
    /// Of the tree's threads, by label.
    threads: Order,
}

/// What a context is, as a number: methods in order of name, then the contexts folded together, then the threads in order of label,
/// so that the same counts give the same file, in whatever order classes were loaded and runs were merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Frame(pub(crate) u32);

impl<'a> Source<'a> {
    /// Reads from the classes where the sheet's methods are. While a format is written, `progress` hears how much of it is done,
    /// 0 to 1.
    pub fn new(sheet: Sheet<'a>, progress: &'a dyn Fn(f64)) -> Result<Source<'a>, CodeError> {
        let symbols = Order::new(&sheet.symbols.list, Symbol::cmp);
        let threads = Order::new(&sheet.tree.threads, |a, b| a.1.cmp(&b.1));
        let places = Places::read(&sheet, &symbols)?;
        Ok(Source { sheet, places, progress, symbols, threads })
    }

    pub(crate) fn context(&self, context: u32) -> Context {
        self.sheet.tree.context(context)
    }

    /// The thread that a context stands for; its number is its position in order of label.
    pub(crate) fn thread(&self, context: u32) -> Option<usize> {
        let threads = &self.sheet.tree.threads;
        match self.sheet.tree.what(context) {
            What::Root => threads.binary_search_by_key(&context, |t| t.0).ok().map(|at| self.thread_at(at)),
            _ => None,
        }
    }

    /// The thread at a position in the tree's threads.
    pub(crate) fn thread_at(&self, at: usize) -> usize {
        self.threads.position[at] as usize
    }

    /// The label of a thread.
    pub(crate) fn label(&self, thread: usize) -> &str {
        &self.sheet.tree.threads[self.threads.sorted[thread] as usize].1
    }

    /// The labels of the threads, in their order.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        (0..self.sheet.tree.threads.len()).map(|thread| self.label(thread))
    }

    /// What a method is.
    pub(crate) fn frame_of(&self, symbol: u32) -> Frame {
        Frame(self.symbols.position[symbol as usize])
    }

    /// What a context is.
    pub(crate) fn frame(&self, context: u32) -> Frame {
        let folded = self.sheet.symbols.list.len() as u32;
        match self.sheet.tree.what(context) {
            What::Method(symbol) => self.frame_of(symbol),
            What::Folded => Frame(folded),
            What::Root => Frame(folded + 1 + self.thread(context).unwrap_or(0) as u32),
        }
    }

    /// How many frames there are.
    pub(crate) fn frames(&self) -> usize {
        self.sheet.symbols.list.len() + 1 + self.sheet.tree.threads.len()
    }

    /// The number of the method that a frame is; none for what is none.
    pub(crate) fn number(&self, frame: Frame) -> Option<u32> {
        self.symbols.sorted.get(frame.0 as usize).copied()
    }

    /// The method that a frame is; none for what is none.
    pub(crate) fn symbol(&self, frame: Frame) -> Option<&Symbol> {
        self.number(frame).map(|symbol| &self.sheet.symbols.list[symbol as usize])
    }

    /// The methods, in order of their frames.
    pub(crate) fn methods(&self) -> &[u32] {
        &self.symbols.sorted
    }

    /// The name of a frame.
    pub(crate) fn name(&self, frame: Frame) -> String {
        match (frame.0 as usize).checked_sub(self.sheet.symbols.list.len()) {
            None => self.symbol(frame).map(names::method).unwrap_or_default(),
            Some(0) => names::FOLDED.to_owned(),
            Some(thread) => names::thread(self.label(thread - 1)),
        }
    }

    /// What callees are ordered by.
    pub(crate) fn key(&self, context: u32) -> (u32, u32) {
        (self.frame(context).0, self.context(context).site)
    }

    /// The name of what ran, for titles.
    pub(crate) fn title(&self) -> &str {
        self.sheet.profile.main()
    }
}

/// The order of some things.
pub(crate) struct Order {
    /// Per thing, its position when they are in order.
    pub(crate) position: Vec<u32>,
    /// Per position, the thing.
    sorted: Vec<u32>,
}

impl Order {
    fn new<T>(things: &[T], order: impl Fn(&T, &T) -> std::cmp::Ordering) -> Order {
        let mut sorted: Vec<u32> = (0..things.len() as u32).collect();
        sorted.sort_by(|&a, &b| order(&things[a as usize], &things[b as usize]));
        let mut position = vec![0; things.len()];
        for (at, &thing) in sorted.iter().enumerate() {
            position[thing as usize] = at as u32;
        }
        Order { position, sorted }
    }
}
