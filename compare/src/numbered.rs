//! Names that compilers and the JVM number as they go: lambdas, anonymous and local classes, proxies.

use std::cmp::Ordering;

/// A name without its running numbers, and these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// The name with `*` for each number.
    pub family: String,
    /// The numbers, without leading zeros.
    numbers: Vec<String>,
}

impl Numbered {
    /// The order in which they were numbered.
    pub fn order(&self, other: &Numbered) -> Ordering {
        let number = |n: &String| (n.len(), n.clone());
        self.numbers.iter().map(number).cmp(other.numbers.iter().map(number))
    }
}

/// A class name, dotted or internal: `Outer$1`, `Outer$2Local`, `jdk.proxy2.$Proxy14`. None for names without running numbers.
pub fn class(name: &str) -> Option<Numbered> {
    let module = ["jdk.proxy", "jdk/proxy"].into_iter().find(|prefix| name.starts_with(prefix));
    let start = module.map_or(0, str::len);
    let (mut family, mut numbers) = (name[..start].to_owned(), Vec::new());
    let mut rest = &name[start..];
    // `$Proxy14` has its number behind a word.
    let proxy = rest.rsplit(['.', '/']).next().is_some_and(|simple| simple.starts_with("$Proxy"));
    let mut at_module = module.is_some();
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && (at_module || family.ends_with('$') || (proxy && family.ends_with("$Proxy"))) {
            family.push('*');
            numbers.push(plain(&rest[..digits]));
            rest = &rest[digits..];
        } else {
            let step = rest.chars().next().map_or(0, char::len_utf8).max(digits);
            family.push_str(&rest[..step]);
            rest = &rest[step..];
        }
        at_module = false;
    }
    (!numbers.is_empty()).then_some(Numbered { family, numbers })
}

/// The innermost class with a running number in its name that a class is within: `Outer$1` of `Outer$1$$Lambda` and `Outer$1$Inner`.
pub fn outer(name: &str) -> Option<&str> {
    let prefixes = name.rmatch_indices('$').map(|(at, _)| name[..at].trim_end_matches('$'));
    prefixes.into_iter().find(|outer| !outer.ends_with(['.', '/']) && class(outer).is_some())
}

/// A method name: `lambda$run$0` (javac), `run$lambda$0`, `run$lambda-0` (Kotlin), `$anonfun$run$1` (Scala), `access$100`.
pub fn method(name: &str) -> Option<Numbered> {
    let (mut family, mut numbers) = (String::new(), Vec::new());
    for (i, part) in name.split('$').enumerate() {
        if i > 0 {
            family.push('$');
        }
        let digits = part.strip_prefix("lambda-").unwrap_or(part);
        if i > 0 && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            family.push_str(&part[..part.len() - digits.len()]);
            family.push('*');
            numbers.push(plain(digits));
        } else {
            family.push_str(part);
        }
    }
    (!numbers.is_empty()).then_some(Numbered { family, numbers })
}

fn plain(digits: &str) -> String {
    digits.trim_start_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_numbers_are_found() {
        let family = |n: Option<Numbered>| n.map(|n| n.family);
        for (name, expected) in [
            ("a.Outer$1", "a.Outer$*"),
            ("a/Outer$2Local$11", "a/Outer$*Local$*"),
            ("jdk.proxy2.$Proxy14", "jdk.proxy*.$Proxy*"),
            ("com.sun.proxy.$Proxy3", "com.sun.proxy.$Proxy*"),
            ("a.Outer$1$$Lambda", "a.Outer$*$$Lambda"),
        ] {
            assert_eq!(family(class(name)).as_deref(), Some(expected));
        }
        for (name, expected) in [
            ("lambda$main$0", "lambda$main$*"),
            ("lambda$new$b5a8$1", "lambda$new$b5a8$*"),
            ("main$lambda$1$lambda$0", "main$lambda$*$lambda$*"),
            ("main$lambda-3", "main$lambda-*"),
            ("$anonfun$go$1", "$anonfun$go$*"),
            ("access$100", "access$*"),
        ] {
            assert_eq!(family(method(name)).as_deref(), Some(expected));
        }
        for ordinary in ["a.B2", "a.V8.C", "a.Outer$Inner2", "", "x1", "jdk.proxying.A", "é$ü"] {
            assert_eq!((class(ordinary), method(ordinary)), (None, None), "{ordinary}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_name_has_a_family_of_its_own_length(name in "(jdk.proxy)?([$.0-9a-é-]|lambda|Proxy){0,9}") {
            for numbered in [class(&name), method(&name)].into_iter().flatten() {
                assert!(numbered.family.contains('*') && numbered.family.len() <= name.len(), "{numbered:?}");
            }
        }
    }

    #[test]
    fn outer_classes_are_numbered_ones() {
        for (name, expected) in [
            ("a.Outer$1$$Lambda", Some("a.Outer$1")),
            ("a.Outer$1$Inner$2", Some("a.Outer$1$Inner")),
            ("a.Outer$1$Inner", Some("a.Outer$1")),
            ("a/Outer$2Local$11", Some("a/Outer$2Local")),
            ("a.Outer$1", None),
            ("a.Outer$$Lambda", None),
            ("jdk.proxy2.$Proxy14", None),
            ("$1", None),
        ] {
            assert_eq!(outer(name), expected, "{name}");
        }
    }

    #[test]
    fn numbers_are_ordered_as_numbers() {
        let order = |a: &str, b: &str| method(a).unwrap().order(&method(b).unwrap());
        assert_eq!(order("lambda$m$9", "lambda$m$10"), Ordering::Less);
        assert_eq!(order("lambda$m$2", "lambda$m$2"), Ordering::Equal);
        assert_eq!(order("lambda$m$99999999999999999999999", "lambda$m$1"), Ordering::Greater);
    }
}
