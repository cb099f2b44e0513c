//! Which methods are meant.

use crate::report::view::View;
use crate::style::printable;
use anyhow::{Result, bail};
use cprof_profile::names::Pattern;
use cprof_profile::tree::Symbol;

/// How many names an error suggests.
const SUGGESTIONS: usize = 5;

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
            bail!("{} was not covered: {}", gap.name(), gap.reason);
        }
        bail!("{} has no class or method {what}; {}", view.file, similar(list, what));
    }
    if named.iter().all(|s| s.native) {
        bail!("{what} is native: it has no bytecode. Its callers: cprof report {} --tree --filter '{what}'", view.file);
    }
    let chosen: Vec<bool> = list.iter().map(|s| !s.native && fits(s)).collect();
    let ran = view.ran(&view.chosen_nodes());
    if !(0..view.profile.methods.len()).any(|m| ran[m] && chosen[view.symbols.of_method(m as u32) as usize]) {
        bail!("{what} did not run in this part of {}; without --root and --thread it did", view.file);
    }
    Ok(chosen)
}

/// What may have been meant.
fn similar(list: &[Symbol], what: &str) -> String {
    let what = what.replace('/', ".");
    let what = what.split('(').next().unwrap_or_default();
    let of_class: Vec<String> = {
        let mut methods: Vec<String> = list.iter().filter(|s| class_of(what) == s.class).map(|s| s.method.clone()).collect();
        methods.sort();
        methods.dedup();
        methods
    };
    if !of_class.is_empty() {
        let rest = of_class.len().saturating_sub(3 * SUGGESTIONS);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let shown: Vec<&str> = of_class.iter().take(3 * SUGGESTIONS).map(String::as_str).collect();
        return format!("methods of that class that ran: {}{more}", printable(&shown.join(", ")));
    }
    // A name without its package fits best, then what is spelt alike.
    let score = |name: &str| {
        let tail = name.len().checked_sub(what.len()).and_then(|at| name.get(at..)) == Some(what);
        if tail { 2.0 } else { strsim::jaro_winkler(last(name), last(what)) }
    };
    let mut names: Vec<String> = list.iter().flat_map(|s| [s.class.clone(), format!("{}.{}", s.class, s.method)]).collect();
    names.sort();
    names.dedup();
    let mut scored: Vec<(f64, &String)> = names.iter().map(|name| (score(name), name)).filter(|s| s.0 > 0.8).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    if scored.is_empty() {
        return "give it as Class or Class.method, the class with its package; cprof report --top 0 lists all that ran"
            .to_owned();
    }
    let names: Vec<&str> = scored.iter().take(SUGGESTIONS).map(|s| s.1.as_str()).collect();
    format!("similar names: {}", printable(&names.join(", ")))
}

/// Up to the last dot.
fn class_of(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(class, _)| class)
}

/// Behind the last dot.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
