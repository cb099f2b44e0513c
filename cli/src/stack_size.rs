//! Room on the launcher's stack for a program's recursion. All other threads' are `agent/stack_sizes.rs`'s.

use cprof_live::hotspot::launcher::{Arguments, variable_words};
use cprof_profile::options::STACKS;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

const XSS: &str = "-Xss";

/// HotSpot takes no more (`-Xss`, arguments.cpp).
const LARGEST_KB: u64 = 1 << 20;

/// The main thread's stack without a word from the user: [`STACKS`] times the default. The launcher makes it before the agent is loaded.
const OF_MAIN_THREAD: &str = "-Xss4m";

/// Variables whose options come before those of the command line, the later of them after the earlier (JDK's `java`, *Using the
/// JDK_JAVA_OPTIONS Launcher Environment Variable*), and whether these may be in files.
pub const VARIABLES: [(&str, bool); 2] = [("JAVA_TOOL_OPTIONS", false), ("JDK_JAVA_OPTIONS", true)];

/// The options that stand before those of the command line, for stacks as large as those of the [`VARIABLES`], which they override,
/// are to be. `variables`: what they are. The launcher makes the main thread's as `-Xss` says, and the JVM the others as the last says.
pub fn leading(variables: &[Option<OsString>; VARIABLES.len()]) -> Vec<String> {
    let options = VARIABLES.iter().zip(variables).flat_map(|(&(_, files), options)| {
        let words = options.as_deref().map(variable_words).unwrap_or_default();
        Arguments::of(&words, |path| if files { read(path) } else { None }).options
    });
    let (mut leading, mut last) = (OF_MAIN_THREAD.to_owned(), None);
    for larger in options.filter_map(|(_, option)| larger(&option)) {
        if larger.starts_with(XSS) {
            (leading, last) = (larger, None);
        } else {
            last = Some(larger);
        }
    }
    std::iter::once(leading).chain(last).collect()
}

/// The arguments of a `java` command, where they give stack sizes with larger ones. Those of the program itself stay as they are.
pub fn widened(arguments: &[OsString]) -> Vec<OsString> {
    let Arguments { options, end, .. } = Arguments::of(arguments, read);
    let mut widened = arguments.to_vec();
    let mut in_file = None;
    for (place, option) in options {
        let Some(larger) = larger(&option) else { continue };
        let itself = arguments[place] == option;
        if itself {
            widened[place] = OsString::from(&larger);
        }
        in_file = (!itself).then_some(larger);
    }
    // A file stays as it is: the last word is had behind it.
    if let Some(larger) = in_file.filter(|_| end < arguments.len()) {
        widened.insert(end, larger.into());
    }
    widened
}

/// A file of arguments. What can be read once only, a pipe of the shell's say, is left to `java`.
fn read(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path).is_ok_and(|file| file.is_file()).then(|| fs::read(path).ok())?
}

/// An option for [`STACKS`] the stack that this one gives; `None`: it gives none.
fn larger(option: &OsStr) -> Option<String> {
    const IN_KB: &str = "-XX:ThreadStackSize=";
    let option = option.to_str()?;
    let times = |kb: u64| Some(kb.checked_mul(STACKS)?.min(LARGEST_KB).max(kb)).filter(|&kb| kb > 0);
    if let Some(kb) = option.strip_prefix(IN_KB) {
        return times(kb.parse().ok()?).map(|kb| format!("{IN_KB}{kb}"));
    }
    let size = option.strip_prefix(XSS)?;
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &size[digits.len()..] {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    let bytes = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    times(bytes.div_ceil(1 << 10)).map(|kb| format!("-Xss{kb}k"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> Vec<String> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        widened(&arguments).into_iter().map(|argument| argument.into_string().expect("text")).collect()
    }

    #[test]
    fn the_jvms_stacks_are_four_times_as_large() {
        assert_eq!(of(&["-Xss4m", "-cp", "x", "Main"]), ["-Xss16384k", "-cp", "x", "Main"]);
        assert_eq!(of(&["-Xss512K", "-XX:ThreadStackSize=2048", "Main"]), ["-Xss2048k", "-XX:ThreadStackSize=8192", "Main"]);
        assert_eq!(of(&["-Xss1048576", "Main"]), ["-Xss4096k", "Main"]);
        assert_eq!(of(&["-Xss1g", "Main"]), ["-Xss1048576k", "Main"], "no more than the JVM takes");
    }

    #[test]
    fn stacks_of_the_environment_are_not_made_smaller() {
        let leading = |tool, java| leading(&[tool, java].map(|options: Option<&str>| options.map(OsString::from)));
        assert_eq!(leading(None, None), ["-Xss4m"]);
        assert_eq!(leading(Some("-Xmx1g"), Some("")), ["-Xss4m"]);
        assert_eq!(leading(Some("-Xss8m -Xmx1g"), Some("-Xint")), ["-Xss32768k"]);
        assert_eq!(leading(Some("-Xss8m"), Some("-Xss1m '-Xss2m'")), ["-Xss8192k"]);
        assert_eq!(leading(None, Some("-Dx='-Xss2m -Xss3m'")), ["-Xss4m"]);
        // The main thread's is the launcher's, which knows one of the two.
        assert_eq!(leading(Some("-XX:ThreadStackSize=2048"), None), ["-Xss4m", "-XX:ThreadStackSize=8192"]);
        assert_eq!(leading(Some("-XX:ThreadStackSize=2048"), Some("-Xss2m")), ["-Xss8192k"]);
    }

    #[test]
    fn stacks_of_argument_files_are_made_larger_behind_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).expect("written");
            format!("@{}", path.display())
        };
        let (options, program) = (file("options", "-ea\n-Xss2m"), file("program", "-ea Main"));
        assert_eq!(of(&[&options, "-ea", "Main", "-x"]), [&options, "-ea", "-Xss8192k", "Main", "-x"]);
        assert_eq!(of(&[&options, "-Xss1m", "-jar", "x.jar"]), [&options, "-Xss4096k", "-jar", "x.jar"], "the last one counts");
        assert_eq!(of(&[&options, &program, "-Xss1m"]), [&options, "-Xss8192k", &program, "-Xss1m"]);
        let of_variable = |options: &str| leading(&[None, Some(OsString::from(options))]);
        assert_eq!(of_variable(&options), ["-Xss8192k"]);
        assert_eq!(leading(&[Some(OsString::from(&options)), None]), ["-Xss4m"], "the JVM reads no such files");
    }

    #[test]
    fn what_gives_no_stack_and_what_is_the_programs_stays() {
        for same in [
            &["-Xss", "-Xss0", "-Xss4x", "-Xss-1", "-XX:ThreadStackSize=0", "-Xmx1g", "Main", "-Xss4m"][..],
            &["-jar", "app.jar", "-Xss4m"],
            &["-cp", "-Xss4m", "-m", "a/b", "-Xss4m"],
            &["@options", "Main"],
            &[],
        ] {
            assert_eq!(of(same), same);
        }
    }
}
