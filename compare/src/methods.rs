//! The methods of two profiles, joined.

use crate::renumbering::{Renumbering, Side};
use cprof_profile::tree::{Symbol, Symbols};
use rustc_hash::{FxHashMap, FxHashSet};

/// A method of one or both profiles: positions in their [`Symbols::list`](cprof_profile::tree::Symbols::list).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    /// In the first.
    pub before: Option<u32>,
    /// In the second.
    pub after: Option<u32>,
}

/// All methods of two profiles.
#[derive(Debug, Clone, Default)]
pub struct Methods {
    /// Each once: those of the first profile in its order, then the others.
    pub list: Vec<Joined>,
    /// Per symbol of the second profile, the position in [`Methods::list`]; for the first it is the symbol itself.
    pub of_after: Vec<u32>,
    /// How numbered names were joined.
    pub renumbering: Renumbering,
}

impl Methods {
    /// Joins the methods of two profiles by name and descriptor.
    pub fn join(before: Side<'_>, after: Side<'_>) -> Methods {
        let renumbering = Renumbering::find(before, after);
        let mut numbers: FxHashMap<&Symbol, u32> = FxHashMap::default();
        numbers.extend(after.symbols.list.iter().zip(0..));
        let mut of_after: Vec<Option<u32>> = vec![None; after.symbols.list.len()];
        let mut list = Vec::with_capacity(of_after.len());
        for (s, symbol) in (0..).zip(&before.symbols.list) {
            let other = renumbering.symbol(symbol).and_then(|symbol| numbers.remove(&symbol));
            list.push(Joined { before: Some(s), after: other });
            if let Some(other) = other {
                of_after[other as usize] = Some(s);
            }
        }
        let mut of_new = |(s, known): (u32, Option<u32>)| {
            known.unwrap_or_else(|| {
                list.push(Joined { before: None, after: Some(s) });
                list.len() as u32 - 1
            })
        };
        let of_after = (0..).zip(of_after).map(&mut of_new).collect();
        Methods { list, of_after, renumbering }
    }

    /// The names of the first profile's methods in the words of the second, for whoever matches by name. A method of the first
    /// that has the name of another one in the second is marked.
    pub fn renamed(&self, before: &Symbols, after: &Symbols) -> Vec<Symbol> {
        let names: FxHashSet<&Symbol> = after.list.iter().collect();
        let renamed = |(symbol, joined): (&Symbol, &Joined)| match joined.after {
            Some(other) => after.list[other as usize].clone(),
            None if names.contains(symbol) => Symbol { method: format!("{} (before)", symbol.method), ..symbol.clone() },
            None => symbol.clone(),
        };
        before.list.iter().zip(&self.list).map(renamed).collect()
    }

    /// Methods that both profiles have.
    pub fn common(&self) -> usize {
        self.list.iter().filter(|m| m.before.is_some() && m.after.is_some()).count()
    }
}
