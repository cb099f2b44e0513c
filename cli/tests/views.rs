//! `cprof flamegraph` and `cprof html` on a synthetic profile: what they write and what they refuse. In a browser they are tested by `tests/views`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn cprof(folder: &Path, arguments: &[&str]) -> Output {
    fs::write(folder.join("damaged.cprof"), "no profile").unwrap();
    cprof_profile::file::write(&folder.join("demo.cprof"), &cprof_synthetic::demo().profile(&[])).unwrap();
    cprof_profile::file::write(&folder.join("empty.cprof"), &cprof_synthetic::Recording::new().profile(&[])).unwrap();
    Command::new(env!("CARGO_BIN_EXE_cprof")).args(arguments).current_dir(folder).output().unwrap()
}

/// Standard output; on the other one only which profiles are empty.
fn writes(folder: &Path, arguments: &[&str]) -> String {
    let output = cprof(folder, arguments);
    let empty = arguments.iter().filter(|name| **name == "empty.cprof").count();
    let said = "cprof: empty.cprof: nothing was counted in it\n".repeat(empty);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr)), (Some(0), said.into()), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn to_a_pipe_and_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["flamegraph", "html"] {
        let piped = writes(folder.path(), &[command, "demo.cprof", "-o", "-"]);
        assert_eq!(writes(folder.path(), &[command, "demo.cprof", "-o", "out"]), "");
        assert_eq!(fs::read_to_string(folder.path().join("out")).unwrap(), piped, "{command}");
        assert!(piped.len() > 1000);
    }
}

#[test]
fn of_profiles_without_anything_in_common() {
    let folder = tempfile::tempdir().unwrap();
    for (after, before) in [("demo.cprof", "empty.cprof"), ("empty.cprof", "demo.cprof"), ("empty.cprof", "empty.cprof")] {
        let picture = writes(folder.path(), &["flamegraph", after, "--diff", before, "-o", "-"]);
        let (new, gone) = (if after == "demo.cprof" { 39 } else { 0 }, if before == "demo.cprof" { 39 } else { 0 });
        let said = format!("in new contexts: {new} · in contexts now gone, which are not drawn: {gone} ");
        assert!(picture.contains(&said), "{after} {before}: {}", &picture[..4000.min(picture.len())]);
        assert!(writes(folder.path(), &["html", after, "--diff", before, "-o", "-"]).contains("id=\"before-0\""));
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str]| {
        let output = cprof(folder.path(), arguments);
        assert!(output.stdout.is_empty() && output.status.code() == Some(1), "{arguments:?}");
        assert!(!folder.path().join("out").exists(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let metric = fails(&["flamegraph", "demo.cprof", "-o", "out", "--metric", "seconds"]);
    assert_eq!(metric, "cprof: demo.cprof: there is no metric seconds; there are calls, exceptional_exits, bytecodes\n");
    for command in ["flamegraph", "html"] {
        assert!(fails(&[command, "damaged.cprof", "-o", "out"]).contains("damaged.cprof"));
        assert!(fails(&[command, "demo.cprof", "--diff", "damaged.cprof", "-o", "out"]).contains("damaged.cprof"));
        assert!(fails(&[command, "demo.cprof", "--thread", "nobody", "-o", "out"]).contains("no thread whose name fits nobody"));
        assert!(fails(&[command, "demo.cprof", "--root", "A.b", "-o", "out"]).contains("no calls of A.b"));
    }
    assert!(fails(&["html", "demo.cprof", "--source", "nowhere", "-o", "out"]).contains("nowhere"));
}
