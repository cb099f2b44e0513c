//! What a program's head comment says about it.
//!
//! ```text
//! // Shows: …                       what it is for
//! // expect: C.m(I)I calls=3 thrown=1 bytecodes=12      over all contexts counted; `A+B` sums methods
//! // roots: C.m D.n                 counted as well as the main root
//! // only: C.m                      the main root, instead of <program>.measured
//! // timing: C.m D.n                prefixes of methods whose bytecodes and callees depend on timing
//! // alone                          needs a JVM of its own
//! // needs: jdk.compiler             a module that not every run-time image has
//! // self-checking                  not comparable between runs; its own `expect:` lines on stderr hold for that run
//! // exit: 3                        exit code
//! // not-run                        no program by itself
//! ```

use crate::OrFail;
use crate::jdk::Jdk;
use crate::tree::Counts;
use std::path::{Path, PathBuf};

/// A number that must come out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// `Class.method(descriptor)`; their sum counts.
    pub methods: Vec<String>,
    /// What was said about calls.
    pub calls: Option<u64>,
    /// What was said about exceptional exits.
    pub thrown: Option<u64>,
    /// What was said about bytecodes.
    pub bytecodes: Option<u64>,
}

impl Expectation {
    /// Parses what follows `expect:`.
    pub fn parse(text: &str) -> Expectation {
        let mut words = text.split_whitespace();
        let says = format!("expectation {text:?}");
        let methods = words.next().or_fail(&says).split('+').map(str::to_owned).collect();
        let mut e = Expectation { methods, calls: None, thrown: None, bytecodes: None };
        for word in words {
            let (key, value) = word.split_once('=').or_fail(&says);
            let value = Some(value.parse().or_fail(&says));
            match key {
                "calls" => e.calls = value,
                "thrown" => e.thrown = value,
                "bytecodes" => e.bytecodes = value,
                _ => panic!("{says}: there is no {key}"),
            }
        }
        e
    }

    /// Why the counts of its methods are not as expected.
    pub fn contradicts(&self, counts: Counts) -> Option<String> {
        let wrong = |want: Option<u64>, is: u64| want.is_some_and(|want| want != is);
        let bad = wrong(self.calls, counts.calls) || wrong(self.thrown, counts.thrown) || wrong(self.bytecodes, counts.bytecodes);
        bad.then(|| {
            format!(
                "{}: expected {:?} {:?} {:?}, counted {counts}",
                self.methods.join("+"),
                self.calls,
                self.thrown,
                self.bytecodes
            )
        })
    }
}

/// A program.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its class, and the name of its file.
    pub name: String,
    /// Its source.
    pub path: PathBuf,
    /// The oldest JDK that can run it.
    pub feature: u32,
    /// A module that not every run-time image has.
    pub needs: Option<String>,
    /// `Class.method` of the methods whose extents are counted.
    pub roots: Vec<String>,
    /// What must come out.
    pub expectations: Vec<Expectation>,
    /// Prefixes of methods whose bytecodes and callees depend on timing.
    pub timing: Vec<String>,
    /// Needs a JVM of its own.
    pub alone: bool,
    /// Cannot be compared between runs.
    pub self_checking: bool,
    /// Exit code.
    pub exit: i32,
}

impl Program {
    /// Reads the head of a source; `None` for one that is no program by itself.
    fn read(path: &Path, feature: u32) -> Option<Program> {
        let text = std::fs::read_to_string(path).or_fail(path.display());
        let name = path.file_stem()?.to_str()?.to_owned();
        let head: Vec<&str> = text.lines().map_while(|l| l.strip_prefix("// ")).collect();
        let all = |key: &'static str| head.iter().filter_map(move |l| l.strip_prefix(key)).map(str::trim);
        let says = |word: &str| head.contains(&word);
        if says("not-run") {
            return None;
        }
        let mut roots = vec![all("only:").next().map_or(format!("{name}.measured"), str::to_owned)];
        for root in all("roots:").flat_map(str::split_whitespace) {
            if !roots.iter().any(|r| r == root) {
                roots.push(root.to_owned());
            }
        }
        Some(Program {
            name,
            path: path.to_owned(),
            feature,
            needs: all("needs:").next().map(str::to_owned),
            roots,
            expectations: all("expect:").map(Expectation::parse).collect(),
            timing: all("timing:").flat_map(str::split_whitespace).map(str::to_owned).collect(),
            alone: says("alone"),
            self_checking: says("self-checking"),
            exit: all("exit:").next().map_or(0, |code| code.parse().or_fail(path.display())),
        })
    }
}

/// The directory of the programs' sources.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// The Java sources that a JDK of that version can compile, with the oldest version that can.
pub fn sources(feature: u32) -> Vec<(PathBuf, u32)> {
    let mut all = Vec::new();
    for (sub, oldest) in [("", 17), ("jdk21", 21)] {
        if oldest <= feature {
            all.extend(java_files(&directory().join(sub)).into_iter().map(|path| (path, oldest)));
        }
    }
    all.sort();
    all
}

/// The Java sources of a folder.
pub fn sources_of(folder: &str) -> Vec<PathBuf> {
    java_files(&directory().join(folder))
}

fn java_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).or_fail(directory.display()).flatten();
    let mut files: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "java")).collect();
    files.sort();
    files
}

/// All programs for a JDK, by name. `CPROF_TEST_PROGRAMS=Loops,Wide` chooses.
pub fn all(jdk: &Jdk) -> Vec<Program> {
    let mut programs = chosen(sources(jdk.feature));
    programs.retain(|p| p.needs.as_ref().is_none_or(|module| jdk.has(module)));
    programs
}

/// Those of [`all`] that have one of these names, of which each must be a program's, on whatever JDK.
pub fn named(jdk: &Jdk, names: &[&str]) -> Vec<Program> {
    assert_names(names.iter().copied());
    all(jdk).into_iter().filter(|p| names.contains(&p.name.as_str())).collect()
}

/// Fails where a name is no program's: what it is to choose would go untested.
fn assert_names<'a>(names: impl Iterator<Item = &'a str>) {
    let mut there = sources(u32::MAX);
    there.extend(sources_of("libraries").into_iter().map(|path| (path, 17)));
    let there: Vec<Program> = there.iter().filter_map(|(path, oldest)| Program::read(path, *oldest)).collect();
    for name in names {
        assert!(there.iter().any(|p| p.name == name), "no program in tests/programs is named {name}");
    }
}

/// The programs that use libraries from Maven Central; `CPROF_TEST_PROGRAMS` chooses.
pub fn of_libraries() -> Vec<Program> {
    chosen(sources_of("libraries").into_iter().map(|path| (path, 17)).collect())
}

fn chosen(sources: Vec<(PathBuf, u32)>) -> Vec<Program> {
    let mut programs: Vec<Program> = sources.iter().filter_map(|(path, oldest)| Program::read(path, *oldest)).collect();
    if let Ok(chosen) = std::env::var("CPROF_TEST_PROGRAMS") {
        assert_names(chosen.split(','));
        programs.retain(|p| chosen.split(',').any(|name| name == p.name));
        assert!(!programs.is_empty(), "CPROF_TEST_PROGRAMS={chosen} names none");
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs
}
