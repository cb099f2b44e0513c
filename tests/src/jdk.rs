//! The JDKs of this machine.

use crate::is_without;
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

    /// The JDK at that place, or why it is none that cprof is tested with.
    fn at(home: &Path) -> Result<Jdk, String> {
        let home = home.canonicalize().map_err(|error| error.to_string())?;
        if let Some(file) = ["bin/javac", "release", "include/jvmti.h"].into_iter().find(|file| !home.join(file).is_file()) {
            return Err(format!("it has no {file}"));
        }
        let release = std::fs::read_to_string(home.join("release")).map_err(|error| error.to_string())?;
        let value = |key: &str| release.lines().find_map(|l| l.strip_prefix(key)).map(|value| value.trim_matches('"'));
        let version = value("JAVA_VERSION=").ok_or("its version is not in its release file")?.to_owned();
        let modules = value("MODULES=").map(|names| names.split(' ').map(str::to_owned).collect());
        let feature = version.split(['.', '-', '+']).next().and_then(|feature| feature.parse().ok());
        match feature {
            Some(feature) if feature >= 17 => Ok(Jdk { feature, version, home, modules }),
            _ => Err(format!("its version is {version}, and must be 17 or later")),
        }
    }
}

/// One JDK per feature version, oldest first, as `scripts/setup` found them (`CPROF_JDKS`, homes separated by colons); without
/// that variable from JAVA_HOME and `/usr/lib/jvm`. `CPROF_TEST_JDKS=17,25` chooses among them. Fails when there is none, or one
/// that is named is none: what it is not tested on would seem to be.
pub fn all() -> Vec<Jdk> {
    let found: Vec<Jdk> = match std::env::var_os("CPROF_JDKS") {
        Some(list) => std::env::split_paths(&list).map(|home| named(&home)).collect(),
        None => usual_homes().iter().filter_map(|home| Jdk::at(home).ok()).collect(),
    };
    let mut jdks = BTreeMap::new();
    for jdk in found {
        jdks.entry(jdk.feature).or_insert(jdk);
    }
    assert!(
        !jdks.is_empty(),
        "no JDK 17 or later with javac and jvmti.h in JAVA_HOME and /usr/lib/jvm; scripts/setup installs one"
    );
    if let Ok(list) = std::env::var("CPROF_TEST_JDKS") {
        let chosen: Vec<u32> = list.split(',').filter_map(|feature| feature.trim().parse().ok()).collect();
        let found: Vec<u32> = jdks.keys().copied().collect();
        let every = chosen.len() == list.split(',').count() && chosen.iter().all(|feature| found.contains(feature));
        assert!(every, "CPROF_TEST_JDKS={list} must name some of the JDKs {found:?}, with commas");
        jdks.retain(|feature, _| chosen.contains(feature));
    }
    jdks.into_values().collect()
}

/// Those of [`all`] that are of that feature version or later. Fails when there is none, unless the machine has none, as
/// `CPROF_WITHOUT=jdk25` says, or others were chosen.
pub fn since(feature: u32) -> Vec<Jdk> {
    those(|jdk| jdk.feature >= feature, &format!("{feature} or later"), &format!("jdk{feature}"))
}

/// As [`since`], of those before that feature version; `CPROF_WITHOUT=jdk17` says that the machine has no such old one.
pub fn before(feature: u32) -> Vec<Jdk> {
    those(|jdk| jdk.feature < feature, &format!("before {feature}"), "jdk17")
}

/// `what` they are; `lack`: how `CPROF_WITHOUT` says that there are none.
fn those(are: impl Fn(&Jdk) -> bool, what: &str, lack: &str) -> Vec<Jdk> {
    let jdks: Vec<Jdk> = all().into_iter().filter(are).collect();
    let none_is_right = is_without(lack) || std::env::var_os("CPROF_TEST_JDKS").is_some();
    assert!(!jdks.is_empty() || none_is_right, "no JDK {what}; CPROF_WITHOUT={lack} leaves such tests out");
    jdks
}

fn named(home: &Path) -> Jdk {
    Jdk::at(home).unwrap_or_else(|lacks| {
        panic!("CPROF_JDKS names {home:?}, which is no JDK: {lacks}. Correct CPROF_JDKS, or unset it to have JDKs looked for")
    })
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
