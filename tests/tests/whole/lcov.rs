//! `cprof export --format lcov`: lines, calls and branches as `cprof annotate` has them, and as they follow from n; and as JaCoCo
//! finds them, which counts nothing and has no code in common with cprof.

use cprof_export::source_path;
use cprof_tests::annotated::{json, list, number};
use cprof_tests::evaluated;
use cprof_tests::lcov::{File, exported};
use cprof_tests::run::{self, Bench};
use cprof_tests::{OrFail, build, program};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What `Branches.measured` calls its methods with.
const N: u64 = 1000;

#[test]
fn lines_calls_and_branches_are_those_of_annotate() {
    let sources = program::directory().display().to_string();
    for bench in run::benches() {
        for level in ["precise", "block"] {
            let (classes, options) = (&bench.built.class_path, format!("bba={level}"));
            let recording = evaluated::record(&bench, classes, "Branches", "Branches.measured", &options);
            let files = exported(&recording.file, &["--source", &sources]);
            let path = format!("{sources}/Branches.java");
            let file = files.get(&path).unwrap_or_else(|| panic!("{path} is not among {:?}", files.keys()));

            let annotated = json("annotate", &recording.file, &["Branches*", "--source", &sources]);
            let line = |l: &Value| (number(l, "line") as u16, number(l, "executions"));
            let of_file = list(&annotated, "files").iter().find(|file| file["path"] == *path).expect("its source was found");
            let lines: BTreeMap<u16, u64> = list(of_file, "lines").iter().map(line).collect();
            assert_eq!(file.lines, lines, "{level}");
            assert!(lines.values().any(|n| *n == 0) && lines.values().any(|n| *n == N), "{level}: {lines:?}");

            let mut ways: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
            for method in list(&annotated, "methods") {
                let name = format!("{}.{}", method["class"].as_str().unwrap(), method["method"].as_str().unwrap());
                let first = list(method, "rows").iter().find_map(|row| row["line"].as_u64()).expect("it has lines");
                assert_eq!(file.functions.get(&name), Some(&(first as u16, number(method, "calls"))), "{level}: {name}");
                for row in list(method, "rows") {
                    let outcomes = list(row, "outcomes").iter();
                    let outcomes = outcomes.filter(|o| ["taken", "not_taken", "case"].iter().any(|way| o["way"] == *way));
                    let counts: Vec<u64> = outcomes.map(|o| number(o, "count")).collect();
                    if !counts.is_empty() {
                        ways.entry(number(row, "line") as u16).or_default().extend(counts);
                    }
                }
            }
            let mut found: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
            for ((line, _), ways) in file.branches.iter().filter(|(_, ways)| ways.iter().any(Option::is_some)) {
                found.entry(*line).or_default().extend(ways.iter().map(|way| way.unwrap_or(0)));
            }
            ways.values_mut().chain(found.values_mut()).for_each(|counts| counts.sort_unstable());
            ways.retain(|_, counts| counts.iter().any(|count| *count > 0));
            assert_eq!(found, ways, "{level}");
            for counts in [vec![1, N], vec![N / 10, N / 5, N * 7 / 10]] {
                assert!(found.values().any(|found| *found == counts), "{level}: nothing went {counts:?}: {found:?}");
            }
        }
    }
}

/// What a class file says, and what ran of it.
#[test]
fn classes_that_did_not_run_have_zeros() {
    let sources = program::directory().display().to_string();
    let bench = &run::benches()[0];
    let classes = std::env::split_paths(&bench.built.class_path).next().expect("a directory").display().to_string();
    let record = |options: &str| evaluated::record(bench, &bench.built.class_path, "Branches", "Branches.measured", options);
    let paths = |name: &str| format!("{sources}/{name}.java");
    let recording = record("bba=precise");
    let all = exported(&recording.file, &["--source", &sources, "--classes", &classes]);
    let alone = exported(&recording.file, &["--source", &sources]);
    assert_eq!(all.get(&paths("Branches")), alone.get(&paths("Branches")));
    let other = &all[&paths("Recursion")];
    assert!(!alone.contains_key(&paths("Recursion")) && other.lines.len() > 10, "{other:?}");
    assert!(other.lines.values().all(|n| *n == 0) && other.branches.values().flatten().all(Option::is_none), "{other:?}");
    assert!(alone.contains_key(&paths("Branches")), "{:?}", alone.keys());
    // The JDK's are not the program's.
    let by_package = |options: &[&str]| exported(&recording.file, options).into_keys().collect::<Vec<String>>();
    let is_jdk = |path: &String| path.starts_with("java/");
    assert!(by_package(&[]).iter().any(is_jdk) && !by_package(&["--classes", &classes]).iter().any(is_jdk));
    // What would not have been counted is no zero.
    let recording = record("include=Branches*");
    let some = exported(&recording.file, &["--source", &sources, "--classes", &classes]);
    assert_eq!(some.keys().collect::<Vec<_>>(), [&paths("Branches")]);
    assert_eq!(some.get(&paths("Branches")), all.get(&paths("Branches")));
}

/// A line in JaCoCo's report: instructions that it missed and covered, branches that it missed and covered.
type Line = [u64; 4];

/// JaCoCo's own report of a run: lines by path and number.
fn jacoco(bench: &Bench, class_path: &str, main: &str, classes: &[&Path]) -> BTreeMap<(String, u16), Line> {
    let folder = build::fresh(&format!("lcov-jacoco-{main}-{}", bench.jdk.feature));
    let (exec, xml) = (folder.join("it.exec"), folder.join("it.xml"));
    let agent = build::jar("org.jacoco.agent-");
    let mut java = bench.java(&[]);
    build::must(java.arg(format!("-javaagent:{}=destfile={}", agent.display(), exec.display())).args(["-cp", class_path, main]));
    let mut report = Command::new(bench.jdk.home.join("bin/java"));
    report.arg("-jar").arg(build::jar("org.jacoco.cli-")).arg("report").arg(&exec).arg("--xml").arg(&xml);
    for place in classes {
        report.arg("--classfiles").arg(place);
    }
    build::must(&mut report);
    let text = fs::read_to_string(&xml).or_fail(xml.display());
    let (mut package, mut file) = ("", "");
    let mut lines = BTreeMap::new();
    for tag in text.split('<') {
        let attribute = |name: &str| tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next());
        let number = |name: &str| attribute(name).and_then(|text| text.parse::<u64>().ok()).or_fail(tag);
        match tag.split(' ').next() {
            Some("package") => package = attribute("name").or_fail(tag),
            Some("sourcefile") => file = attribute("name").or_fail(tag),
            Some("line") => {
                let path = if package.is_empty() { file.to_owned() } else { format!("{package}/{file}") };
                lines.insert((path, number("nr") as u16), ["mi", "ci", "mb", "cb"].map(number));
            }
            _ => {}
        }
    }
    lines
}

/// How two agree.
#[derive(Debug, Default)]
struct Agreement {
    /// Lines that both have.
    lines: usize,
    /// Those that ran.
    ran: usize,
    /// Branches of lines that both have.
    branches: usize,
    /// Lines that ran, and that JaCoCo has not seen: of what threw it knows only that it did not go on.
    unseen: Vec<(String, u16)>,
    /// Lines of which JaCoCo leaves branches out that compilers have added.
    filtered: usize,
    /// Lines that JaCoCo leaves out, for the same reason.
    more: usize,
}

/// Compares each line that JaCoCo has.
fn compared(files: &BTreeMap<String, File>, jacoco: &BTreeMap<(String, u16), Line>) -> Agreement {
    let mut agreement = Agreement::default();
    for ((path, line), [_, covered, branches_missed, branches_covered]) in jacoco {
        let file = files.get(path).unwrap_or_else(|| panic!("{path} is missing"));
        let executions = *file.lines.get(line).unwrap_or_else(|| panic!("{path}:{line} is missing"));
        agreement.lines += 1;
        match (executions > 0, *covered > 0) {
            (true, true) => agreement.ran += 1,
            (true, false) => agreement.unseen.push((path.clone(), *line)),
            (false, false) => {}
            (false, true) => panic!("{path}:{line} ran, says JaCoCo"),
        }
        let ways: Vec<Option<u64>> = file.branches.range((*line, 0)..=(*line, u64::MAX)).flat_map(|b| b.1).copied().collect();
        let taken = ways.iter().filter(|way| way.is_some_and(|taken| taken > 0)).count() as u64;
        assert!(taken >= *branches_covered, "{path}:{line}: {ways:?}, JaCoCo: {branches_covered}");
        match (ways.len() as u64).checked_sub(branches_missed + branches_covered) {
            None => panic!("{path}:{line}: {ways:?} are not all"),
            Some(0) if taken == *branches_covered => agreement.branches += ways.len(),
            Some(0) => agreement.unseen.push((path.clone(), *line)),
            Some(_) => agreement.filtered += 1,
        }
    }
    let all: usize = files.values().map(|file| file.lines.len()).sum();
    agreement.more = all - jacoco.len();
    agreement
}

#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn jacoco_finds_the_same_in_embedded_programs() {
    for bench in run::benches() {
        let classes = build::examples(&bench.jdk);
        let path = classes.display().to_string();
        for main in ["LiftController", "TcpStack", "MotorControl"] {
            let recording = evaluated::record_all_of(&bench, &path, main);
            let files = exported(&recording.file, &["--classes", &path]);
            let agreement = compared(&files, &jacoco(&bench, &path, main, &[&classes]));
            assert!(agreement.lines > 600 && agreement.ran > 150 && agreement.branches > 250, "{main}: {agreement:?}");
            assert_eq!((agreement.unseen.len(), agreement.filtered), (0, 0), "{main}: {agreement:?}");
            assert!(agreement.more < 10, "{main}: {agreement:?}");
        }
    }
}

/// Lines of methods that an exception has left, or that caught one.
fn exceptional(profile: &Path, classes: &str) -> BTreeSet<(String, u16)> {
    let annotated = json("annotate", profile, &[classes]);
    let is_exceptional = |row: &Value| list(row, "outcomes").iter().any(|o| o["way"] == "thrown" || o["way"] == "caught");
    let mut lines = BTreeSet::new();
    for method in list(&annotated, "methods").iter().filter(|method| list(method, "rows").iter().any(is_exceptional)) {
        let (class, file) = (method["class"].as_str().or_fail(method), method["source_file"].as_str().or_fail(method));
        let path = source_path(class, file);
        lines.extend(list(method, "rows").iter().filter_map(|row| Some((path.clone(), row["line"].as_u64()? as u16))));
    }
    lines
}

/// Of thousands of methods, with all that compilers add.
#[test]
#[ignore = "needs jars from Maven Central; scripts/test runs it where scripts/jars can fetch them"]
fn jacoco_finds_the_same_in_libraries() {
    for bench in run::benches_with(&build::LIBRARIES) {
        for (main, jar, classes) in [("RealTemplate", "freemarker-", "freemarker.*"), ("RealAsm", "asm-", "org.objectweb.asm.*")]
        {
            let (jar, path) = (build::jar(jar), &bench.built.class_path);
            let recording = evaluated::record_all_of(&bench, path, main);
            let files = exported(&recording.file, &["--classes", &jar.display().to_string()]);
            let agreement = compared(&files, &jacoco(&bench, path, main, &[&jar]));
            assert!(agreement.lines > 5000 && agreement.ran > 1000 && agreement.branches > 3000, "{main}: {agreement:?}");
            let exceptional = exceptional(&recording.file, classes);
            let unexplained: Vec<_> = agreement.unseen.iter().filter(|line| !exceptional.contains(line)).collect();
            assert!(unexplained.is_empty(), "{main}: {unexplained:?}");
            let few =
                agreement.unseen.len() * 100 < agreement.ran && (agreement.filtered + agreement.more) * 50 < agreement.lines;
            assert!(few, "{main}: {agreement:?}");
        }
    }
}
