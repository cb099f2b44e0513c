//! Constants as `javap -c` describes them behind `//`.

use super::numbers::{java_double, java_float};
use cprof_instrument::Error;
use cprof_instrument::classfile::{ClassFile, Constant, MemberRef, mutf8};

/// The kinds of method handles (JVMS table 5.4.3.5-A), from 1.
const REFERENCE_KINDS: [&str; 9] = [
    "REF_getField",
    "REF_getStatic",
    "REF_putField",
    "REF_putStatic",
    "REF_invokeVirtual",
    "REF_invokeStatic",
    "REF_invokeSpecial",
    "REF_newInvokeSpecial",
    "REF_invokeInterface",
];

/// What a constant is: `Method java/lang/Object."<init>":()V`, `String a\tb`, `long 5l`. The class's own members are
/// named without the class.
pub fn describe(class: &ClassFile<'_>, index: u16) -> Result<String, Error> {
    Ok(match class.pool.constant(index)? {
        Constant::Integer(value) => format!("int {value}"),
        Constant::Float(value) => format!("float {}f", java_float(value)),
        Constant::Long(value) => format!("long {value}l"),
        Constant::Double(value) => format!("double {}d", java_double(value)),
        Constant::Class(name) => format!("class {}", quoted(name)),
        Constant::String(text) => format!("String {}", escaped(&mutf8::decode_lossy(text))),
        Constant::Field(member) => format!("Field {}", member_of(class, &member)),
        Constant::Method(member) => format!("Method {}", member_of(class, &member)),
        Constant::InterfaceMethod(member) => format!("InterfaceMethod {}", member_of(class, &member)),
        Constant::MethodHandle(kind, member) => {
            let kind = (kind as usize).checked_sub(1).and_then(|at| REFERENCE_KINDS.get(at));
            format!("MethodHandle {} {}", kind.unwrap_or(&"?"), qualified(&member))
        }
        Constant::MethodType(descriptor) => format!("MethodType {}", mutf8::decode(descriptor)),
        Constant::Dynamic(bootstrap, member) => format!("Dynamic #{bootstrap}:{}", named(&member)),
        Constant::InvokeDynamic(bootstrap, member) => format!("InvokeDynamic #{bootstrap}:{}", named(&member)),
    })
}

fn member_of(class: &ClassFile<'_>, member: &MemberRef<'_>) -> String {
    if member.class == class.name() { named(member) } else { qualified(member) }
}

fn qualified(member: &MemberRef<'_>) -> String {
    format!("{}.{}", quoted(member.class), named(member))
}

fn named(member: &MemberRef<'_>) -> String {
    format!("{}:{}", quoted(member.name), mutf8::decode(member.descriptor))
}

/// A name as it is, or in quotes where its parts between slashes could not be identifiers in Java: `"<init>"`, `"[I"`.
fn quoted(name: &[u8]) -> String {
    let name = mutf8::decode(name);
    let mut before = '/';
    let plain = !name.is_empty()
        && name.chars().all(|c| {
            let fits = if before == '/' { starts_identifier(c) } else { c == '/' || continues_identifier(c) };
            before = c;
            fits
        });
    if plain { name.into_owned() } else { format!("\"{}\"", escaped(&name)) }
}

/// `Character.isJavaIdentifierStart`: letters, letter numbers, currency symbols and connectors. Currency symbols are those
/// of the Basic Multilingual Plane, connectors the ASCII one and those of Unicode's identifiers.
fn starts_identifier(c: char) -> bool {
    const CURRENCY: [(char, char); 16] = [
        ('$', '$'),
        ('\u{a2}', '\u{a5}'),
        ('\u{58f}', '\u{58f}'),
        ('\u{60b}', '\u{60b}'),
        ('\u{7fe}', '\u{7ff}'),
        ('\u{9f2}', '\u{9f3}'),
        ('\u{9fb}', '\u{9fb}'),
        ('\u{af1}', '\u{af1}'),
        ('\u{bf9}', '\u{bf9}'),
        ('\u{e3f}', '\u{e3f}'),
        ('\u{17db}', '\u{17db}'),
        ('\u{20a0}', '\u{20c0}'),
        ('\u{a838}', '\u{a838}'),
        ('\u{fdfc}', '\u{fdfc}'),
        ('\u{ff04}', '\u{ff04}'),
        ('\u{ffe0}', '\u{ffe6}'),
    ];
    c == '_' || unicode_ident::is_xid_start(c) || CURRENCY.iter().any(|&(first, last)| (first..=last).contains(&c))
}

/// `Character.isJavaIdentifierPart`: besides what may start one digits, marks, and control characters that are ignored.
fn continues_identifier(c: char) -> bool {
    let ignorable = matches!(c, '\0'..='\u{8}' | '\u{e}'..='\u{1b}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{200b}'..='\u{200f}');
    starts_identifier(c) || unicode_ident::is_xid_continue(c) || ignorable
}

/// Text with Java's escapes for quotes, backslashes and control characters, so that it stays on its line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '"' | '\'' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_identifiers_are_quoted() {
        for plain in ["java/lang/Object", "a$b", "_x", "été", "x1", "euro€"] {
            assert_eq!(quoted(plain.as_bytes()), plain);
        }
        for odd in ["<init>", "[I", "[Ljava/lang/String;", "", "a//b", "1a", "a-b", "a b", "package-info"] {
            assert_eq!(quoted(odd.as_bytes()), format!("\"{odd}\""));
        }
        assert_eq!(quoted(b"say \"hi\"\n"), r#""say \"hi\"\n""#);
    }

    #[test]
    fn what_would_break_the_line_is_escaped() {
        assert_eq!(escaped("a\tb\u{1}\u{85}é\u{1F600}'"), r"a\tb\u0001\u0085é😀\'");
    }
}
