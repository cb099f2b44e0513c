//! `cprof merge` and `cprof export --format parquet` on synthetic profiles.

use cprof_profile::model::Profile;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory with `a.cprof` and `b.cprof`, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("cprof-merge-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let folder = Folder(folder);
        folder.profile("a.cprof", |_| {});
        folder.profile("b.cprof", |p| p.run.started_ms = 1_000_000);
        folder
    }

    fn profile(&self, name: &str, change: impl Fn(&mut Profile)) {
        let mut profile = cprof_synthetic::demo().profile(&[]);
        change(&mut profile);
        cprof_profile::file::write(&self.0.join(name), &profile).unwrap();
    }

    /// Exit code, standard output, standard error of a command in the directory.
    fn cprof(&self, arguments: &str) -> (i32, String, String) {
        let words = arguments.split_whitespace();
        let output = Command::new(env!("CARGO_BIN_EXE_cprof")).args(words).current_dir(&self.0).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.0.join(folder)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn reports_of_what_was_merged() {
    let folder = Folder::new("reports");
    let (code, out, err) = folder.cprof("merge a.cprof b.cprof -o all.cprof");
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(err.starts_with("cprof: merged 2 runs into all.cprof (") && err.contains("4 contexts"), "{err}");
    let (_, text, _) = folder.cprof("report all.cprof");
    assert!(
        text.starts_with("all.cprof: demo.Main\n2 runs merged, 1970-01-01 00:00:00 UTC to 1970-01-01 00:16:40 UTC"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&folder.cprof("report all.cprof --format json").1).unwrap();
    assert_eq!((&json["totals"]["calls"], &json["totals"]["bytecodes"]), (&12.into(), &78.into()));
    assert_eq!((&json["runs"][0]["file"], &json["runs"][1]["started_ms"]), (&"a.cprof".into(), &1_000_000.into()));
    for report in
        ["--tree", "--threads", "--coverage", "--target jop --cache ideal", "--tree --format json --target jop --cache none"]
    {
        let (code, _, err) = folder.cprof(&format!("report all.cprof {report}"));
        assert_eq!((code, err.as_str()), (0, ""), "{report}");
    }
    let (code, out, err) = folder.cprof("merge -q all.cprof a.cprof -o more.cprof");
    assert_eq!((code, out.as_str()), (0, ""));
    assert_eq!(err, "cprof: 1 of the 3 runs is there more than once, a.cprof among them: their counts are, too\n");
    let again = "1 of the 3 runs is there more than once, a.cprof among them: their counts are, too";
    let (_, text, _) = folder.cprof("report more.cprof");
    assert_eq!(text.lines().nth(2), Some(again), "{text}");
    let (code, _, err) = folder.cprof("histogram more.cprof");
    assert_eq!((code, err), (0, format!("cprof: note: more.cprof: {again}\n")));
    folder.profile("later.cprof", |p| p.run.ended_ms += 1);
    let (code, _, err) = folder.cprof("merge -q a.cprof later.cprof -o more.cprof");
    assert!(code == 0 && err.contains("1 of the 2 runs") && err.contains("snapshots count from the start"), "{err}");
}

#[test]
fn what_cannot_be_merged_is_said_and_nothing_is_written() {
    let folder = Folder::new("refused");
    folder.profile("sites.cprof", |p| {
        p.run.sites = true;
        p.nodes.site = vec![0; p.nodes.len()];
    });
    folder.profile("damaged.cprof", |p| p.classes[0].bytes.truncate(9));
    let refused = |arguments: &str, words: &[&str]| {
        let (code, out, err) = folder.cprof(arguments);
        assert_eq!((code, out.as_str()), (1, ""), "{arguments}");
        assert!(words.iter().all(|w| err.contains(w)) && err.lines().count() == 1, "{arguments}: {err}");
    };
    refused("merge a.cprof sites.cprof -o out.cprof", &["sites.cprof was recorded with call sites", "a.cprof was not"]);
    refused("merge a.cprof damaged.cprof -o out.cprof", &["damaged.cprof cannot be merged", "demo/Main is damaged"]);
    refused("merge a.cprof nothing.cprof -o out.cprof", &["nothing.cprof", "No such file"]);
    refused("merge a.cprof -o nowhere/out.cprof", &["nowhere/out.cprof", "create the directory"]);
    assert_eq!(folder.names(Path::new("")), ["a.cprof", "b.cprof", "damaged.cprof", "sites.cprof"]);
    assert_eq!(folder.cprof("merge -o out.cprof").0, 2);
}

#[test]
fn a_cache_that_is_left_out_is_said() {
    let folder = Folder::new("caches");
    folder.profile("cached.cprof", |p| {
        p.caches = vec!["4k/16".parse().unwrap()];
        p.misses =
            vec![cprof_profile::model::Misses { entry: vec![0; p.nodes.len()].into(), returns: vec![0; p.nodes.len()].into() }];
        p.run.target = "jop".into();
    });
    let (code, _, err) = folder.cprof("merge -q a.cprof cached.cprof -o all.cprof");
    assert!(code == 0 && err.contains("method cache 4k/16 was left out") && err.contains("a.cprof did not simulate it"), "{err}");
    let (code, text, _) = folder.cprof("report all.cprof");
    assert!(code == 0 && text.contains("warning: method cache 4k/16 was left out"), "{text}");
    let (code, _, err) = folder.cprof("report all.cprof --target jop");
    assert!(code == 1 && err.contains("not simulated"), "{err}");
}

/// Such a cache stands in the options alone, which differ by the file's name.
#[test]
fn a_cache_that_needs_no_simulation_is_the_runs_in_common() {
    let folder = Folder::new("fixed");
    for (start, (name, cache)) in [("one", "ideal"), ("two", "ideal"), ("three", "none")].into_iter().enumerate() {
        folder.profile(&format!("{name}.cprof"), |p| {
            p.run.started_ms += start as u64;
            p.run.target = "jop".into();
            p.run.options = format!("jop,cache={cache},out={name}.cprof");
        });
    }
    let cycles = |file: &str| {
        let (code, out, err) = folder.cprof(&format!("report {file} --format json"));
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["totals"]["cycles"].as_u64()
    };
    assert_eq!(folder.cprof("merge -q one.cprof two.cprof -o same.cprof"), (0, String::new(), String::new()));
    assert_eq!(cycles("same.cprof"), Some(2 * cycles("one.cprof").expect("cycles")));
    let (code, _, err) = folder.cprof("merge -q one.cprof three.cprof -o different.cprof");
    assert!(code == 0 && err.contains("different method caches that need no simulation"), "{err}");
    assert_eq!(cycles("different.cprof"), None);
}

#[test]
fn tables_of_many_runs_in_one_directory() {
    let folder = Folder::new("parquet");
    for profile in ["a.cprof", "b.cprof", "a.cprof"] {
        let (code, out, err) = folder.cprof(&format!("export {profile} --format parquet --target jop --cache ideal -o fleet"));
        assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    }
    assert_eq!(folder.names(Path::new("fleet")), ["blocks", "methods", "metrics", "nodes", "runs"]);
    let runs = folder.names(Path::new("fleet/runs"));
    assert_eq!(runs.len(), 2, "a run that is exported again replaces itself");
    for table in ["blocks", "methods", "metrics", "nodes"] {
        assert_eq!(folder.names(&Path::new("fleet").join(table)), runs);
    }
    let refused = |arguments: &str, with: i32, words: &str| {
        let (code, _, err) = folder.cprof(&format!("export a.cprof --format parquet {arguments}"));
        assert!(code == with && err.contains(words), "{arguments}: {err}");
    };
    refused("-o a.cprof", 2, "a.cprof is read, and would be written over");
    refused("-o b.cprof", 1, "b.cprof/methods cannot be made");
    refused("-o part --root no.Such.method", 1, "has no calls of no.Such.method");
    refused("-o part --set rws=3", 2, "--cache, --set, --no-upcalls and --no-exceptions belong to a processor");
    assert!(!folder.0.join("part").exists());
    // Another part of a run would take the place of what is there, or stand for all of it.
    refused(
        "-o fleet --root demo.Main.work",
        1,
        "fleet has tables of this run already, of all of it, which those of its part root=demo.Main.work",
    );
    let (code, _, _) = folder.cprof("export a.cprof --format parquet -o part --thread main");
    assert_eq!(code, 0);
    refused("-o part", 1, "of its part thread=main, which those of all of it would replace");
    refused("-o part --root demo.Main.work --thread main", 1, "its part root=demo.Main.work thread=main");
    refused("-o part --thread worker", 1, "its part thread=worker");
    // In whatever order they are merged.
    for (order, out) in [("a.cprof b.cprof", "ab.cprof"), ("b.cprof a.cprof", "ba.cprof")] {
        assert_eq!(folder.cprof(&format!("merge -q {order} -o {out}")).0, 0);
        assert_eq!(folder.cprof(&format!("export {out} --format parquet -o merged")).0, 0);
    }
    assert_eq!(folder.names(Path::new("merged/runs")).len(), 1, "the same runs merged are one");
}

#[test]
fn what_keeps_nothing_is_not_to_be_shown() {
    let folder = Folder::new("kept");
    let said = |out: &str| folder.cprof(&format!("merge a.cprof b.cprof -o {out}")).2;
    assert!(said("all.cprof").contains("; show it with: cprof report all.cprof"), "{}", said("all.cprof"));
    let (code, _, gone) = folder.cprof("merge a.cprof b.cprof -o /dev/null");
    assert!(code == 0 && gone.contains("cprof: merged 2 runs") && !gone.contains("show it"), "{gone}");
    // What is written there is no text.
    let output = Command::new(env!("CARGO_BIN_EXE_cprof"))
        .args(["merge", "a.cprof", "b.cprof", "-o", "-"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let piped = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && piped.contains("cprof: merged 2 runs") && !piped.contains("show it"), "{piped}");
}

#[test]
fn what_was_written_is_written_whoever_reads_standard_error() {
    let folder = Folder::new("unread");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut merge = Command::new(env!("CARGO_BIN_EXE_cprof"));
    // Both are one run, which is said, too.
    let status = merge.args(["merge", "a.cprof", "a.cprof", "-o", "all.cprof"]).current_dir(&folder.0).stderr(full).status();
    assert_eq!(status.unwrap().code(), Some(0));
    assert!(folder.0.join("all.cprof").exists());
}
