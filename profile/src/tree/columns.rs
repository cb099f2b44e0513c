//! Contexts as columns: there may be tens of millions.

use super::What;
use crate::amounts::Amounts;
use crate::cycles::Columns;
use crate::model::special;

/// What contexts are, a number for each: a method of the profile, a native method's symbol above these, or [`special`].
#[derive(Debug, Clone)]
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

/// Contexts as columns, callers before callees; the first is the root.
#[derive(Debug, Clone)]
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
    pub(super) fn push(&mut self, is: u32, parent: u32, site: u32) {
        if site != 0 && self.site.is_empty() {
            self.site.resize(self.is.len(), 0);
        }
        if site != 0 || !self.site.is_empty() {
            self.site.push(site);
        }
        self.is.push(is);
        self.parent.push(parent);
        for column in [&mut self.calls, &mut self.exceptional_exits, &mut self.own] {
            column.push(0);
        }
        self.processor.iter_mut().for_each(Columns::push);
    }

    pub(super) fn site(&self, at: usize) -> u32 {
        self.site.get(at).copied().unwrap_or(0)
    }

    /// What is met again as the same context.
    pub(super) fn key(&self, at: u32) -> (What, u32) {
        (self.meanings.what(self.is[at as usize]), self.site(at as usize))
    }
}
