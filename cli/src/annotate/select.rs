//! Which methods are meant.

use crate::loaded::view::View;
use crate::style::printable;
use anyhow::{Result, bail};
use cprof_compare::similar::{Kinds, similar};
use cprof_profile::names::{Pattern, argument};
use cprof_profile::tree::Symbol;

/// Per symbol: a method with bytecode that `what` names, by its class or by itself.
///
/// # Errors
/// None fits, or none that fits ran in this part of the profile.
pub fn choose(view: &View, what: &str) -> Result<Vec<bool>> {
    let pattern = Pattern::new(what);
    let fits = |s: &Symbol| pattern.matches(&s.class) || pattern.matches_method(&s.class, &s.method, &s.descriptor);
    let list = &view.symbols.list;
    let named: Vec<&Symbol> = list.iter().filter(|s| fits(s)).collect();
    if named.is_empty() {
        if let Some(gap) = view.profile.gaps.iter().find(|gap| gap.is_named_by(&pattern)) {
            // Of many that a pattern may name, the first explains nothing.
            if let Some(nothing) = view.nothing().filter(|_| what.contains('*')) {
                bail!(nothing);
            }
            bail!("{} was not covered: {}", gap.name(), gap.reason);
        }
        bail!("{} has no class or method {}; {}", view.file, printable(what), printable(&similar(list, what, Kinds::Both)));
    }
    if named.iter().all(|s| s.native) {
        bail!(
            "{what} is native: it has no bytecode. Its callers: cprof report {} --tree --filter {}",
            argument(&view.file),
            argument(what)
        );
    }
    let chosen: Vec<bool> = list.iter().map(|s| !s.native && fits(s)).collect();
    let ran = view.ran(&view.chosen_nodes());
    if !(0..view.profile.methods.len()).any(|m| ran[m] && chosen[view.symbols.of_method(m as u32) as usize]) {
        bail!("{what} did not run in this part of {}; without --root and --thread it did", view.file);
    }
    Ok(chosen)
}
