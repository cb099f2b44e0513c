//! What the user chooses of a profile: threads and roots.

use crate::output;
use crate::style::printable;
use anyhow::{Result, bail};
use cprof_compare::similar::{Kinds, similar};
use cprof_profile::model::Profile;
use cprof_profile::names::{Pattern, argument, counted, few, numbers_starred};
use cprof_profile::tree::Symbols;

/// So many names are in a message.
const NAMED: usize = 5;

/// A pattern of the command line, made by one of [`Pattern`]'s functions: without `*` it may fit anywhere.
pub fn loose(pattern: &str, of: fn(&str) -> Pattern) -> Pattern {
    if pattern.contains('*') { of(pattern) } else { of(&format!("*{pattern}*")) }
}

/// Per thread: its name fits. Where threads that share a tree may fit, as their numbers are not told apart, that is said.
pub fn choose_threads(name: &str, profile: &Profile, file: &str) -> Result<Vec<bool>> {
    let pattern = loose(name, Pattern::of_text);
    let labels: Vec<String> = profile.threads.iter().map(|t| t.label()).collect();
    let chosen: Vec<bool> = labels.iter().map(|label| pattern.matches(label)).collect();
    // Such a tree's name has `*` for each number.
    let without_numbers = loose(&numbers_starred(name), Pattern::of_text);
    let may_fit = |&t: &usize| profile.threads[t].similar_names && !chosen[t] && without_numbers.matches(&labels[t]);
    let mut shared: Vec<&String> = (0..labels.len()).filter(may_fit).map(|t| &labels[t]).collect();
    shared.sort();
    shared.dedup();
    let shared = match &shared[..] {
        [] => None,
        labels => Some(format!(
            "threads whose names differ in numbers share trees, which {name} does not choose: {}",
            few(labels, NAMED)
        )),
    };
    // Of these, one name is known.
    let of_others = |is_chosen| {
        let of_others = |&t: &usize| profile.threads[t].other_names && chosen[t] == is_chosen && !may_fit(&t);
        Some((0..labels.len()).filter(of_others).count() as u64).filter(|&trees| trees > 0)
    };
    let more = of_others(false)
        .map(|trees| format!("{} of threads of several names, and not chosen", counted(trees, "tree is", "trees are")));
    let less = of_others(true)
        .map(|trees| format!("threads of other names counted in {} of those chosen, too", counted(trees, "tree", "trees")));
    let notes: Vec<String> = shared.into_iter().chain(more).chain(less).collect();
    if !chosen.contains(&true) {
        let notes: String = notes.iter().map(|note| format!("{note}; ")).collect();
        bail!("{file} has no thread whose name fits {name}; {notes}cprof report {} --threads lists them", argument(file));
    }
    notes.iter().for_each(|note| output::tell(format_args!("{file}: {note}")));
    Ok(chosen)
}

/// Per symbol: one of the methods that are named.
pub fn choose_roots(root: &str, symbols: &Symbols, file: &str) -> Result<Vec<bool>> {
    let chosen = symbols.fitting(&Pattern::new(root));
    if !chosen.contains(&true) {
        bail!("{file} has no calls of {}; {}", printable(root), printable(&similar(&symbols.list, root, Kinds::Methods)));
    }
    Ok(chosen)
}
