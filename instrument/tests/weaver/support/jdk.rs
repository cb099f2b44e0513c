//! Real class files: a sample of every installed JDK's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

/// Old code and new, generated and written by hand, with type annotations, records, sealed classes, switches of all kinds.
const SAMPLE: &str = "regex:/java.base/(java/(util|lang|io)|sun/security|jdk/internal/(org|classfile))/.*";

/// Name and content of each class, in a fixed order.
pub fn classes() -> &'static [(String, Vec<u8>)] {
    static CLASSES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let mut files = Vec::new();
        for (number, home) in homes().iter().enumerate() {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("jdk-{}-{number}", std::process::id()));
            let status = Command::new(home.join("bin/jimage"))
                .args(["extract", "--include", SAMPLE, "--dir"])
                .args([&folder, &home.join("lib/modules")])
                .status();
            assert!(status.expect("jimage starts").success(), "jimage of {} failed", home.display());
            collect(&folder, &mut files);
            fs::remove_dir_all(&folder).expect("our own folder goes");
        }
        files.sort();
        files
    })
}

fn collect(folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder that jimage made") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "class") {
            files.push((path.display().to_string(), fs::read(&path).expect("a class file")));
        }
    }
}

/// Those that `scripts/setup` found (`CPROF_JDKS`), else JAVA_HOME and what is installed in /usr/lib/jvm, each once.
fn homes() -> Vec<PathBuf> {
    let candidates: Vec<PathBuf> = match env::var_os("CPROF_JDKS") {
        Some(list) => env::split_paths(&list).collect(),
        None => {
            let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
            env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().chain(installed).collect()
        }
    };
    let mut homes: Vec<PathBuf> = candidates
        .into_iter()
        .filter(|home| home.join("bin/jimage").is_file() && home.join("lib/modules").is_file())
        .filter_map(|home| home.canonicalize().ok())
        .collect();
    homes.sort();
    homes.dedup();
    assert!(!homes.is_empty(), "no JDK with bin/jimage: set JAVA_HOME, or install one (apt-get install openjdk-17-jdk-headless)");
    homes
}
