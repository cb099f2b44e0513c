//! Finding the metric that somebody means.

use cprof_profile::metrics::Metric;
use thiserror::Error;

/// No metric, or several, are called so.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{}", if self.several { format!("{} may be any of {}", self.name, self.names.join(", ")) }
    else { format!("there is no metric {}; there are {}{}", self.name, self.names.join(", "), self.hint) })]
pub struct NoMetric {
    name: String,
    several: bool,
    names: Vec<String>,
    /// How others are had.
    hint: String,
}

impl NoMetric {
    /// Several are.
    pub fn is_ambiguous(&self) -> bool {
        self.several
    }
}

/// The position of the metric of that name. What stands in brackets may be left out from the end as long as one remains:
/// `cycles[jop]` or `cycles` for `cycles[jop,4k/16]`; so may parameters and what was left out, `cycles[jop,4k/16]` for
/// `cycles[jop rws=3 no-upcalls,4k/16]`. `hint` says how one gets
/// others; whoever asks for cycles where there are some has found them.
pub fn find<'m>(mut metrics: impl Iterator<Item = &'m Metric> + Clone, name: &str, hint: &str) -> Result<usize, NoMetric> {
    if let Some(at) = metrics.clone().position(|m| m.name == name) {
        return Ok(at);
    }
    let beginning = name.strip_suffix(']').unwrap_or(name);
    let (processor, cache) = beginning.split_once(',').map_or((beginning, None), |(processor, cache)| (processor, Some(cache)));
    let fits = |m: &&Metric| {
        let Some(rest) = m.name.strip_prefix(processor).filter(|rest| rest.starts_with(['[', ',', ' '])) else { return false };
        // With a cache, how it was evaluated may be left out.
        cache.is_none_or(|cache| {
            rest.strip_suffix(']').is_some_and(|rest| rest.rsplit_once(',').is_some_and(|(_, own)| own == cache))
        })
    };
    let fitting: Vec<(usize, &Metric)> = metrics.clone().enumerate().filter(|(_, m)| fits(m)).collect();
    if let [(one, _)] = fitting[..] {
        return Ok(one);
    }
    let several = !fitting.is_empty();
    let names = |list: &mut dyn Iterator<Item = &'m Metric>| list.map(|m| m.name.clone()).collect();
    let names: Vec<String> = if several { names(&mut fitting.into_iter().map(|(_, m)| m)) } else { names(&mut metrics) };
    let has_cycles = name.starts_with("cycles") && names.iter().any(|name| name.starts_with("cycles"));
    let hint = if has_cycles { String::new() } else { format!("; {hint}") };
    Err(NoMetric { name: name.to_owned(), several, names, hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_short_as_long_as_they_are_clear() {
        let metric = |name: &str| Metric { name: name.into(), unit: "".into(), own: Default::default() };
        let all = ["calls", "bytecodes", "cycles[jop,4k/16]", "cycles[jop rws=3,4k/16]", "cycles[pico,4k/16]"].map(metric);
        let found = |name: &str| find(all.iter(), name, "").map(|at| all[at].name.as_str());
        assert_eq!(found("calls"), Ok("calls"));
        assert_eq!(found("cycles[pico]"), Ok("cycles[pico,4k/16]"));
        assert_eq!(found("cycles[jop,4k/16]"), Ok("cycles[jop,4k/16]"));
        let evaluated = ["cycles[jop no-upcalls,4k/16]", "cycles[jop no-upcalls,1k/4]"].map(metric);
        assert_eq!(find(evaluated.iter(), "cycles[jop,4k/16]", ""), Ok(0));
        assert!(find(evaluated.iter(), "cycles[jop,4k]", "").is_err());
        let error = |name: &str| found(name).unwrap_err().to_string();
        assert_eq!(error("cycles[jop]"), "cycles[jop] may be any of cycles[jop,4k/16], cycles[jop rws=3,4k/16]");
        assert!(error("cycle").starts_with("there is no metric cycle; there are calls, bytecodes, "));
        let counted = find(all[..2].iter(), "cycles[jop]", "ask").unwrap_err();
        assert_eq!(counted.to_string(), "there is no metric cycles[jop]; there are calls, bytecodes; ask");
    }
}
