//! Names like one that nothing is called.

use cprof_profile::names::{few, signature};
use cprof_profile::tree::{Symbol, twins};

/// So many methods of a class are named.
const OF_CLASS: usize = 15;

/// So many other names are.
const SUGGESTIONS: usize = 5;

/// Names are cut there: they may have 65,535 characters.
const LONGEST: usize = 200;

/// Names less alike than this (Jaro-Winkler, 0 to 1) are no help.
const ALIKE: f64 = 0.8;

/// What may be suggested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinds {
    /// Methods.
    Methods,
    /// Methods and classes.
    Both,
}

/// What may have been meant by `what`, a method or class that none of the list is called: the end of an error message.
pub fn similar(list: &[Symbol], what: &str, kinds: Kinds) -> String {
    let name = what.split('(').next().unwrap_or_default().replace('/', ".");
    let sorted = |names: &mut dyn Iterator<Item = String>| {
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        names
    };
    let of = |class: &str| -> Vec<&Symbol> { list.iter().filter(|s| s.class == class).collect() };
    let methods_of = |class: &[&Symbol]| readable(&sorted(&mut class.iter().map(|s| s.method.clone())), OF_CLASS);
    let class = of(&name);
    if kinds == Kinds::Methods && !class.is_empty() {
        return format!("it is a class, of which a method must be named; methods of it that ran: {}", methods_of(&class));
    }
    let (class, method) = name.rsplit_once('.').unwrap_or(("", &name));
    let of_class = of(class);
    if of_class.iter().any(|s| s.method == method) {
        let others: Vec<&Symbol> = of_class.into_iter().filter(|s| s.method == method).collect();
        let twins = twins(others.iter().copied());
        let others = sorted(&mut others.iter().zip(twins).map(|(s, twin)| format!("{name}{}", signature(&s.descriptor, twin))));
        return format!("others of that name ran: {}", readable(&others, SUGGESTIONS));
    }
    if !of_class.is_empty() {
        return format!("methods of that class that ran: {}", methods_of(&of_class));
    }
    let methods = list.iter().map(|s| format!("{}.{}", s.class, s.method));
    let classes = list.iter().filter(|_| kinds == Kinds::Both).map(|s| s.class.clone());
    let names = sorted(&mut methods.chain(classes));
    let is_tail = |full: &&String| full.strip_suffix(&*name).is_some_and(|before| before.ends_with(['.', '$']));
    let without_package: Vec<&String> = names.iter().filter(is_tail).collect();
    if !without_package.is_empty() {
        return format!("similar names: {}", readable(&without_package, SUGGESTIONS));
    }
    let score = |full: &str| strsim::jaro_winkler(full.rsplit('.').next().unwrap_or(full), method);
    let mut scored: Vec<(f64, &String)> = names.iter().map(|name| (score(name), name)).filter(|s| s.0 > ALIKE).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    if scored.is_empty() {
        return "give classes with their packages, as com.acme.Codec.encode; cprof report --top 0 lists all that ran".to_owned();
    }
    let names: Vec<&String> = scored.iter().take(SUGGESTIONS).map(|s| s.1).collect();
    format!("similar names: {}", readable(&names, SUGGESTIONS))
}

/// As [`few`], with names that are not too long to be read.
fn readable<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let cut = |name: &S| match name.as_ref().char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name.as_ref()[..end]),
        None => name.as_ref().to_owned(),
    };
    let mut names: Vec<String> = names.iter().map(cut).collect();
    names.dedup();
    few(&names, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant() {
        let symbol = |class: &str, method: &str, descriptor: &str| Symbol {
            class: class.to_owned(),
            method: method.to_owned(),
            descriptor: descriptor.to_owned(),
            native: false,
        };
        let list = [
            symbol("com.acme.Codec", "encode", "([B)V"),
            symbol("com.acme.Codec", "encode", "(I)V"),
            symbol("com.acme.Codec", "decode", "([B)V"),
            symbol("com.acme.Main$Inner", "run", "()V"),
        ];
        let meant = |what| similar(&list, what, Kinds::Methods);
        let (of_class, of_name) = ("methods of that class that ran: decode, encode", "others of that name ran: ");
        assert_eq!(meant("com.acme.Codec.encoed"), of_class);
        assert_eq!(meant("com/acme/Codec.encoed"), of_class);
        assert_eq!(
            meant("com.acme.Codec"),
            "it is a class, of which a method must be named; methods of it that ran: decode, encode"
        );
        assert_eq!(
            meant("com.acme.Codec.encode()V"),
            format!("{of_name}com.acme.Codec.encode(byte[]), com.acme.Codec.encode(int)")
        );
        assert_eq!(meant("Codec.encode"), "similar names: com.acme.Codec.encode");
        assert_eq!(meant("Inner.run"), "similar names: com.acme.Main$Inner.run");
        assert_eq!(meant("encode"), "similar names: com.acme.Codec.encode");
        assert_eq!(meant("org.Other.encoed"), "similar names: com.acme.Codec.encode, com.acme.Codec.decode");
        let long = [symbol("A", &"n".repeat(65_535), "()V")];
        assert_eq!(similar(&long, "A.n", Kinds::Both), format!("methods of that class that ran: {}…", "n".repeat(200)));
        let package = [symbol(&format!("p.{}", "L".repeat(300)), "run", "()V")];
        let tail = format!("{}.run", "L".repeat(300));
        assert_eq!(similar(&package, &tail, Kinds::Methods), format!("similar names: p.{}…", "L".repeat(198)));
        assert!(meant("zzz").starts_with("give classes with their packages"));
        assert!(meant("com.acme.Codex").starts_with("give classes with their packages"));
        assert_eq!(similar(&list, "com.acme.Codex", Kinds::Both), "similar names: com.acme.Codec");
    }
}
