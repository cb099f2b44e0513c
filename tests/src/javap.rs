//! Bytecode as the JDK's own `javap` prints it.

use crate::build::must;
use crate::jdk::Jdk;
use std::path::PathBuf;

/// The instructions of all methods with code, class by class in the order of the files, as `javap -c -p` prints them: a text per
/// line, without indentation.
pub fn instructions(jdk: &Jdk, files: &[PathBuf]) -> Vec<Vec<String>> {
    let mut javap = jdk.command("javap");
    javap.args(["-J-Dfile.encoding=UTF-8", "-J-Dstdout.encoding=UTF-8", "-J-Duser.language=en", "-c", "-p"]);
    let text = must(javap.args(files));
    let mut methods = Vec::new();
    let mut lines = text.lines();
    while lines.by_ref().any(|line| line.trim() == "Code:") {
        let ends = |line: &str| line.trim().is_empty() || line == "}" || line.trim() == "Exception table:";
        methods.push(lines.by_ref().take_while(|line| !ends(line)).map(|line| line.trim().to_owned()).collect());
    }
    methods
}
