//! The command line of `java`, as its launcher reads it (java.c and args.c of the JDK's `libjli`).

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Options that take the next argument as their value (java.c, `IsWhiteSpaceOption`).
const WITH_VALUE: [&str; 16] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--enable-native-access",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--patch-module",
    "-d",
    "--describe-module",
    "--source",
];

/// Options behind whose value come the program's own arguments.
const BEFORE_MAIN: [&str; 3] = ["-jar", "-m", "--module"];
/// The same with the value in it.
const MAIN_MODULE: &[u8] = b"--module=";

/// From here on an argument that begins with `@` names no file.
const NO_FILES: &str = "--disable-@files";

/// What the launcher makes of the arguments of a `java` command.
#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Options of the JVM and the launcher, without their values, each with the place of the argument that it is, or that names the
    /// file it is in.
    pub options: Vec<(usize, OsString)>,
    /// So many arguments are options, their values, and files of such: behind them, or in the file that comes next, is what names
    /// the program.
    pub end: usize,
    /// The main class, or the jar or module, if there is one.
    pub main: Option<OsString>,
}

/// What the launcher still waits for.
enum Next {
    Option,
    Value,
    /// The jar or module, and how many arguments came before its option.
    Main(usize),
}

impl Arguments {
    /// Reads what stands behind `java`. `read`: what is in a file that an argument names, `None` if it cannot be read.
    pub fn of(arguments: &[impl AsRef<OsStr>], read: impl Fn(&Path) -> Option<Vec<u8>>) -> Arguments {
        let mut found = Arguments { options: Vec::new(), end: arguments.len(), main: None };
        let (mut next, mut files) = (Next::Option, true);
        for (place, argument) in arguments.iter().enumerate() {
            let argument = argument.as_ref();
            let text = file(argument).filter(|_| files).and_then(&read);
            let words = text.map_or_else(|| vec![argument.to_owned()], |text| file_words(&text));
            for word in words {
                files &= word != NO_FILES;
                if found.take(place, word, &mut next).is_break() {
                    return found;
                }
            }
        }
        found
    }

    /// Takes one argument. There is no more to take when the program is found.
    fn take(&mut self, place: usize, word: OsString, next: &mut Next) -> ControlFlow<()> {
        let is_one_of = |list: &[&str]| list.iter().any(|option| word == *option);
        let end = match next {
            Next::Main(end) => *end,
            Next::Value => {
                *next = Next::Option;
                return ControlFlow::Continue(());
            }
            Next::Option if is_one_of(&BEFORE_MAIN) => {
                *next = Next::Main(place);
                return ControlFlow::Continue(());
            }
            Next::Option if matches!(word.as_bytes(), [b'-' | b'@', ..]) && !word.as_bytes().starts_with(MAIN_MODULE) => {
                *next = if is_one_of(&WITH_VALUE) { Next::Value } else { Next::Option };
                self.options.push((place, word));
                return ControlFlow::Continue(());
            }
            Next::Option => place,
        };
        let main = word.as_bytes();
        self.main = Some(OsStr::from_bytes(main.strip_prefix(MAIN_MODULE).unwrap_or(main)).to_owned());
        self.end = end;
        ControlFlow::Break(())
    }
}

/// The file of arguments that an argument names. (A second `@` says that the first is no more than that.)
fn file(argument: &OsStr) -> Option<&Path> {
    let name = argument.as_bytes().strip_prefix(b"@")?;
    (!name.is_empty() && !name.starts_with(b"@")).then(|| Path::new(OsStr::from_bytes(name)))
}

/// The arguments in such a file (the manual of `java`, *java Command-Line Argument Files*): between white space, or between quotes, in
/// which a backslash is an escape, and at the end of a line goes on with the next. A `#` begins a comment.
pub fn file_words(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut text = text.iter().copied().peekable();
    while let Some(byte) = text.next() {
        match (byte, quote) {
            (b'\\', Some(_)) => {
                let word = word.get_or_insert_default();
                match text.next() {
                    Some(b'\n' | b'\r') => {
                        while text.next_if(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')).is_some() {}
                    }
                    Some(b'n') => word.push(b'\n'),
                    Some(b'r') => word.push(b'\r'),
                    Some(b't') => word.push(b'\t'),
                    Some(b'f') => word.push(b'\x0c'),
                    Some(escaped) => word.push(escaped),
                    None => {}
                }
            }
            (byte, Some(open)) if byte == open => quote = None,
            // A quote that is not closed ends with its line.
            (b'\n' | b'\r', _) => {
                quote = None;
                words.extend(word.take());
            }
            (byte, Some(_)) => word.get_or_insert_default().push(byte),
            (b' ' | b'\t' | b'\x0c', None) => words.extend(word.take()),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (b'#', None) => {
                words.extend(word.take());
                while text.next_if(|byte| !matches!(byte, b'\n' | b'\r')).is_some() {}
            }
            (byte, None) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// The options in an environment variable: between white space, where it is not in quotes (args.c, `JLI_AddArgsFromEnvVar`;
/// arguments.cpp, `parse_options_buffer`).
pub fn variable_words(text: &OsStr) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    for &byte in text.as_bytes() {
        match (byte, quote) {
            (byte, Some(open)) if byte == open => quote = None,
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (byte, None) if byte.is_ascii_whitespace() || byte == b'\x0b' => words.extend(word.take()),
            (byte, _) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of options, the end, and the main class, with a file `@more` of this text.
    fn of(arguments: &[&str], more: &str) -> (Vec<(usize, String)>, usize, String) {
        let read = |name: &Path| (name == Path::new("more")).then(|| more.as_bytes().to_owned());
        let Arguments { options, end, main } = Arguments::of(arguments, read);
        let text = |text: OsString| text.into_string().expect("text");
        (options.into_iter().map(|(place, option)| (place, text(option))).collect(), end, main.map_or_else(String::new, text))
    }

    #[test]
    fn options_end_where_the_program_begins() {
        let places = |arguments: &[&str]| {
            let (options, end, main) = of(arguments, "");
            (options.into_iter().map(|(place, _)| place).collect::<Vec<_>>(), end, main)
        };
        let found = |options: &[usize], end, main: &str| (options.to_vec(), end, main.to_owned());
        assert_eq!(places(&["-Xss4m", "-cp", "-Xss4m", "@none", "Main", "-Xss4m"]), found(&[0, 1, 3], 4, "Main"));
        assert_eq!(places(&["-jar", "app.jar", "-x"]), found(&[], 0, "app.jar"));
        assert_eq!(places(&["--enable-native-access", "ALL-UNNAMED", "-m", "a/b"]), found(&[0], 2, "a/b"));
        assert_eq!(places(&["-ea", "--module=a/b", "-x"]), found(&[0], 1, "a/b"));
        assert_eq!(places(&["-version"]), found(&[0], 1, ""));
        assert_eq!(places(&["-cp"]), found(&[0], 1, ""));
        assert_eq!(places(&["-jar"]), found(&[], 1, ""));
        assert_eq!(places(&[]), found(&[], 0, ""));
    }

    #[test]
    fn files_of_arguments_may_name_the_program() {
        let found = |options: &[(usize, &str)], end, main: &str| {
            (options.iter().map(|&(place, option)| (place, option.to_owned())).collect::<Vec<_>>(), end, main.to_owned())
        };
        assert_eq!(of(&["-ea", "@more", "-Xss1m"], "-Xss4m Main"), found(&[(0, "-ea"), (1, "-Xss4m")], 1, "Main"));
        assert_eq!(of(&["@more", "Main"], "-Xss4m -ea"), found(&[(0, "-Xss4m"), (0, "-ea")], 1, "Main"));
        assert_eq!(of(&["@more", "x.jar", "Main"], "-cp"), found(&[(0, "-cp")], 2, "Main"), "its value is behind it");
        assert_eq!(of(&["-cp", "@more", "Other"], "x.jar Main"), found(&[(0, "-cp")], 1, "Main"), "its value is in it");
        assert_eq!(of(&["-jar", "@more", "-x"], "app.jar -y"), found(&[], 0, "app.jar"));
        let kept = found(&[(0, NO_FILES), (1, "@more")], 2, "Other");
        assert_eq!(of(&[NO_FILES, "@more", "Other"], "Main"), kept);
        assert_eq!(of(&["@@more", "Other"], "Main"), found(&[(0, "@@more")], 1, "Other"));
    }

    #[test]
    fn what_files_of_arguments_hold() {
        let words =
            |text: &str| file_words(text.as_bytes()).into_iter().map(|w| w.into_string().expect("text")).collect::<Vec<_>>();
        assert_eq!(words("-ea # comment 'x\n\t-Dx=\"a b\"c\r\n-D'y=#'\n"), ["-ea", "-Dx=a bc", "-Dy=#"]);
        assert_eq!(words("a\\b \"c\\\\d\\te\\\"\" '' "), ["a\\b", "c\\d\te\"", ""]);
        assert_eq!(words("\"x:\\\n   y\" 'open\nz"), ["x:y", "open", "z"]);
        assert!(words(" \n# nothing").is_empty());
    }

    #[test]
    fn what_variables_hold() {
        let words = |text: &str| variable_words(OsStr::new(text));
        assert_eq!(words(" -ea\t'-Dx=a \"b'\n-Dy=\"c d\"e "), ["-ea", "-Dx=a \"b", "-Dy=c de"]);
        assert_eq!(words("\\ '' 'open "), ["\\", "", "open "]);
    }
}
