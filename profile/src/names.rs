//! Names for people, and names that stay the same from run to run.

use std::borrow::Cow;

/// Dotted form of an internal class name.
pub fn dotted(internal: &str) -> String {
    internal.replace('/', ".")
}

/// Of an address in a class's name (HotSpot 17 to 25, 64 bits).
const DIGITS: usize = 16;

/// A dotted class name without what the JVM numbers as it goes: addresses and counters of lambdas, LambdaForms and
/// other hidden classes, and of reflection's generated accessors (JDK 17). Names of ordinary classes stay. Where nobody knows
/// whether a class is `hidden`, an address as HotSpot writes them, of sixteen digits, says so.
pub fn stable(internal: &str, mut hidden: bool) -> String {
    let mut name: &str = internal;
    // A hidden class is named <class file's name>/<suffix>, the suffix an address (JVMS has no rule; HotSpot 15 and later);
    // inside the class file it may be `+0x…` or `.0x…`.
    for mark in ["/0x", "+0x", ".0x"] {
        if let Some(at) = name.find(mark)
            && let digits = &name[at + 3..]
            && (if hidden { !digits.is_empty() } else { digits.len() == DIGITS })
            && digits.bytes().all(|b| b.is_ascii_hexdigit())
        {
            name = &name[..at];
            hidden = true;
        }
    }
    let without_digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if without_digits.len() < name.len() {
        const RUNNING: [&str; 3] = [
            "jdk/internal/reflect/GeneratedMethodAccessor",
            "jdk/internal/reflect/GeneratedConstructorAccessor",
            "jdk/internal/reflect/GeneratedSerializationConstructorAccessor",
        ];
        if hidden && without_digits.ends_with('$') {
            name = &without_digits[..without_digits.len() - 1];
        } else if RUNNING.contains(&without_digits) {
            name = without_digits;
        }
    }
    dotted(&without_hosts_address(name))
}

/// A lambda's class is named after the one that has it, and after the address of that if it is hidden
/// (`InnerClassLambdaMetafactory`: `Host_0x0000000800c03000$$Lambda`).
fn without_hosts_address(name: &str) -> Cow<'_, str> {
    let mut name = Cow::Borrowed(name);
    while let Some(at) = name.match_indices("_0x").map(|(at, _)| at).find(|at| {
        let behind = &name.as_bytes()[at + 3..];
        behind.len() > DIGITS && behind[..DIGITS].iter().all(u8::is_ascii_hexdigit) && behind[DIGITS..].starts_with(b"$$Lambda")
    }) {
        name.to_mut().replace_range(at..at + 3 + DIGITS, "");
    }
    name
}

/// A pattern over names: `*` stands for any characters, everything else for itself.
#[derive(Debug, Clone)]
pub struct Pattern {
    parts: Vec<String>,
}

impl Pattern {
    /// A pattern over names of classes and methods: `/` in it is the same as `.`.
    pub fn new(pattern: &str) -> Pattern {
        Pattern::of_text(&pattern.replace('/', "."))
    }

    /// A pattern over any other text, such as names of threads.
    pub fn of_text(pattern: &str) -> Pattern {
        Pattern { parts: pattern.split('*').map(str::to_owned).collect() }
    }

    /// Whether the whole text fits.
    pub fn matches(&self, text: &str) -> bool {
        let (first, rest) = (&self.parts[0], &self.parts[1..]);
        let Some(mut text) = text.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = rest.split_last() else { return text.is_empty() };
        for part in middle {
            let Some(at) = text.find(part.as_str()) else { return false };
            text = &text[at + part.len()..];
        }
        text.ends_with(last.as_str())
    }

    /// Whether some method of a class may fit; where the answer is no, none does.
    pub fn may_match_in(&self, class: &str) -> bool {
        let first = &self.parts[0];
        let name = class.len().min(first.len());
        class.as_bytes()[..name] == first.as_bytes()[..name]
    }

    /// The part of a pattern of methods that is about their class, unless it fits any.
    pub fn class(&self) -> Option<Pattern> {
        let text = self.parts.join("*");
        let (class, _) = text.split('(').next()?.rsplit_once('.')?;
        (!class.starts_with('*')).then(|| Pattern::of_text(class))
    }

    /// Whether a method fits, as `Class.method`; and where the pattern has a parenthesis, as `Class.method(descriptor…`, or as
    /// reports print it, with its parameters' types, and its result's. Without one, `*String*` is about names, not about who takes a
    /// `String`.
    pub fn matches_method(&self, class: &str, method: &str, descriptor: &str) -> bool {
        let name = format!("{class}.{method}");
        if self.matches(&name) {
            return true;
        }
        if !self.parts.iter().any(|part| part.contains(['(', ')'])) {
            return false;
        }
        let with = |parameters: &str| self.matches(&format!("{name}{parameters}"));
        let printed = |text: String| with(&text) || with(&text.replace(", ", ",").replace(": ", ":"));
        let parameters = parameters(descriptor);
        with(&descriptor.replace('/', "."))
            || result(descriptor).is_some_and(|result| printed(format!("{parameters}: {result}")))
            || printed(parameters.into_owned())
    }
}

/// Whether patterns of `include=` and `exclude=` select a class, given by its dotted name.
pub fn selects(include: &[Pattern], exclude: &[Pattern], class: &str) -> bool {
    let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(class));
    (include.is_empty() || any(include)) && !any(exclude)
}

/// A text with a `*` in the place of each number.
pub fn numbers_starred(text: &str) -> String {
    let mut starred = String::with_capacity(text.len());
    let mut in_number = false;
    for c in text.chars() {
        if !c.is_ascii_digit() {
            starred.push(c);
        } else if !in_number {
            starred.push('*');
        }
        in_number = c.is_ascii_digit();
    }
    starred
}

/// A number of things: `1 run`, `2,000 runs`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// A change in percent of what was before: `+1.50%`. What changed is not shown as 0, and what is left not as gone.
pub fn relative(before: u64, after: u64) -> String {
    match (before, after) {
        (before, after) if before == after => "0%".to_owned(),
        (0, _) => "from 0".to_owned(),
        (before, after) => {
            let percent = (after as f64 - before as f64) * 100.0 / before as f64;
            if percent.abs() < 0.01 {
                format!("{}0.01%", if after < before { "> -" } else { "< +" })
            } else if after > 0 && percent < -99.99 {
                "> -100%".to_owned()
            } else {
                format!("{percent:+.2}%")
            }
        }
    }
}

/// A size in bytes for people: `13 KB`, `2.5 MB`, `31.7 GB`.
pub fn size(bytes: u64) -> String {
    const MB: u64 = 1 << 20;
    const GB: u64 = 1 << 30;
    match bytes {
        GB.. => format!("{:.1} GB", bytes as f64 / GB as f64),
        MB.. => format!("{:.1} MB", bytes as f64 / MB as f64),
        _ => format!("{} KB", bytes.div_ceil(1024)),
    }
}

/// Contexts that are counted tree by tree: `87,313 contexts of 8 threads`. Reports put the trees together.
pub fn contexts(number: u64, threads: usize) -> String {
    let contexts = counted(number, "context", "contexts");
    match threads {
        0 | 1 => contexts,
        threads => format!("{contexts} of {} threads", thousands(threads as u64)),
    }
}

/// The main class, module or jar of a JVM's command (the property `sun.java.command`), which its parameters follow after a blank. One
/// of the process's arguments tells where it ends if it has blanks itself.
pub fn main_of<'c>(command: &'c str, arguments: &[String]) -> &'c str {
    let begins = |argument: &&String| {
        !argument.is_empty()
            && command.strip_prefix(argument.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    match arguments.iter().find(begins) {
        Some(argument) => &command[..argument.len()],
        None => command.split_whitespace().next().unwrap_or_default(),
    }
}

/// The first `most` of a list, and how many more there are: `a, b and 2 more`.
pub fn few<S: AsRef<str>>(list: &[S], most: usize) -> String {
    let named: Vec<&str> = list.iter().take(most).map(AsRef::as_ref).collect();
    let more = list.len().saturating_sub(most);
    let more = if more > 0 { format!(" and {} more", thousands(more as u64)) } else { String::new() };
    named.join(", ") + &more
}

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The parameter types of a descriptor as in Java source, classes without packages: `(int, String[])`. A descriptor that
/// is none is shown as it is.
pub fn parameters(descriptor: &str) -> Cow<'_, str> {
    fn list(descriptor: &str) -> Option<String> {
        let mut rest = descriptor.strip_prefix('(')?;
        let mut out = String::from("(");
        while !rest.starts_with(')') {
            if out.len() > 1 {
                out.push_str(", ");
            }
            rest = push_type(rest, simple, &mut out)?;
        }
        out.push(')');
        Some(out)
    }
    list(descriptor).map_or(Cow::Borrowed(descriptor), Cow::Owned)
}

/// The type of a descriptor's result, named as [`parameters`] are; none of a descriptor that is none.
fn result(descriptor: &str) -> Option<String> {
    let mut out = String::new();
    match descriptor.rsplit_once(')')?.1 {
        "V" => out.push_str("void"),
        of => push_type(of, simple, &mut out).filter(|rest| rest.is_empty()).map(drop)?,
    }
    Some(out)
}

/// A descriptor's [`parameters`], and with its result if that is asked for: `(int): String`.
pub fn signature(descriptor: &str, with_result: bool) -> String {
    match result(descriptor).filter(|_| with_result) {
        Some(result) => format!("{}: {result}", parameters(descriptor)),
        None => parameters(descriptor).into_owned(),
    }
}

/// A class as a constant names it (JVMS §4.4.1), for people: `java.lang.String`, and of an array's descriptor `java.lang.String[]`.
pub fn class(constant: &str) -> String {
    let mut out = String::new();
    let is_array = constant.starts_with('[') && push_type(constant, |class| stable(class, false), &mut out) == Some("");
    if is_array { out } else { stable(constant, false) }
}

/// An internal name without its package.
fn simple(internal: &str) -> &str {
    internal.rsplit('/').next().unwrap_or(internal)
}

/// Appends the name of the type that a descriptor begins with (JVMS §4.3.2), of a class what `class` makes of its internal name;
/// answers what follows it.
fn push_type<'d, N: AsRef<str>>(descriptor: &'d str, class: impl Fn(&'d str) -> N, out: &mut String) -> Option<&'d str> {
    let element = descriptor.trim_start_matches('[');
    let dimensions = descriptor.len() - element.len();
    let mut rest = element.chars();
    match rest.next()? {
        'B' => out.push_str("byte"),
        'C' => out.push_str("char"),
        'D' => out.push_str("double"),
        'F' => out.push_str("float"),
        'I' => out.push_str("int"),
        'J' => out.push_str("long"),
        'S' => out.push_str("short"),
        'Z' => out.push_str("boolean"),
        'L' => {
            let (internal, behind) = rest.as_str().split_once(';')?;
            rest = behind.chars();
            out.push_str(class(internal).as_ref());
        }
        _ => return None,
    }
    (0..dimensions).for_each(|_| out.push_str("[]"));
    Some(rest.as_str())
}

/// A name as a shell takes it for one argument of a command, and the command for no option.
pub fn argument(name: &str) -> String {
    const PLAIN: &[u8] = b"/._-+,:@%=";
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || PLAIN.contains(&byte);
    if !name.is_empty() && name.bytes().all(is_plain) { name } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_jvm_runs() {
        let main = |command: &'static str, arguments: &[&str]| {
            main_of(command, &arguments.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(main("a.Main x y", &["java", "-cp", "", "a.Main", "x", "y"]), "a.Main");
        assert_eq!(main("lib/my app.jar x", &["java", "-jar", "lib/my app.jar", "x"]), "lib/my app.jar");
        // Its arguments may not be known, or the launcher have a main class of its own.
        assert_eq!(main("a.Main x y", &[]), "a.Main");
        assert_eq!(main("launcher.Main A.java", &["java", "A.java"]), "launcher.Main");
        assert_eq!(main("", &["java"]), "");
    }

    #[test]
    fn sizes_for_people() {
        assert_eq!([1, 1025, 5 << 19, 3 << 29].map(size), ["1 KB", "2 KB", "2.5 MB", "1.5 GB"]);
    }

    #[test]
    fn classes_as_constants_name_them() {
        let names = ["java/util/Map$Entry", "[I", "[[Ljava/lang/String;", "[Ljava", "", "[Lno;more"];
        let read = ["java.util.Map$Entry", "int[]", "java.lang.String[][]", "[Ljava", "", "[Lno;more"];
        assert_eq!(names.map(class), read);
    }

    #[test]
    fn hidden_classes_lose_their_running_numbers() {
        assert_eq!(stable("Main$$Lambda$14/0x0000000800c03000", true), "Main$$Lambda");
        assert_eq!(stable("Main$$Lambda+0x0000000800c03000", false), "Main$$Lambda");
        // As obfuscators name classes.
        assert_eq!(["p/0x1", "p/0x"].map(|name| stable(name, false)), ["p.0x1", "p.0x"]);
        assert_eq!(stable("Main$$Lambda/0x00007f3a1c000a00", true), "Main$$Lambda");
        assert_eq!(stable("a/Main$$Lambda+0x00007f3a1c000a00", true), "a.Main$$Lambda");
        assert_eq!(stable("Main$$Lambda$14", true), "Main$$Lambda");
        assert_eq!(stable("a/H_0x0000000800c03000$$Lambda/0x0000000800c00800", true), "a.H$$Lambda");
        assert_eq!(stable("H_0x0000000800c03000$$Lambda_0x0000000800c03001$$Lambda$3", true), "H$$Lambda$$Lambda");
        assert_eq!(stable("Main$$Lambda$14/0x0000000800c03000", false), "Main$$Lambda");
        assert_eq!(stable("java/lang/invoke/LambdaForm$MH/0x0000000800c00800", true), "java.lang.invoke.LambdaForm$MH");
        assert_eq!(stable("java/lang/invoke/LambdaForm$DMH$7", true), "java.lang.invoke.LambdaForm$DMH");
        assert_eq!(
            stable("jdk/internal/reflect/GeneratedMethodAccessor12", false),
            "jdk.internal.reflect.GeneratedMethodAccessor"
        );
    }

    #[test]
    fn ordinary_classes_keep_theirs() {
        // The last two are as Retrolambda and as a program of its own might have them.
        for name in
            ["Main$1", "a/B$2$C3", "V8", "x/0xCAFE/Y", "jdk/proxy1/$Proxy4", "a/B$$Lambda$1", "a/GeneratedMethodAccessor7"]
        {
            assert_eq!(stable(name, false), dotted(name));
        }
    }

    #[test]
    fn patterns() {
        let is = |p: &str, t: &str| Pattern::new(p).matches(t);
        assert!(is("a.B.c", "a.B.c") && is("a/B.c", "a.B.c") && is("*", "") && is("a*c", "abbc") && is("*b*", "abc"));
        assert!(is("a.*.x*", "a.b.xy") && is("a**c", "ac"));
        assert!(!is("a.B", "a.Bc") && !is("a*a", "a") && !is("*b", "bc") && !is("", "a"));
        let of_text = Pattern::of_text("a/*");
        assert!(of_text.matches("a/b") && !of_text.matches("a.b"));
        assert!(Pattern::new("B.m(I)V").matches_method("B", "m", "(I)V"));
        let may = |p: &str, class: &str| Pattern::new(p).may_match_in(class);
        assert!(may("a.B.m", "a.B") && may("a.*", "a.B") && may("*.m", "a.B") && may("a.B*", "a.BC") && !may("a.C.m", "a.B"));
        let of_class = |p: &str, class: &str| Pattern::new(p).class().is_some_and(|pattern| pattern.matches(class));
        assert!(
            of_class("a.B.m", "a.B")
                && of_class("a.*.m(J.x)V", "a.B")
                && of_class("a/B.<init>", "a.B")
                && of_class("a.B*.m*", "a.BC")
        );
        assert!(!of_class("a.BC.m", "a.B") && !of_class("*.m", "a.B") && !of_class("m", "a.B") && !of_class("a.B.C.m", "a.B"));
        assert!(!Pattern::new("B.m(J)V").matches_method("B", "m", "(I)V"));
        let printed = |p: &str| Pattern::new(p).matches_method("B", "m", "(I[Ljava/lang/String;)V");
        assert!(printed("B.m(int, String[])") && printed("B.m(int,String[])") && printed("*.m(int*"));
        assert!(printed("B.m(int, String[]): void") && printed("B.m(int,String[]):void") && !printed("B.m(int, String[]): int"));
        assert!(!printed("B.m(int)") && !printed("B.m(String[], int)"));
    }

    #[test]
    fn what_is_said_to_be_typed_is_one_argument() {
        let expected = [
            ("a.cprof", "a.cprof"),
            ("a b/x.cprof", "'a b/x.cprof'"),
            ("-x.cprof", "./-x.cprof"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("über/ü.cprof", "über/ü.cprof"),
            ("", "''"),
        ];
        expected.iter().for_each(|(text, as_argument)| assert_eq!(argument(text), *as_argument));
    }

    #[test]
    fn patterns_without_parentheses_are_about_names() {
        let fits = |p: &str| Pattern::new(p).matches_method("a.B", "m", "(ILjava/lang/String;)V");
        assert!(!fits("*String*") && !fits("*V*") && !fits("*V") && !fits("*java.lang*") && !fits("a.B.m*;*"));
        assert!(fits("*B*") && fits("*m*") && fits("a.*") && fits("a.B.m") && fits("*"));
        assert!(fits("*(*String*") && fits("*(*)V") && fits("a.B.m(*") && fits("*)V") && fits("*String)") && !fits("*)I"));
    }

    #[test]
    fn numbers_and_parameters() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(parameters("(I[[Ljava/lang/String;J)V"), "(int, String[][], long)");
        assert_eq!(parameters("()V"), "()");
        assert_eq!(parameters("(Lbroken"), "(Lbroken");
        assert_eq!(parameters("([é)V"), "([é)V");
        assert_eq!(parameters("(LÜ;I)V"), "(Ü, int)");
        let results = ["(I)V", "()[Ljava/lang/String;", "()J", "()LA;B", "()é", "broken"].map(result);
        assert_eq!(results, [Some("void".to_owned()), Some("String[]".to_owned()), Some("long".to_owned()), None, None, None]);
    }

    #[test]
    fn changes_in_percent() {
        assert_eq!(relative(200, 203), "+1.50%");
        assert_eq!(relative(200, 100), "-50.00%");
        assert_eq!(relative(1_000_000, 1_000_001), "< +0.01%");
        assert_eq!(relative(1_000_000, 999_999), "> -0.01%");
        assert_eq!(relative(u64::MAX, u64::MAX - 1), "> -0.01%");
        assert_eq!((relative(100_000_107, 117), relative(117, 0)), ("> -100%".to_owned(), "-100.00%".to_owned()));
        assert_eq!((relative(0, 0), relative(0, 1)), ("0%".to_owned(), "from 0".to_owned()));
    }
}
