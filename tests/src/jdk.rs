//! The JDKs of this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A JDK.
#[derive(Debug, Clone)]
pub struct Jdk {
    /// 17, 21, 25 …
    pub feature: u32,
    /// The version in full, as its `release` file has it.
    pub version: String,
    /// Its directory.
    pub home: PathBuf,
    /// The modules of its run-time image, if it says.
    modules: Option<Vec<String>>,
}

impl Jdk {
    /// A command of it: `java`, `javac`, …
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.home.join("bin").join(name));
        for variable in ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH"] {
            command.env_remove(variable);
        }
        command
    }

    /// Whether its run-time image has a module; if it does not say, it is a whole JDK.
    pub fn has(&self, module: &str) -> bool {
        self.modules.as_ref().is_none_or(|modules| modules.iter().any(|m| m == module))
    }

    fn at(home: &Path) -> Option<Jdk> {
        let home = home.canonicalize().ok()?;
        if !home.join("bin/javac").exists() || !home.join("include/jvmti.h").exists() {
            return None;
        }
        let release = std::fs::read_to_string(home.join("release")).ok()?;
        let value = |key: &str| release.lines().find_map(|l| l.strip_prefix(key)).map(|value| value.trim_matches('"'));
        let version = value("JAVA_VERSION=")?.to_owned();
        let modules = value("MODULES=").map(|names| names.split(' ').map(str::to_owned).collect());
        let feature = version.split(['.', '-', '+']).next()?.parse().ok()?;
        Some(Jdk { feature, version, home, modules })
    }
}

/// One JDK per feature version, oldest first, as `scripts/setup` found them (`CPROF_JDKS`, homes separated by colons); without
/// that variable from JAVA_HOME and `/usr/lib/jvm`. `CPROF_TEST_JDKS=17,25` chooses among them. Fails when there is none: without
/// a JDK nothing would be tested.
pub fn all() -> Vec<Jdk> {
    let homes = match std::env::var_os("CPROF_JDKS") {
        Some(list) => std::env::split_paths(&list).collect(),
        None => usual_homes(),
    };
    let chosen: Option<Vec<u32>> =
        std::env::var("CPROF_TEST_JDKS").ok().map(|list| list.split(',').filter_map(|n| n.trim().parse().ok()).collect());
    let mut jdks = BTreeMap::new();
    for jdk in homes.iter().filter_map(|home| Jdk::at(home)) {
        if jdk.feature >= 17 && chosen.as_ref().is_none_or(|chosen| chosen.contains(&jdk.feature)) {
            jdks.entry(jdk.feature).or_insert(jdk);
        }
    }
    assert!(!jdks.is_empty(), "no JDK 17 or later with javac and jvmti.h among {homes:?}; scripts/setup installs one");
    jdks.into_values().collect()
}

fn usual_homes() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    if let Ok(entries) = std::fs::read_dir("/usr/lib/jvm") {
        let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        found.sort();
        homes.extend(found);
    }
    homes
}
