//! The command line of `java`, as its launcher reads it.

use std::ffi::OsStr;

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

/// Where things are among the arguments of a `java` command.
#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Options of the JVM and the launcher, and files of such, without their values.
    pub options: Vec<usize>,
    /// The main class, or the jar or module; their number if there is none. What follows is the program's.
    pub main: usize,
}

impl Arguments {
    /// Reads what stands behind `java`.
    pub fn of(arguments: &[impl AsRef<OsStr>]) -> Arguments {
        let (mut options, mut next) = (Vec::new(), 0);
        while let Some(argument) = arguments.get(next).map(AsRef::as_ref) {
            let is_one_of = |list: &[&str]| list.iter().any(|option| argument == *option);
            if is_one_of(&BEFORE_MAIN) {
                next += 1;
                break;
            }
            if !matches!(argument.as_encoded_bytes().first(), Some(b'-' | b'@')) {
                break;
            }
            options.push(next);
            next += if is_one_of(&WITH_VALUE) { 2 } else { 1 };
        }
        Arguments { options, main: next.min(arguments.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[test]
    fn options_end_where_the_program_begins() {
        let of = |arguments: &[&str]| {
            let Arguments { options, main } = Arguments::of(arguments);
            (options, main)
        };
        assert_eq!(of(&["-Xss4m", "-cp", "-Xss4m", "@more", "Main", "-Xss4m"]), (vec![0, 1, 3], 4));
        assert_eq!(of(&["-jar", "app.jar", "-x"]), (vec![], 1));
        assert_eq!(of(&["--enable-native-access", "ALL-UNNAMED", "-m", "a/b"]), (vec![0], 3));
        assert_eq!(of(&["-version"]), (vec![0], 1));
        assert_eq!(of(&["-cp"]), (vec![0], 1));
        assert_eq!(of(&[]), (vec![], 0));
    }
}
