//! Names of methods for formats that have one text for a method.
//!
//! `com.acme.Main.run(int, java.lang.String[]):void`. Two methods never have the same name here: what could be taken for the
//! punctuation above is escaped as `\uXXXX`, the UTF-16 units in hexadecimal, and so are the backslash, control characters and
//! line separators.

use cprof_profile::tree::Symbol;
use std::fmt::Write;

/// The contexts that were folded together for want of room.
pub const FOLDED: &str = "(folded)";

/// A method's name.
pub fn method(symbol: &Symbol) -> String {
    let mut name = String::new();
    // A class that begins with [ would look like a thread.
    escaped(&symbol.class, |c| c == '(' || c == '[', &mut name);
    name.push('.');
    escaped(&symbol.method, |c| c == '(' || c == '.', &mut name);
    let before = name.len();
    if signature(&symbol.descriptor, &mut name).is_none() {
        // Not a descriptor: without the parenthesis that would announce one.
        name.truncate(before);
        name.push_str("\\(");
        escaped(&symbol.descriptor, |c| matches!(c, '(' | '[' | ' '), &mut name);
    }
    if symbol.native {
        name.push_str(" [native]");
    }
    name
}

/// The frame that stands for the threads of a label.
pub fn thread(label: &str) -> String {
    let mut name = String::from("[");
    escaped(label, |_| false, &mut name);
    name.push(']');
    name
}

/// The name as the JVM writes it: `com/acme/Main.run(I[Ljava/lang/String;)V`.
pub fn internal(symbol: &Symbol) -> String {
    format!("{}.{}{}", symbol.class.replace('.', "/"), symbol.method, symbol.descriptor)
}

/// `(int, java.lang.String[]):void`; none when it is no method descriptor (JVMS §4.3.3).
fn signature(descriptor: &str, out: &mut String) -> Option<()> {
    let mut rest = descriptor.strip_prefix('(')?;
    out.push('(');
    let mut first = true;
    while !rest.starts_with(')') {
        if !first {
            out.push_str(", ");
        }
        first = false;
        rest = field_type(rest, out)?;
    }
    out.push_str("):");
    match &rest[1..] {
        "V" => out.push_str("void"),
        result => field_type(result, out).filter(|rest| rest.is_empty()).map(|_| ())?,
    }
    Some(())
}

/// Appends the type that a text begins with, and answers what follows it.
fn field_type<'a>(text: &'a str, out: &mut String) -> Option<&'a str> {
    let element = text.trim_start_matches('[');
    let mut rest = element.get(1..)?;
    let primitive = match element.as_bytes()[0] {
        b'B' => "byte",
        b'C' => "char",
        b'D' => "double",
        b'F' => "float",
        b'I' => "int",
        b'J' => "long",
        b'S' => "short",
        b'Z' => "boolean",
        b'L' => "",
        _ => return None,
    };
    if primitive.is_empty() {
        let (class, after) = rest.split_once(';')?;
        if class.is_empty() || class.contains('.') {
            return None;
        }
        rest = after;
        // In a package of its own no class is taken for a primitive type.
        if ["byte", "char", "double", "float", "int", "long", "short", "boolean", "void"].contains(&class) {
            out.push_str("\\.");
        }
        escaped(&class.replace('/', "."), |c| matches!(c, '(' | ')' | ',' | ':' | '[' | ' '), out);
    } else {
        out.push_str(primitive);
    }
    for _ in 0..text.len() - element.len() {
        out.push_str("[]");
    }
    Some(rest)
}

/// Appends a text in which a backslash, control characters and those that `special` names are `\uXXXX`.
pub fn escaped(text: &str, special: impl Fn(char) -> bool, out: &mut String) {
    for c in text.chars() {
        if c == '\\' || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || special(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("a String takes everything");
            }
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn symbol(class: &str, method: &str, descriptor: &str, native: bool) -> Symbol {
        Symbol { class: class.into(), method: method.into(), descriptor: descriptor.into(), native }
    }

    fn name(class: &str, name: &str, descriptor: &str) -> String {
        method(&symbol(class, name, descriptor, false))
    }

    #[test]
    fn names_read_as_java() {
        assert_eq!(
            name("com.acme.Main", "run", "(I[[Ljava/lang/String;J)V"),
            "com.acme.Main.run(int, java.lang.String[][], long):void"
        );
        assert_eq!(name("A", "<init>", "()V"), "A.<init>():void");
        assert_eq!(name("A$B", "$plus$eq", "(LA;)[B"), "A$B.$plus$eq(A):byte[]");
        assert_eq!(name("A", "is it? (yes)", "()Z"), "A.is it? \\u0028yes)():boolean");
        assert_eq!(name("Ä", "größe\n😀", "()V"), "Ä.größe\\u000a😀():void");
        assert_eq!(method(&symbol("A", "m", "()V", true)), "A.m():void [native]");
        assert_eq!(thread("a\nb]"), "[a\\u000ab]]");
        assert_eq!(internal(&symbol("a.B", "m", "(La/B;)V", false)), "a/B.m(La/B;)V");
    }

    #[test]
    fn what_is_no_descriptor_stays_visible() {
        for bad in ["", "()", "(", "(I", "(Lx)V", "(L;)V", "()VV", "(V)V", "(La.b;)V", "(é)V", "()[", "no"] {
            assert!(name("A", "m", bad).starts_with("A.m\\("), "{bad}: {}", name("A", "m", bad));
        }
    }

    #[test]
    fn no_two_methods_share_a_name() {
        const PIECES: &[&str] =
            &["a", "(", ")", "[", "\\", "int", "Lint;", "I", "V", ":", " ", ",", "[native]", ";", "u0028", ".", "\n", "/"];
        let text = |n| proptest::collection::vec(proptest::sample::select(PIECES), 0..n).prop_map(|p| p.concat());
        let descriptor = prop_oneof![text(6), text(5).prop_map(|inside| format!("(L{inside};)V"))];
        let any = (text(4), text(4), descriptor, any::<bool>());
        let mut seen: HashMap<String, Symbol> = HashMap::new();
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 20_000, ..ProptestConfig::default() });
        let seen = std::cell::RefCell::new(&mut seen);
        runner
            .run(&any, |(class, name, descriptor, native)| {
                // Neither / nor . is in a class's simple names, and symbols have dots between them.
                let symbol = symbol(&class.replace('/', "."), &name, &descriptor, native);
                let name = method(&symbol);
                prop_assert!(!name.contains('\n'));
                let mut seen = seen.borrow_mut();
                let other = seen.entry(name.clone()).or_insert_with(|| symbol.clone());
                prop_assert_eq!(&*other, &symbol, "{}", name);
                Ok(())
            })
            .unwrap();
    }
}
