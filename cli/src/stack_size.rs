//! Room on the stack for a program's recursion: frames of profiled code are larger (see `agent/flags.rs`).

use cprof_live::hotspot::launcher::Arguments;
use std::ffi::OsString;

/// By how much stacks are larger under cprof.
const TIMES: u64 = 4;

/// HotSpot takes no more (`-Xss`, arguments.cpp).
const LARGEST_KB: u64 = 1 << 20;

/// The main thread's stack without a word from the user: [`TIMES`] the default. The launcher makes it before the agent is loaded.
const OF_MAIN_THREAD: &str = "-Xss4m";

/// Variables whose options come before those of the command line, the later of them after the earlier (JDK's `java`, *Using the
/// JDK_JAVA_OPTIONS Launcher Environment Variable*).
pub const VARIABLES: [&str; 2] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"];

/// The option that stands before those of the command line, for stacks as large as those of the [`VARIABLES`], which it overrides,
/// are to be.
pub fn leading(variables: &[String]) -> String {
    let given = variables.iter().flat_map(|options| options.split_whitespace()).filter_map(larger).next_back();
    given.unwrap_or_else(|| OF_MAIN_THREAD.to_owned())
}

/// The arguments of a `java` command, where they give stack sizes with larger ones. Those of the program itself stay as they are.
pub fn widened(arguments: &[OsString]) -> Vec<OsString> {
    let mut widened = arguments.to_vec();
    for option in Arguments::of(arguments).options {
        if let Some(larger) = arguments[option].to_str().and_then(larger) {
            widened[option] = larger.into();
        }
    }
    widened
}

/// An option for [`TIMES`] the stack that this one gives; `None`: it gives none.
fn larger(option: &str) -> Option<String> {
    const IN_KB: &str = "-XX:ThreadStackSize=";
    let times = |kb: u64| Some(kb.checked_mul(TIMES)?.min(LARGEST_KB).max(kb)).filter(|&kb| kb > 0);
    if let Some(kb) = option.strip_prefix(IN_KB) {
        return times(kb.parse().ok()?).map(|kb| format!("{IN_KB}{kb}"));
    }
    let size = option.strip_prefix("-Xss")?;
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
        let leading = |variables: &[&str]| leading(&variables.iter().map(|&options| options.to_owned()).collect::<Vec<_>>());
        assert_eq!(leading(&[]), "-Xss4m");
        assert_eq!(leading(&["-Xmx1g", ""]), "-Xss4m");
        assert_eq!(leading(&["-Xss8m -Xmx1g", "-Xint"]), "-Xss32768k");
        assert_eq!(leading(&["-Xss8m", "-Xss1m -Xss2m"]), "-Xss8192k");
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
