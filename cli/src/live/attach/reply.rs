//! What the agent answers, and how a user is told.

use crate::report::coverage::gaps;
use cprof_profile::names::{counted, dotted, few, thousands};

/// What the agent said, in its order.
pub(super) type Reply = Vec<(String, String)>;

/// What the agent said under a key, the first time.
pub(super) fn said<'r>(reply: &'r Reply, key: &str) -> Option<&'r str> {
    reply.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
}

/// Which classes keep cprof's code, and why. Of many with one reason the first few are named.
pub(super) fn not_restored(reply: &Reply) -> Vec<String> {
    const NAMED: usize = 3;
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (_, text) in reply.iter().filter(|(key, _)| key == "not_restored") {
        let (class, reason) = text.split_once(": ").unwrap_or((text, ""));
        let class = dotted(class);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, classes)) => classes.push(class),
            None => reasons.push((reason, vec![class])),
        }
    }
    let line = |(reason, classes): &(&str, Vec<String>)| {
        let (noun, named) = (if classes.len() == 1 { "class" } else { "classes" }, few(classes, NAMED));
        format!("the JVM keeps cprof's code, which does nothing any more, in {noun} {named}: {reason}")
    };
    reasons.iter().map(line).collect()
}

/// `: 2,179 classes with 18,331 methods covered, 12 methods not (cprof report --coverage lists them); the JVM stood still for 85 ms at
/// most`.
pub(super) fn covered(reply: &Reply) -> String {
    let number = |key: &str| said(reply, key).and_then(|n| n.parse::<u64>().ok());
    let mut text = String::new();
    if let (Some(classes), Some(methods)) = (number("covered_classes"), number("covered_methods")) {
        text.push_str(&format!(": {} classes with {} methods covered", thousands(classes), thousands(methods)));
    }
    let [methods, classes] = ["methods_not_covered", "classes_not_covered"].map(|key| number(key).unwrap_or(0));
    let not = gaps(methods, classes);
    if !not.is_empty() {
        text.push_str(&format!(", {} not (cprof report --coverage lists them)", not.join(" and ")));
    }
    if let Some(frames) = number("active_frames").filter(|&n| n > 0) {
        text.push_str(&format!(", {} active before not", counted(frames, "frame that was", "frames that were")));
    }
    text + &stood_still(reply)
}

/// The longest time for which the agent had the JVM's threads stopped, if it said so.
pub(super) fn stood_still(reply: &Reply) -> String {
    said(reply, "pause_ms").map_or_else(String::new, |pause| format!("; the JVM stood still for {pause} ms at most"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agent_says_is_counted_and_named() {
        let reply: Reply = [
            ("covered_classes", "2179"),
            ("covered_methods", "18331"),
            ("methods_not_covered", "1"),
            ("classes_not_covered", "2"),
            ("active_frames", "9"),
            ("pause_ms", "85"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec();
        assert_eq!(
            covered(&reply),
            ": 2,179 classes with 18,331 methods covered, 1 method and 2 classes not (cprof report --coverage lists them), 9 frames that were \
             active before not; the JVM stood still for 85 ms at most"
        );
        assert_eq!(covered(&Vec::new()), "");
    }

    #[test]
    fn classes_that_stay_woven_are_named_by_reason() {
        let full = "the JVM has no memory left";
        let said = [("a/A", full), ("a.B", "other: why"), ("a.C", full), ("a.D", full), ("a.E", full), ("a.F", full)];
        let reply: Reply = said.map(|(class, why)| ("not_restored".to_owned(), format!("{class}: {why}"))).to_vec();
        let kept = "the JVM keeps cprof's code, which does nothing any more, in";
        assert_eq!(
            not_restored(&reply),
            [format!("{kept} classes a.A, a.C, a.D and 2 more: {full}"), format!("{kept} class a.B: other: why"),]
        );
    }
}
