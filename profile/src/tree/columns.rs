//! Contexts as columns: there may be tens of millions.

use super::What;
use crate::amounts::Amounts;
use crate::cycles::{Columns, Metrics};
use crate::model::special;

/// What contexts are, a number for each: a method of the profile, a native method's symbol above these, or [`special`].
#[derive(Debug, Clone, Default)]
pub(super) struct Meanings {
    /// Symbols of the profile's methods.
    pub(super) of_method: Vec<u32>,
}

impl Meanings {
    pub(super) fn native(&self, symbol: u32) -> u32 {
        self.of_method.len() as u32 + symbol
    }

    pub(super) fn what(&self, number: u32) -> What {
        match number {
            special::ROOT => What::Root,
            special::FOLDED => What::Folded,
            number => What::Method(match self.of_method.get(number as usize) {
                Some(symbol) => *symbol,
                None => number - self.of_method.len() as u32,
            }),
        }
    }

    pub(super) fn method(&self, number: u32) -> u32 {
        if (number as usize) < self.of_method.len() { number } else { u32::MAX }
    }
}

/// A row of [`Contexts`].
#[derive(Default)]
pub(super) struct Row {
    pub(super) is: u32,
    pub(super) parent: u32,
    pub(super) site: u32,
    pub(super) calls: u64,
    pub(super) exceptional_exits: u64,
    pub(super) own: u64,
    /// None: zeros, or the measures are of no processor.
    pub(super) processor: Option<Metrics>,
}

/// Contexts as columns, callers before callees; the first is the root.
#[derive(Debug, Clone, Default)]
pub(super) struct Contexts {
    pub(super) meanings: Meanings,
    pub(super) is: Vec<u32>,
    pub(super) parent: Vec<u32>,
    /// Empty while all are 0.
    pub(super) site: Vec<u32>,
    pub(super) calls: Amounts,
    pub(super) exceptional_exits: Amounts,
    pub(super) own: Amounts,
    /// Empty when the measures are of no processor.
    pub(super) processor: Option<Columns>,
}

impl Contexts {
    /// The row at a position.
    pub(super) fn row(&self, at: usize) -> Row {
        Row {
            is: self.is[at],
            parent: self.parent[at],
            site: self.site(at),
            calls: self.calls.get(at),
            exceptional_exits: self.exceptional_exits.get(at),
            own: self.own.get(at),
            processor: self.processor.as_ref().map(|columns| columns.get(at)),
        }
    }

    /// Writes a row over another, or behind the last.
    pub(super) fn put(&mut self, at: usize, row: Row) {
        let Contexts { is, parent, site, calls, exceptional_exits, own, processor, .. } = self;
        if at == is.len() {
            is.push(0);
            parent.push(0);
            for column in [calls, exceptional_exits, own] {
                column.push(0);
            }
            processor.iter_mut().for_each(Columns::push);
        }
        if row.site != 0 || !site.is_empty() {
            site.resize(is.len(), 0);
            site[at] = row.site;
        }
        is[at] = row.is;
        parent[at] = row.parent;
        self.calls.set(at, row.calls);
        self.exceptional_exits.set(at, row.exceptional_exits);
        self.own.set(at, row.own);
        if let Some(columns) = &mut self.processor {
            columns.set(at, &row.processor.unwrap_or_default());
        }
    }

    /// Adds a row's counts to those of another that is the same context.
    pub(super) fn add(&mut self, at: usize, row: &Row) {
        self.calls.add(at, row.calls);
        self.exceptional_exits.add(at, row.exceptional_exits);
        self.own.add(at, row.own);
        if let (Some(columns), Some(metrics)) = (&mut self.processor, &row.processor) {
            columns.add(at, metrics);
        }
    }

    /// Keeps the first ones.
    pub(super) fn truncate(&mut self, len: usize) {
        for column in [&mut self.is, &mut self.parent, &mut self.site] {
            column.truncate(len);
            column.shrink_to_fit();
        }
        for column in [&mut self.calls, &mut self.exceptional_exits, &mut self.own] {
            column.truncate(len);
        }
        self.processor.iter_mut().for_each(|columns| columns.truncate(len));
    }

    pub(super) fn site(&self, at: usize) -> u32 {
        self.site.get(at).copied().unwrap_or(0)
    }

    /// What is met again as the same context.
    pub(super) fn key(&self, at: u32) -> (What, u32) {
        (self.meanings.what(self.is[at as usize]), self.site(at as usize))
    }
}
